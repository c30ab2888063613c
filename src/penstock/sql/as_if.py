"""`sum(x) FILTER (WHERE c)` as `sumIf(x, c)`, which it is in ClickHouse.

In: the node of FILTER. Out: the call's node. Called by filtered and column_names. Invariant: the nodes of the
query are not changed.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.tokens import CALL_MARK
from penstock.sql.tree import call_name


def as_if(node: exp.Expr) -> exp.Anonymous | None:
    """`sum(x) FILTER (WHERE c)` as `sumIf(x, c)`."""
    name, where = call_name(node.this), node.expression
    test = where.this if isinstance(where, exp.Where) else None
    if name is None or test is None:
        return None
    arguments = [each for each in node.this.expressions if not isinstance(each, exp.Star)]
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        name, arguments = f"{name}Distinct", list(arguments[0].expressions)
    given = [each.copy() for each in (*arguments, test)]
    renamed = exp.Anonymous(this=f"{name}If{CALL_MARK}", expressions=given)
    renamed.parent = node.parent
    return renamed
