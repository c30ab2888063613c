"""What a .connection file says, with its secrets.

In: a `Connection`, and the secrets of the server's environment. Out: texts. Invariant: a secret that has no value is an
error that names it, and no error shows a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import InvalidRequest
from penstock.model.external_tables import NamedConnection

_QUOTED = r"""(?:"([^"]*)"|'([^']*)')"""
_SECRET = re.compile(rf"\{{\{{\s*tb_secret\(\s*{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)?\)\s*\}}\}}")


@dataclass(frozen=True, slots=True)
class ConnectionValues:
    """A connection whose texts are filled in when they are asked for."""

    connection: NamedConnection
    secrets: Mapping[str, str]

    def text(self, keyword: str, default: str = "") -> str:
        """The text of a directive. Raises InvalidRequest."""
        return fill_secrets(self.connection.option(keyword, default), self.secrets)


def fill_secrets(text: str, secrets: Mapping[str, str]) -> str:
    """The text with each `{{ tb_secret("NAME", "default") }}` replaced. Raises InvalidRequest for one without a value,
    and for any other template."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1] if found[1] is not None else found[2]
        default: str | None = found[3] if found[3] is not None else found[4]
        value: str | None = secrets.get(name, default)
        if value is None:
            hint = f"start the server with PENSTOCK_SECRET_{name} in its environment"
            raise InvalidRequest(f"the secret `{name}` has no value", hint=hint)
        return value

    filled = _SECRET.sub(value_of, text)
    if "{{" in _SECRET.sub("", text):
        raise InvalidRequest('this text may only have {{ tb_secret("NAME") }} as a template')
    return filled
