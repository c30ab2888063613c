"""Secrets that no log, plan or error text may show.

In: the secret values that this process knows, and texts on their way out. Out: texts without them. Called by
errors, the logs and serve. Invariant: what was concealed once stays so while the process runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
MIN_SECRET_LENGTH = 4
"""Shorter values are not looked for: they would be found in half of all words."""
_PLAIN = frozenset(("true", "false", "none", "null", "default"))
_LOGIN = re.compile(r"(?<=://)([^\s/:@'\"]*):([^\s/@'\"]+)@")
_PAIR = re.compile(r"(?i)\b((?:[\w.-]*(?:password|passwd|secret|credential)|pwd|token)\s*=\s*)([^\s&;,'\"\)]+)")
_BEARER = re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]+")
_TOKEN = re.compile(r"\bp\.[A-Za-z0-9_-]{43}\b")
_known: set[str] = set()


def register_secrets(values: Iterable[str]) -> None:
    """Never show these again, nor as they are written in an address."""
    for value in values:
        forms = {value, unquote(value), quote(value, safe=""), quote_plus(value)}
        _known.update(form for form in forms if len(form) >= MIN_SECRET_LENGTH and form.lower() not in _PLAIN)


def forget_secrets() -> None:
    """For tests: nothing is known to be secret any more."""
    _known.clear()


def redact(text: str) -> str:
    """The text without the secrets that are known, and without what looks like one in an address or a pair."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    if "://" in text:
        text = _LOGIN.sub(rf"\1:{HIDDEN}@", text)
    text = _TOKEN.sub(HIDDEN, _BEARER.sub(rf"\1{HIDDEN}", text))
    return _PAIR.sub(rf"\1{HIDDEN}", text)
