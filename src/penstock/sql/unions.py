"""UNION ALL and UNION DISTINCT: columns by place, each of the supertype of its place.

In: a set operation. Out: `Output`. Called by transpile. Invariant: names are those of the first SELECT.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.sql.environment import Environment, Output
from penstock.sql.literals import widen_all
from penstock.sql.problems import refused
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed
from penstock.sql.value_types import quoted, value_type


def union(environment: Environment, tree: exp.SetOperation) -> Output:
    """Raises Refused where the parts do not fit together."""
    if not isinstance(tree, exp.Union):
        raise refused(environment.text, tree, "unsupported-clause", f"{tree.key.upper()} is not supported")
    first, second = tree.this, tree.expression
    if not isinstance(first, exp.Query) or not isinstance(second, exp.Query):
        raise refused(environment.text, tree, "invalid-sql", "UNION needs a SELECT on both sides")
    left = environment.compile(environment, first)
    right = environment.compile(environment.not_triggering(), second)
    if len(left.columns) != len(right.columns):
        message = f"UNION of {len(left.columns)} and {len(right.columns)} columns"
        raise refused(environment.text, second, "wrong-column-count", message)
    columns = tuple(
        (name, _common(environment, second, (value, other)))
        for (name, value), (_, other) in zip(left.columns, right.columns, strict=True)
    )
    word = "UNION" if tree.args.get("distinct") else "UNION ALL"
    parts = (_as(left, columns), _as(right, columns))
    return Output(f"{parts[0]} {word} {parts[1]}", columns, left.grouped or right.grouped)


def _common(environment: Environment, second: exp.Query, pair: tuple[Typed, Typed]) -> Typed:
    of = supertype([value.type for value in pair])
    if of is None:
        message = f"UNION of {pair[0].type} and {pair[1].type}: there is no common type"
        raise refused(environment.text, second, "no-common-type", message, "cast one of them")
    sparks = {value.spark for value in pair}
    return Typed("", of, pair[0].spark if len(sparks) == 1 else value_type(of))


def _as(output: Output, columns: tuple[tuple[str, Typed], ...]) -> str:
    """A part with the columns of the whole."""
    if all(own.spark == whole.spark for (_, own), (_, whole) in zip(output.columns, columns, strict=True)):
        return f"(SELECT * FROM ({output.sql}))"
    shown = []
    for (name, own), (_, whole) in zip(output.columns, columns, strict=True):
        same = own.spark == whole.spark
        shown.append(quoted(name) if same else widen_all([Typed(quoted(name), own.type, own.spark)], whole.type)[0])
    listed = ", ".join(f"{sql} AS {quoted(name)}" for sql, (name, _) in zip(shown, columns, strict=True))
    return f"(SELECT {listed} FROM ({output.sql}))"
