"""The FORMAT at the end of a user's SQL.

In: a text. Out: the text without it, and the format's name. Called by serve. Invariant: the places of
what remains do not change.
"""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.model.datasource import Text

_FORMAT = re.compile(r"\bFORMAT\s+([A-Za-z][A-Za-z0-9_]*)\s*;?\s*$", re.IGNORECASE)


def split_format(text: Text) -> tuple[Text, str | None]:
    """`SELECT … FORMAT JSON` → the SELECT and `JSON`; None without FORMAT. A last `;` goes, too."""
    found = _FORMAT.search(text.text)
    if found is None:
        return replace(text, text=re.sub(r"\s*;\s*$", "", text.text)), None
    return replace(text, text=text.text[: found.start()].rstrip()), found.group(1)
