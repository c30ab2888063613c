"""Which columns of a SELECT no two of its rows share: those of GROUP BY, DISTINCT or LIMIT 1 BY.

In: a SELECT's tree. Out: names of columns, or None where nothing is known. Called by tables; joins ask it for ANY
and SEMI. Invariant: never a set of which two rows may have the same values.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.digits import whole_number


def unique_by(tree: exp.Expr) -> frozenset[str] | None:
    """The columns, by the names that the SELECT gives them."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select) or any(each.find(exp.Star) for each in tree.expressions):
        return None
    if any(_spreads(each) for each in tree.expressions):
        return None
    limit = tree.args.get("distribute")
    if limit is not None and _is_one(limit):
        return _names(tree, [each.this for each in limit.expressions[2:]])
    group = tree.args.get("group")
    if group is not None and {key for key, value in group.args.items() if value} == {"expressions"}:
        return _names(tree, _flat(group.expressions))
    if tree.args.get("distinct") and group is None:
        return frozenset(each.alias_or_name for each in tree.expressions)
    return None


def _is_one(limit: exp.Expr) -> bool:
    count = limit.expressions[0].this
    return isinstance(count, exp.Literal) and whole_number(count.name) == 1


def _spreads(node: exp.Expr) -> bool:
    """Whether arrayJoin makes rows of it."""
    return any(each.name.lower().startswith("arrayjoin") for each in node.find_all(exp.Anonymous))


def _flat(nodes: list[exp.Expr]) -> list[exp.Expr]:
    return [part for node in nodes for part in (node.expressions if isinstance(node, exp.Tuple) else [node])]


def _names(tree: exp.Select, keys: list[exp.Expr]) -> frozenset[str] | None:
    """The columns that the keys are; None where one of them is not shown."""
    found = [_shown(tree, key) for key in keys]
    names = frozenset(name for name in found if name)
    return names if keys and all(found) else None


def _shown(tree: exp.Select, key: exp.Expr) -> str | None:
    place = whole_number(key.name) if isinstance(key, exp.Literal) and not key.args.get("is_string") else None
    if place is not None:
        return str(tree.expressions[place - 1].alias_or_name) if 1 <= place <= len(tree.expressions) else None
    for each in tree.expressions:
        same_name = isinstance(key, exp.Column) and not key.table and each.alias_or_name == key.name
        if same_name or each.unalias() == key:
            return str(each.alias_or_name)
    return None
