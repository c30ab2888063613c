"""Whether a view gives the same when a column that it reads is stored wider, with the same values.

In: the SQL of a view and the name of a column. Out: bool. Called by `same`. Invariant: true only where
each use of the column, and of whatever is passed on from it under a name, depends on its value alone:
compared, grouped by, counted, summed, passed on. A hash, a text, arithmetic may differ by type.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.plan.identifiers import tree_of

FAMILIES = {"INT": "integer", "BIGINT": "integer", "FLOAT": "float", "DOUBLE": "float"}
"""Stored types of which one holds the values of the other exactly."""
_BY_VALUE = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Is, exp.Count, exp.Sum, exp.Avg, exp.Group)
_PASSED_ON = (exp.Min, exp.Max, exp.Paren)


def kind_of(sql: str, name: str, stored: str) -> str:
    """What the stored type of a column is to a view: its family, where the width has no effect."""
    family = FAMILIES.get(stored)
    return family if family is not None and is_type_blind(sql, name) else stored


def is_type_blind(sql: str, name: str) -> bool:
    """Whether the width of a column has no effect. Columns are told by name alone: one that another
    source has too counts as this one."""
    tree = tree_of(sql)
    if tree is None:
        return False
    uses: dict[str, list[exp.Column]] = {}
    for column in tree.find_all(exp.Column):
        uses.setdefault(column.name, []).append(column)
    waiting = [name]
    for each in waiting:  # grows while it is walked
        for use in uses.get(each, []):
            onward = _onward(use)
            if onward is None:
                return False
            waiting += [onward] if onward and onward not in waiting else []
    return True


def _onward(use: exp.Column) -> str | None:
    """The name under which a use is passed on, '' where it is not; None where its type may matter."""
    node = use.parent
    while isinstance(node, _PASSED_ON):
        node = node.parent
    if isinstance(node, exp.Alias):
        return str(node.alias)
    if isinstance(node, exp.Select):
        return use.name
    return "" if isinstance(node, _BY_VALUE) else None
