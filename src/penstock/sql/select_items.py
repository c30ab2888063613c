"""The columns of a SELECT's list: which of them may be left out, and where their text ends.

In: a SELECT of Spark SQL, or one column of it. Out: what is true of it. Called by column_reading and prune.
Invariant: what is not known makes all columns stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_GENERATORS = {"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"}
_AGGREGATES = {"every", "some", "mean", "std", "histogram_numeric", "count_min_sketch", "try_avg", "try_sum"}
_CLAUSES = {"where", "group", "having", "qualify", "windows", "order", "limit", "offset"}
PARTS = {"expressions", "from_", "joins", "laterals", "with_"}
"""What a SELECT holds beside its clauses."""


def own(node: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes of an expression, but not those inside of its SELECTs."""
    left = [node]
    while left:
        each = left.pop()
        yield each
        left += () if isinstance(each, exp.Query) else each.iter_expressions()


def is_fixed(node: exp.Select) -> bool:
    """Whether each column counts for the rows, for the place of another one, or has no place in the text."""
    group, order = node.args.get("group"), node.args.get("order")
    keys = [*(group.expressions if group else ()), *(each.this for each in (order.expressions if order else ()))]
    return (
        any(value and key not in PARTS | _CLAUSES for key, value in node.args.items())
        or any(value for key, value in (group.args if group else {}).items() if key != "expressions")
        or any(isinstance(each, (exp.Literal, exp.Var)) for each in keys)
        or any(last(each) is None or _generates(each) for each in node.expressions)
        or (not group and len({aggregates(each) for each in node.expressions}) > 1)
    )


def last(item: exp.Expr) -> int | None:
    """Where the text of a column of a select list ends: with its name."""
    name = (
        item.args.get("alias") if isinstance(item, exp.Alias) else item.this if isinstance(item, exp.Column) else None
    )
    return name.meta.get("end") if isinstance(name, exp.Identifier) else None


def _generates(item: exp.Expr) -> bool:
    """Whether the column makes rows."""
    return any(isinstance(each, exp.UDTF) or _called(each) in _GENERATORS for each in own(item))


def aggregates(item: exp.Expr) -> bool:
    """Whether the column makes one row of many."""
    return any(_is_aggregate(each) for each in own(item))


def _is_aggregate(node: exp.Expr) -> bool:
    name = _called(node)
    if not isinstance(node, (exp.AggFunc, exp.Any)) and "_agg" not in name and name not in _AGGREGATES:
        return False
    while isinstance(node.parent, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter, exp.WithinGroup)):
        node = node.parent
    return not (isinstance(node.parent, exp.Window) and node.parent.this is node)


def _called(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""
