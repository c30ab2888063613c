"""The kinds of JOIN: what each is in Spark and what ClickHouse asks of its condition.

In: a Join node. Out: `Kind`. Called by joins. Invariant: a kind that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.translator import Translator


@dataclass(frozen=True, slots=True)
class Kind:
    """`keyed` kinds need an equality of both sides, or conditions on the side `filters` alone. `misses` are the sides
    whose columns read as zero values; `swapped` writes the right side first; `picks` are the sides of which one row
    for each key is taken; `asof` takes the nearest row of the right side."""

    words: str
    spark: str
    keyed: bool = False
    filters: str | None = None
    misses: frozenset[str] = frozenset()
    swapped: bool = False
    picks: frozenset[str] = frozenset()
    asof: bool = False
    matches: str | None = None
    """The side of which only the rows that match, or do not, are kept."""


_LEFT, _RIGHT = frozenset({"left"}), frozenset({"right"})
_KINDS: Mapping[tuple[str, ...], Kind] = {
    ("INNER",): Kind("JOIN", "INNER JOIN"),
    ("CROSS",): Kind("CROSS JOIN", "CROSS JOIN"),
    ("LEFT",): Kind("LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT),
    ("RIGHT",): Kind("RIGHT JOIN", "RIGHT JOIN", True, "left", _LEFT),
    ("FULL",): Kind("FULL JOIN", "FULL JOIN", True, None, _LEFT | _RIGHT),
    ("ANY", "LEFT"): Kind("ANY LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT, picks=_RIGHT),
    ("ANY", "INNER"): Kind("ANY INNER JOIN", "INNER JOIN", picks=_LEFT | _RIGHT),
    ("ANY", "RIGHT"): Kind("ANY RIGHT JOIN", "RIGHT JOIN", True, "left", _LEFT, picks=_LEFT),
    ("ASOF", "INNER"): Kind("ASOF JOIN", "INNER JOIN", asof=True),
    ("ASOF", "LEFT"): Kind("ASOF LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT, asof=True),
    ("LEFT", "SEMI"): Kind("SEMI LEFT JOIN", "LEFT SEMI JOIN", True, "right", matches="left"),
    ("ANTI", "LEFT"): Kind("ANTI LEFT JOIN", "LEFT ANTI JOIN", True, "right", _RIGHT, matches="left"),
    ("RIGHT", "SEMI"): Kind("SEMI RIGHT JOIN", "LEFT SEMI JOIN", True, "left", swapped=True, matches="right"),
    ("ANTI", "RIGHT"): Kind("ANTI RIGHT JOIN", "LEFT ANTI JOIN", True, "left", _LEFT, swapped=True, matches="right"),
}
_DEFAULTS = {(): ("INNER",), ("SEMI",): ("LEFT", "SEMI"), ("ANTI",): ("ANTI", "LEFT"),
             ("ANY",): ("ANY", "INNER"), ("ASOF",): ("ASOF", "INNER")}  # fmt: skip
_DROPPED = ("", "OUTER", "ALL", "GLOBAL")
_HINTS = {
    "ANY": "ANY LEFT JOIN, ANY RIGHT JOIN or ANY INNER JOIN",
    "ASOF": "ASOF JOIN or ASOF LEFT JOIN",
    "NATURAL": "JOIN … USING (…)",
    "PASTE": "JOIN … USING (…) of a row number",
}


def kind_of(tr: Translator, node: exp.Join) -> Kind:
    """Raises Refused."""
    given = (str(node.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    words = tuple(sorted({each for each in given if each not in _DROPPED}))
    found = _KINDS.get(_DEFAULTS.get(words, words))
    if found is None:
        shown = " ".join(words)
        hint = next((text for word, text in _HINTS.items() if word in words), None)
        raise tr.refused(node, "unsupported-clause", f"{shown} JOIN is not supported", hint)
    return found
