"""LSNs: places in the write-ahead log of a Postgres.

In: texts such as `0/15D68C8`, or whole numbers. Out: the other of the two. Invariant: the number is the byte in the
log, so LSNs compare as numbers. Source: PostgreSQL, "pg_lsn Type".
"""

from __future__ import annotations

import re

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def parse_lsn(text: str) -> int:
    """The number of an LSN. Raises ValueError."""
    found = _LSN.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is no LSN, such as 0/15D68C8")
    return (int(found[1], 16) << 32) | int(found[2], 16)


def lsn_text(lsn: int) -> str:
    """An LSN as Postgres writes it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
