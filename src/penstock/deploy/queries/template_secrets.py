"""The secrets that templates may read, from the server's environment.

In: the variables `PENSTOCK_SECRET_<NAME>`. Out: values by name. Invariant: no log and no error shows a value that was
read here (see `redaction`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from penstock.redaction import register_secrets
from penstock.template.values import text_literal

PREFIX = "PENSTOCK_SECRET_"


def read_template_secrets(environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """The secrets by the part of their name after the prefix; each is hidden from logs and errors."""
    found = {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX)}
    register_secrets(form for value in found.values() for form in _quoted_forms(value))
    return found


def _quoted_forms(value: str) -> tuple[str, ...]:
    """The forms in which a secret may appear in SQL, and so in an error message."""
    in_clickhouse = text_literal(value)[1:-1]
    return value, in_clickhouse, value.replace("'", "''"), value.replace("\\", "\\\\").replace("'", "''")
