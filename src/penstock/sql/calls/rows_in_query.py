"""Whether values are a row of a SELECT: `(a, b) IN (SELECT …)`.

In: values, and a compiled SELECT with a column for each. Out: a `TypedSql` that is never NULL. Invariant: a NULL on
either side matches nothing.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.translator import OutputColumns, Translator
from penstock.sql.expr.typed import TypedSql, as_condition, nullable_if_any
from penstock.sql.operators.comparisons import as_comparable_pair
from penstock.sql.spark_text import quote_identifier

_UINT8 = t.Int(8, signed=False)
_TIME_PRECISION: dict[type[t.Type], int] = {t.Date: 0, t.DateTime: 1, t.DateTime64: 2}


def contains_row(tr: Translator, node: exp.Expr, lefts: list[TypedSql], rows: tuple[str, OutputColumns]) -> TypedSql:
    """`(a, b) IN (SELECT …)`: a NULL on either side matches nothing, and the result is never NULL."""
    sql, columns = rows
    source = f"({sql}) AS s"
    if len(dict(columns)) < len(columns):  # Spark cannot tell two columns of one name apart
        columns = tuple((f"c{place}", column) for place, (_, column) in enumerate(columns))
        source = f"{source}({', '.join(name for name, _ in columns)})"
    for left, (_, column) in zip(lefts, columns, strict=True):
        if isinstance(column.bare, t.Date):
            check_time_precision(tr, node, left, column)
    elements = [as_element(left, column) for left, (_, column) in zip(lefts, columns, strict=True)]
    pairs = [
        as_comparable_pair(tr, node, left, TypedSql(f"s.{quote_identifier(name)}", column.type, column.spark))
        for left, (name, column) in zip(elements, columns, strict=True)
    ]
    shown = ", ".join(f"{right} AS v{place}" for place, (_, right) in enumerate(pairs))
    given = [f"s.{quote_identifier(name)} IS NOT NULL" for name, column in columns if column.nullable]
    where = f" WHERE {' AND '.join(given)}" if given else ""
    found = f"(({', '.join(left for left, _ in pairs)}) IN (SELECT {shown} FROM {source}{where}))"
    missing = " OR ".join(f"{left.sql} IS NULL" for left in lefts if left.nullable)
    return TypedSql(f"if({missing}, false, {found})" if missing else found, _UINT8, "BOOLEAN")


def as_element(value: TypedSql, column: TypedSql) -> TypedSql:
    """A number as the Bool that it is compared with: ClickHouse converts it to the type of the set."""
    if not isinstance(column.bare, t.Bool) or not isinstance(value.bare, (t.Int, t.Float, t.Decimal)):
        return value
    return TypedSql(as_condition(value), nullable_if_any(t.Bool(), [value]), "BOOLEAN")


def check_time_precision(tr: Translator, node: exp.Expr, cut: TypedSql, to: TypedSql) -> None:
    """Raises Refused if `cut` holds a finer time than `to`.

    ClickHouse casts the elements of a list to the type of the value, and the value to the type of a SELECT's column. A
    time then loses its time of day, while `=` compares it in full.
    """
    if _loses_precision(cut.type, to.type):
        message = f"IN of {cut.type} and {to.type} is not supported"
        raise tr.refusal(node, "no-common-type", message, "cast one of them")


def _loses_precision(cut: t.Type, to: t.Type) -> bool:
    """Whether a time in `cut` is finer than the time at the same position in `to`."""
    cut, to = t.unwrap_type(cut), t.unwrap_type(to)
    if isinstance(cut, t.Tuple) and isinstance(to, t.Tuple):
        return any(_loses_precision(a, b) for (_, a), (_, b) in zip(cut.fields, to.fields, strict=False))
    return _TIME_PRECISION.get(type(cut), 0) > _TIME_PRECISION.get(type(to), 2)
