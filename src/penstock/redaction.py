"""Keep secrets out of logs, plans and error texts.

In: the secret values that this process knows, and texts that leave it. Out: the texts with secrets replaced by `***`.
Invariants: a value that was registered once stays hidden for as long as the process runs; the time that a text takes
grows with its length, never faster, since anybody can make the server redact a text of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
MIN_SECRET_LENGTH = 4
"""Shorter values are not hidden: they occur in ordinary words."""
_PLAIN = frozenset(("true", "false", "none", "null", "default"))
# Each pattern begins with fixed text, so that no part of a text is read again for each place where a match may begin.
_LOGIN = re.compile(r"(?<=://)([^\s/:@'\"]*):([^\s/@'\"]+)@")
# TOKEN stands in hints for the caller's token.
_PAIR = re.compile(r"(?i)((?:password|passwd|secret|credential|\bpwd|\btoken)\s*=\s*)(?!(?-i:TOKEN)\b)([^\s&;,'\"\)]+)")
_BEARER = re.compile(r"(?i)(\bbearer\s+)(?!(?-i:TOKEN)\b)[\w.~+/=-]+")
_TOKEN = re.compile(r"\bp\.[A-Za-z0-9_-]{43}\b")
_known: set[str] = set()


def register_secrets(values: Iterable[str]) -> None:
    """Hide these values from now on, also where they are URL-encoded."""
    for value in values:
        forms = {value, unquote(value), quote(value, safe=""), quote_plus(value)}
        _known.update(form for form in forms if len(form) >= MIN_SECRET_LENGTH and form.lower() not in _PLAIN)


def forget_secrets() -> None:
    """Forget all registered secrets. For tests only."""
    _known.clear()


def redact_start(text: str, most: int) -> str:
    """The redacted text, at most `most` characters of it; nothing behind these is read."""
    if len(text) <= most:
        return redact(text)
    # A secret that the cut divides would not be found: what may be its beginning is cut off, too.
    margin = max(_MARGIN, *map(len, _known)) if _known else _MARGIN
    shown = redact(text[: most + margin])
    return f"{shown[: min(most, len(shown) - margin)]}…"


_MARGIN = 256
"""Secrets that are found by a pattern are rarely longer."""


def redact(text: str) -> str:
    """The text with registered secrets replaced by `***`, and likewise what looks like a secret: the login of a URL,
    a bearer token, the value of a pair such as `password=…`."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    if "://" in text:
        text = _LOGIN.sub(rf"\1:{HIDDEN}@", text)
    text = _TOKEN.sub(HIDDEN, _BEARER.sub(rf"\1{HIDDEN}", text))
    return _PAIR.sub(rf"\1{HIDDEN}", text)


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves or colours a terminal's cursor, reverses text or begins a new line; not the tab and the line feed."""


def escape_controls(text: str) -> str:
    """The text with control characters as visible escapes (`\\x1b`): a terminal or a log shows them and obeys none."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
