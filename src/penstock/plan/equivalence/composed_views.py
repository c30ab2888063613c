"""A view over the target of another view, written over what that other view reads.

In: a view, and the view that feeds the table that it reads. Out: one view with both queries, or None. A projection is
read in the place of its table; where both aggregate, states that are merged are states of the rows below:
`sum(hits)` over `count()` is `count()`. Invariant: over a table that holds what the feeding view gives of the rows
below it, and nothing else, the view gives what the composed one gives of those rows, once rows of one key are merged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.model.manifest import View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import DateTime, Int, SimpleAggregateFunction, unwrap_type
from penstock.plan.equivalence.canonical_view import NO_VALUES, canonical_form
from penstock.plan.equivalence.merged_aggregates import (
    GivenAggregate,
    as_aggregate,
    is_merged_by,
    is_plain_call,
    without_widening,
)
from penstock.plan.equivalence.truncated_times import truncation, units_within
from penstock.plan.equivalence.value_types import ReadColumns
from penstock.sql.analysis.opaque_calls import (
    call_name,
    computes_row_by_row,
    has_opaque_aggregate,
    makes_rows,
    write_opaque,
)
from penstock.sql.analysis.sure_constants import is_zero
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

_PROJECTION = frozenset(["expressions", "from_", "where"])
_ROLL_UP = _PROJECTION | {"group"}
_SUMMED = ("BIGINT", "DOUBLE")
"""Stored types that a sum of sums keeps."""
_FIELDS = {"sum": "DOUBLE", "count": "BIGINT"}
"""The stored types of the parts of a state that are sums, as that of avg is."""
_FEEDER = "__feeder"
"""The alias of what the feeding view reads, while both queries are put together."""


@dataclass(frozen=True, slots=True)
class ComposedView:
    """One view for two."""

    view: View
    merges: bool
    """Whether it merges rows that the feeding view has aggregated: its own rows have to be merged when they are
    read."""


@dataclass(frozen=True, slots=True)
class ComposedHistory:
    """The changed view as one that gives the rows that are stored."""

    live: View
    through: tuple[str, ...]
    """The data sources that the views of either version are seen through."""
    tables: tuple[str, ...]
    """The live tables of these."""


def compose_views(view: View, feeder: View) -> ComposedView | None:
    """The view over what `feeder` reads; None where one of them has a form that is not known, joins, or reads a column
    that the table computes for older rows."""
    if view.others or feeder.others or view.trigger.binding.table != feeder.table:
        return None
    if view.trigger.binding.merge is not None or feeder.trigger.binding.merge is not None:
        return None
    outer, inner = canonical_form(view, NO_VALUES), canonical_form(feeder, NO_VALUES)
    if outer is None or inner is None or not _reads_only(outer.tree, view) or not _reads_only(inner.tree, feeder):
        return None
    tree, below = outer.tree.copy(), _renamed(inner.tree.copy())
    values = _values_by_column(view, feeder, below)
    if values is None:
        return None
    if _has_only(below, _PROJECTION) and all(map(computes_row_by_row, values.values())):
        return _composed(view, feeder, _over_projection(tree, below, values), merges=False)
    found = _over_roll_up(tree, below, values, _feed(view, feeder)) if _has_only(below, _ROLL_UP) else None
    return _composed(view, feeder, found, merges=True) if found is not None else None


def _feed(view: View, feeder: View) -> _Feed:
    read = view.trigger.binding.columns
    return _Feed(
        {column.name: spark_type(column.type) for column in read},
        frozenset(column.name for column in read if unwrap_type(column.type) in (Int(64), Int(64, signed=False))),
        ReadColumns.of(feeder),
        frozenset(column.name for column in read if isinstance(unwrap_type(column.type), DateTime)),
        {column.name: of.function for column in read if isinstance(of := column.type, SimpleAggregateFunction)},
    )


def _composed(view: View, feeder: View, tree: exp.Select, *, merges: bool) -> ComposedView:
    return ComposedView(replace(view, sql=write_opaque(tree), trigger=feeder.trigger), merges)


def _reads_only(tree: exp.Select, view: View) -> bool:
    """Whether the one SELECT reads the trigger of the view alone, each column by the name of the table."""
    tables = list(tree.find_all(exp.Table))
    if len(tables) != 1 or tables[0].name != view.trigger.placeholder or list(tree.find_all(exp.Query)) != [tree]:
        return False
    alias = tables[0].alias_or_name
    return all(each.table == alias for each in tree.find_all(exp.Column)) and not any(map(makes_rows, tree.expressions))


def _has_only(tree: exp.Select, parts: frozenset[str]) -> bool:
    return {name for name, value in tree.args.items() if value} <= parts


def _renamed(tree: exp.Select) -> exp.Select:
    """The query with `_FEEDER` as the name of what it reads."""
    table = next(tree.find_all(exp.Table))
    for column in tree.find_all(exp.Column):
        column.set("table", exp.to_identifier(_FEEDER, quoted=True))
    table.set("alias", exp.TableAlias(this=exp.to_identifier(_FEEDER, quoted=True)))
    return tree


def _values_by_column(view: View, feeder: View, below: exp.Select) -> Mapping[str, exp.Expr] | None:
    """What the feeding view gives in each column that the view reads, by its name there."""
    given = dict(zip(feeder.fields, (each.unalias() for each in below.expressions), strict=False))
    found = {}
    for column in view.trigger.binding.columns:
        if column.before is not None or column.physical not in given:
            return None
        value = given[column.physical]
        found[column.name] = (
            value if has_opaque_aggregate(value) else _as_stored(value, spark_type(column.type), feeder)
        )
    return found


def _as_stored(value: exp.Expr, stored: str, feeder: View) -> exp.Expr:
    """The value as the table stores it: with a cast, unless it is known to have that type."""
    is_same = False
    match value:
        case exp.Column():
            column = feeder.trigger.binding.column(value.name)
            is_same = column is not None and spark_type(column.type) == stored
        case exp.Cast():
            is_same = exp.DataType.build(stored, dialect=DIALECT) == value.to
        case _:
            is_same = stored == "TIMESTAMP" and truncation(value)[1] is not None
    return value if is_same else exp.cast(value.copy(), stored, dialect=DIALECT)


def _operand(value: exp.Expr) -> exp.Expr:
    simple = (exp.Column, exp.Literal, exp.Cast, exp.Anonymous, exp.Paren)
    return value.copy() if isinstance(value, simple) else exp.Paren(this=value.copy())


# ----------------------------------------------------------------------------------------- over a projection


def _over_projection(tree: exp.Select, below: exp.Select, values: Mapping[str, exp.Expr]) -> exp.Select:
    """The query with the projection in the place of its table; its canonical form merges the two."""
    table = next(tree.find_all(exp.Table))
    items = [exp.alias_(value.copy(), name, quoted=True) for name, value in values.items()]
    below.set("expressions", items or [exp.alias_(exp.Literal.number(1), "one", quoted=True)])
    table.replace(exp.Subquery(this=below, alias=exp.TableAlias(this=exp.to_identifier(table.alias, quoted=True))))
    return tree


# ------------------------------------------------------------------------------------------- over a roll-up


def _over_roll_up(
    tree: exp.Select, below: exp.Select, values: Mapping[str, exp.Expr], feed: _Feed
) -> exp.Select | None:
    """The aggregating query over what the roll-up reads; None where it is not known to merge states, or reads them in
    a condition or a key."""
    keys = {name: value for name, value in values.items() if not has_opaque_aggregate(value)}
    group = below.args.get("group")
    written = {each.sql(dialect=DIALECT) for each in group.expressions} if group is not None else set()
    if group is None or not _has_only(tree, _ROLL_UP) or tree.args.get("group") is None:
        return None
    if any(not _is_key(value, written) for value in keys.values()):
        return None
    for item in list(tree.expressions):
        merged = _merged(item.unalias(), values, feed) if has_opaque_aggregate(item) else None
        if merged is not None:
            item.replace(exp.alias_(merged, item.alias_or_name, quoted=True))
        elif has_opaque_aggregate(item):
            return None
    own = next(tree.find_all(exp.Table)).alias_or_name
    for column in [each for each in tree.find_all(exp.Column) if each.table == own]:
        if column.name not in keys:
            return None
        _put_key(column, keys[column.name], is_moment=column.name in feed.moments)
    _add_condition(tree, below.args.get("where"))
    next(tree.find_all(exp.Table)).replace(next(below.find_all(exp.Table)).copy())
    return tree


def _is_key(value: exp.Expr, written: set[str]) -> bool:
    """Whether it is one of the keys of the roll-up, as it is stored."""
    return value.sql(dialect=DIALECT) in written


def _put_key(column: exp.Column, value: exp.Expr, *, is_moment: bool) -> None:
    """Write a key in the place of its column. A truncation of a truncated time is one of the time itself."""
    around = column.parent
    unit, moment = truncation(around) if isinstance(around, exp.Expr) else ("", None)
    finer, time = truncation(value)
    if is_moment and moment is column and time is not None and finer in units_within(unit):
        column.replace(_operand(time))
    elif isinstance(around, exp.Select):
        column.replace(exp.alias_(_operand(value), column.name, quoted=True))
    else:
        column.replace(_operand(value))


def _add_condition(tree: exp.Select, where: exp.Expr | None) -> None:
    if where is None:
        return
    own = tree.args.get("where")
    parts = [where.this.copy(), *([own.this.copy()] if own is not None else [])]
    tree.set("where", exp.Where(this=exp.and_(*parts)))


def _merged(node: exp.Expr, values: Mapping[str, exp.Expr], feed: _Feed) -> exp.Expr | None:
    """The aggregate of rows whose states an aggregate merges; None where it is not known to be one."""
    names = {column.name for column in node.find_all(exp.Column)}
    name = names.pop() if len(names) == 1 else ""
    state = values.get(name)
    if state is None:
        return None
    if _is_union(node):
        is_set = isinstance(state, exp.Cast) and call_name(state.this) == "collect_set" and is_plain_call(state.this)
        return state.copy() if is_set else None
    if call_name(state) == "named_struct":
        return state.copy() if _sums_fields(node, state, feed) else None
    wrapped = feed.types[name] if name in feed.wrapped else ""
    outer, inner = as_aggregate(without_widening(node, wrapped)), as_aggregate(without_widening(state, wrapped))
    if outer is None or inner is None or not isinstance(outer.argument, exp.Column):
        return None
    function = call_name(outer.call)
    if function == "sum":
        is_kept = outer.zero is None or is_zero(outer.zero)
        if (feed.types.get(name) not in _SUMMED and not wrapped) or not is_kept:
            return None
    if feed.merged_by.get(name, function) != function or not is_merged_by(function, inner, feed.below.is_never_null):
        return None
    if wrapped and _gives_alike_for_null(outer, inner):
        return state.copy()
    return _filled_alike(outer, inner, state)


def _gives_alike_for_null(outer: GivenAggregate, inner: GivenAggregate) -> bool:
    """Whether both give the same for NULL, which a count never is."""
    if call_name(inner.call) == "count" or outer.zero is None or inner.zero is None:
        return call_name(inner.call) == "count" or outer.zero is inner.zero
    return outer.zero == inner.zero or (is_zero(outer.zero) and is_zero(inner.zero))


def _sums_fields(node: exp.Expr, state: exp.Expr, feed: _Feed) -> bool:
    """Whether it makes one state of several, each of whose parts is a sum: `named_struct('sum', sum(a.sum), …)`."""
    parts, below = _fields(node), _fields(state)
    if parts is None or below is None or not parts.keys() == below.keys() <= _FIELDS.keys():
        return False
    for name, part in parts.items():
        outer, inner = (as_aggregate(without_widening(each, _FIELDS[name])) for each in (part, below[name]))
        if outer is None or inner is None or call_name(outer.call) != "sum" or not _is_zero_for_null(outer):
            return False
        of = outer.argument
        is_field = isinstance(of, exp.Dot) and isinstance(of.this, exp.Column) and of.expression.name == name
        if not is_field or not is_merged_by("sum", inner, feed.below.is_never_null) or not _is_zero_for_null(inner):
            return False
    return True


def _is_zero_for_null(given: GivenAggregate) -> bool:
    """Whether it gives 0 for no value."""
    return call_name(given.call) == "count" or (given.zero is not None and is_zero(given.zero))


def _fields(node: exp.Expr) -> Mapping[str, exp.Expr] | None:
    """The parts of a struct that is made of them, by name; None for another expression."""
    if call_name(node) != "named_struct":
        return None
    names, values = node.expressions[::2], node.expressions[1::2]
    return {each.name: value for each, value in zip(names, values, strict=True)}


@dataclass(frozen=True, slots=True)
class _Feed:
    """What is known of the columns of both queries."""

    types: Mapping[str, str]
    """The stored types of the columns between them."""
    wrapped: frozenset[str]
    """The columns between them of whole numbers of 64 bits, which are summed modulo of 2^64."""
    below: ReadColumns
    """The columns that the feeding view reads."""
    moments: frozenset[str]
    """The columns between them that are of type DateTime."""
    merged_by: Mapping[str, str]
    """The simple aggregates by which the engine of the table between them merges columns."""


def _is_union(node: exp.Expr) -> bool:
    """Whether it makes one set of several: `array_distinct(flatten(collect_list(x)))`."""
    for name in ("array_distinct", "flatten", "collect_list"):
        if call_name(node) != name or len(node.expressions) != 1:
            return False
        node = node.expressions[0]
    return isinstance(node, exp.Column)


def _filled_alike(outer: GivenAggregate, inner: GivenAggregate, state: exp.Expr) -> exp.Expr | None:
    """The inner aggregate, with what the outer one gives for NULL. A count is never NULL."""
    if call_name(inner.call) == "count":
        return state.copy() if inner.zero is None else None
    if outer.zero is None:
        return state.copy() if inner.zero is None else None
    if inner.zero is not None:
        return state.copy() if inner.zero == outer.zero else None
    return exp.Paren(this=exp.Coalesce(this=inner.call.copy(), expressions=[outer.zero.copy()]))
