"""Truncations of times in compiled SQL, and parts of times: which unit, of what, and which units are made of which.

In: a node of marked SQL. Out: its unit and the time that is truncated, or none. Invariant: a unit is made of whole ones
of each unit that is within it, in any time zone, so a truncation to it may be made of one to such a unit; a part of a
time is that of the time truncated to its unit, or to one within it.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.analysis.opaque_calls import call_name

UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "QUARTER", "YEAR")
"""Each of them is made of whole ones of those before it; so is a week of days."""
_PARTS = {
    **dict.fromkeys(("dayofmonth", "dayofweek", "dayofyear", "weekday"), "DAY"),
    **{unit.lower(): unit for unit in UNITS if unit != "DAY"},
}
"""The units of the parts of a time, by the function that gives the part."""


def truncation(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """The unit and the time of a truncation; no time where it is none."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE:
        return "DAY", node.this
    if call_name(node) == "date_trunc" and len(node.expressions) == 2:
        return node.expressions[0].name.upper(), node.expressions[1]
    return "", None


def units_within(unit: str) -> tuple[str, ...]:
    """The units of which a unit is made, the unit itself among them."""
    if unit == "WEEK":
        return UNITS[: UNITS.index("DAY") + 1]
    return UNITS[: UNITS.index(unit) + 1] if unit in UNITS else ()


def part_of_time(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    """The unit and the time of `year(time)` and the like; no time where it is none."""
    unit = _PARTS.get(call_name(node), "")
    return (unit, node.expressions[0]) if unit and len(node.expressions) == 1 else ("", None)
