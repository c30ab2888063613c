"""Bounds around dates that have no effect on the rows that exist, removed from a view's SQL.

In: a view, and the columns that the live version has as Date or DateTime and the next one as Date32 or DateTime64. Out:
the view with `greatest(x, 1970-01-01)`, `least(x, 2149-06-06)`, the cut to 16 bits and the one to whole seconds left
out around truncations of these columns. Invariant: a bound is left out only around such a column and truncations that
stay in the range of the narrower type: the start of the month of a Date is a Date, that of its week may lie before
1970, and a sum beyond either end. Rows of history hold values of the narrower type, for which the bound does nothing,
so the view gives the same for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.manifest import Source, View
from penstock.model.types import Type, unwrap_type
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import DIALECT

Columns = frozenset[tuple[str, str]]
"""Pairs of a physical table and a physical column."""
_TIMES = (exp.DType.DATE, exp.DType.TIMESTAMP)
_UNITS = ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")
"""Units of which 1970-01-01 is the start of one."""
_LOWEST_VALUES = ("CAST('1970-01-01' AS DATE)", "CAST('1970-01-01 00:00:00' AS TIMESTAMP)")
_LAST_DAY, _LAST_SECOND = "CAST('2149-06-06' AS DATE)", "CAST('2106-02-07 06:28:15' AS TIMESTAMP)"
"""A Date may lie after the last second of a DateTime: there that bound has an effect."""


def widened_columns(live: Iterable[View], after: Iterable[View]) -> Columns:
    """The columns that are Date or DateTime in the live version, and Date32 or DateTime64 in the next one."""
    narrow, wide = _columns_of_kind(live, _is_narrow), _columns_of_kind(after, _is_wide)
    return narrow & wide


def _columns_of_kind(views: Iterable[View], is_kind: Callable[[Type], bool]) -> Columns:
    return frozenset(
        (source.binding.table, column.physical)
        for view in views
        for source in (view.trigger, *view.others)
        for column in source.binding.columns
        if is_kind(unwrap_type(column.type))
    )


def _is_narrow(of: Type) -> bool:
    return isinstance(of, t.DateTime) or of == t.Date()


def _is_wide(of: Type) -> bool:
    return isinstance(of, t.DateTime64) or of == t.Date(wide=True)


def drop_redundant_bounds(view: View, columns: Columns) -> View:
    """The view without bounds around functions of these columns alone, written in sqlglot's form, to be compared."""
    parsed = query_facts(view.sql).tree if columns else None
    if parsed is None:
        return view
    tree = parsed.copy()
    sources = dict(_sources_by_name(tree, view))
    # From the inside out: a bound may stand around another.
    for node in reversed(list(tree.find_all(exp.Greatest, exp.Least, exp.DateFromUnixDate, exp.Anonymous))):
        inner = _bounded_value(node) if not isinstance(node, exp.Least) else _value_below(node, sources)
        tested = _before_week(inner) if isinstance(node, exp.Least) and inner is not None else inner
        if inner is not None and tested is not None and _stays_in_range(tested, sources, columns):
            node.replace(inner.copy())
    return replace(view, sql=tree.sql(dialect=DIALECT))


def _sources_by_name(tree: exp.Expr, view: View) -> Iterator[tuple[str, Source]]:
    """The names of sources in the SQL, without names that stand for two things."""
    placeholders = {source.placeholder: source for source in (view.trigger, *view.others)}
    tables = [(each.alias_or_name, placeholders.get(each.name)) for each in tree.find_all(exp.Table)]
    names = [name for name, _ in tables] + [each.alias for each in tree.find_all(exp.Subquery)]
    for name, source in tables:
        if source is not None and names.count(name) == 1:
            yield name, source


def _bounded_value(node: exp.Expr) -> exp.Expr | None:
    """The value x of `greatest(x, 1970-01-01)`, of `date_from_unix_date(unix_date(x) & 65535)` or of
    `timestamp_seconds(unix_micros(x) DIV 1000000)`; else None."""
    if isinstance(node, exp.Greatest):
        lows = [each.sql(dialect=DIALECT) for each in node.expressions]
        return node.this if len(lows) == 1 and lows[0] in _LOWEST_VALUES else None
    if isinstance(node, exp.Anonymous):
        return _whole_seconds(node)
    bits = node.this if isinstance(node, exp.DateFromUnixDate) else None
    if isinstance(bits, exp.BitwiseAnd) and bits.expression.name == "65535" and isinstance(bits.this, exp.UnixDate):
        found = bits.this.this
        return found if isinstance(found, exp.Expr) else None
    return None


def _whole_seconds(node: exp.Anonymous) -> exp.Expr | None:
    ratio = node.expressions[0] if node.name.lower() == "timestamp_seconds" and node.expressions else None
    if isinstance(ratio, exp.IntDiv) and isinstance(ratio.this, exp.UnixMicros) and "1000000" in ratio.expression.sql():
        found = ratio.this.this
        return found if isinstance(found, exp.Expr) else None
    return None


def _value_below(node: exp.Least, sources: dict[str, Source]) -> exp.Expr | None:
    """The value x of `least(x, the last Date)`, or of `least(x, the last DateTime)` of times; else None."""
    highs = [each.sql(dialect=DIALECT) for each in node.expressions]
    if highs == [_LAST_SECOND]:
        types = [_type_of(column, sources) for column in node.this.find_all(exp.Column)]
        return node.this if all(isinstance(of, (t.DateTime, t.DateTime64)) for of in types) else None
    return node.this if highs == [_LAST_DAY] else None


def _before_week(node: exp.Expr) -> exp.Expr:
    """The value x of `greatest(the start of the week of x, 1970-01-01)`, which is not above x; else the node."""
    inner = _bounded_value(node) if isinstance(node, exp.Greatest) else None
    inner = inner.this if isinstance(inner, exp.Cast) else inner
    week = isinstance(inner, (exp.TimestampTrunc, exp.DateTrunc)) and inner.text("unit").upper().startswith("WEEK")
    found = inner.this if week and inner is not None else node
    return found if isinstance(found, exp.Expr) else node


def _type_of(column: exp.Column, sources: dict[str, Source]) -> Type | None:
    source = sources.get(column.table)
    bound = source.binding.column(column.name) if source is not None else None
    return None if bound is None else unwrap_type(bound.type)


def _stays_in_range(node: exp.Expr, sources: dict[str, Source], columns: Columns) -> bool:
    """Whether it is one of the columns, or a truncation of one that is in the range of its narrower type."""
    match node:
        case exp.Column():
            return _is_one_of(node, sources, columns)
        case exp.Paren() | exp.UnixSeconds():
            return _stays_in_range(node.this, sources, columns)
        case exp.Cast():
            return node.to.this in _TIMES and _stays_in_range(node.this, sources, columns)
        case exp.TimestampTrunc() | exp.DateTrunc():
            return node.text("unit").upper() in _UNITS and _stays_in_range(node.this, sources, columns)
        case exp.Anonymous() if node.name.lower() == "timestamp_seconds" and len(node.expressions) == 1:
            steps = _rounded_down(node.expressions[0])
            return steps is not None and _stays_in_range(steps, sources, columns)
        case _:
            return False


def _rounded_down(node: exp.Expr) -> exp.Expr | None:
    """The value x of `floor(x / n) * n`; else None."""
    product = node if isinstance(node, exp.Mul) else None
    floor = product.this if product is not None and isinstance(product.this, exp.Floor) else None
    ratio = floor.this if floor is not None and isinstance(floor.this, exp.Div) else None
    if product is None or ratio is None or not isinstance(ratio.expression, exp.Literal):
        return None
    found = ratio.this if ratio.expression == product.expression else None
    return found if isinstance(found, exp.Expr) else None


def _is_one_of(column: exp.Column, sources: dict[str, Source], columns: Columns) -> bool:
    source = sources.get(column.table)
    bound = source.binding.column(column.name) if source is not None else None
    return source is not None and bound is not None and (source.binding.table, bound.physical) in columns
