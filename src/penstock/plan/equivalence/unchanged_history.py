"""Which columns of the next version keep the live values in all existing rows.

In: a running data source and its next version. Out: names of columns, and a `Binding` that shows the live table under
the names of the next version; in it a column whose existing values differ gets a physical name that no table has.
Invariant: a view that is equal over such bindings gives equal rows of history, so what it has computed for the live
version need not be computed again. Where that is not certain, a column is not named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from penstock.model.datasource import Column
from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.types import Type, is_nullable
from penstock.plan.diff.column_matching import ColumnMatch
from penstock.plan.diff.forward_columns import keeps_values
from penstock.plan.equivalence.canonical_view import NO_VALUES, KnownValues, canonical_view
from penstock.plan.equivalence.decimal_numbers import is_wider_number
from penstock.plan.equivalence.redundant_date_bounds import drop_redundant_bounds, widened_columns
from penstock.plan.equivalence.view_equivalence import (
    ViewPairs,
    content_function,
    pair_views,
    view_content,
)
from penstock.plan.equivalence.view_parts import view_parts
from penstock.plan.equivalence.widened_numbers import type_family
from penstock.plan.tables.column_placement import ColumnPlacement, DataSourceTransition, value_in_older_rows
from penstock.plan.tables.running_datasource import RunningDataSource, without_pending_cut
from penstock.sql.analysis.canonical_query import NEVER_NULL
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.analysis.prune import prune
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.analysis.sure_constants import is_sure_sql
from penstock.sql.compile import cast_column
from penstock.sql.spark_text import quote_identifier, replace_columns
from penstock.sql.stored_types import spark_type


def bind_as_live(run: RunningDataSource, new: Binding, match: ColumnMatch, kept: Iterable[str]) -> Binding:
    """The live table under the names of the new binding; only columns in `kept` show live values."""
    origins = {column.name: origin.name for column, origin in match.pairs if origin is not None}
    known = set(kept)
    columns = []
    for column in new.columns:
        live = run.binding.column(origins.get(column.name, "")) if column.name in known else None
        other = BoundColumn(column.name, column.type, f"{column.name} of {new.table}")
        columns.append(replace(live, name=column.name, type=column.type) if live is not None else other)
    return Binding(new.name, run.table.id, tuple(columns), run.binding.accepts, run.binding.keeps)


def columns_stored_as_live(
    run: RunningDataSource, columns: Sequence[BoundColumn], match: ColumnMatch
) -> frozenset[str]:
    """Names of the columns that are bound to the live table (or a clone of it) and have its values."""
    bound = {column.name: column for column in columns}
    return frozenset(
        column.name
        for column, origin in match.pairs
        if origin is not None
        and column.name in bound
        and _has_live_values(bound[column.name], run.binding.column(origin.name))
    )


def columns_shown_as_live(
    way: DataSourceTransition, columns: Sequence[BoundColumn], match: ColumnMatch
) -> frozenset[str]:
    """Names of the columns that have the live values in the existing rows of the live table, or of a clone of it: those
    that are bound to them, those that are computed of them, and those of which the views tell that they have them."""
    told = frozenset(
        column.name
        for column, origin in match.pairs
        if origin is not None
        and column.name in way.derived
        and way.derived[column.name].sql == quote_identifier(origin.name)
        and (spark_type(column.type) == spark_type(origin.type) or is_wider_number(column.type, origin.type))
    )
    stored = columns_stored_as_live(way.running, columns, match)
    return told | stored | _columns_cast_from_live(way.running, columns, match)


def _columns_cast_from_live(
    run: RunningDataSource, columns: Sequence[BoundColumn], match: ColumnMatch
) -> frozenset[str]:
    """Names of the columns whose values in existing rows are the live numbers, written in the wider type of a UInt64.
    The views that read them tell whether the type matters."""
    bound = {column.name: column for column in columns}
    return frozenset(
        column.name
        for column, origin in match.pairs
        if origin is not None and column.name in bound and is_wider_number(column.type, origin.type)
        if _is_cast_of(bound[column.name], run.binding.column(origin.name))
    )


def _is_cast_of(bound: BoundColumn, live: BoundColumn | None) -> bool:
    if live is None or bound.before is None:
        return False
    value = value_in_older_rows(without_pending_cut(live))
    return bound.before.expression == cast_column(value, live.type, bound.type)


def _has_live_values(bound: BoundColumn, live: BoundColumn | None) -> bool:
    if live is None or _type_family(bound.type) != _type_family(live.type):
        return False
    now = without_pending_cut(live)
    if bound.physical == now.physical:
        return bound.before == now.before
    return bound.before is not None and bound.before.expression == value_in_older_rows(now)


def _type_family(of: Type) -> str:
    """The family of a type: a wider type of the same family holds the same values. Whether the width matters is decided
    for each view."""
    return type_family(spark_type(of)) or spark_type(of)


def values_before_cut(transition: DataSourceTransition, placement: ColumnPlacement) -> Mapping[str, str]:
    """What is known of the values of columns in all existing rows, by name: Spark SQL of that of an added column, a
    constant or a function of columns that have live values; `NEVER_NULL` for a column that could not be NULL in the
    live version, and has its values."""
    added = {column.name for column, origin in placement.match.pairs if origin is None}
    stored = columns_stored_as_live(transition.running, placement.columns, placement.match)
    found = {
        column.name: NEVER_NULL
        for column, origin in placement.match.pairs
        if origin is not None and column.name in stored and is_nullable(column.type) and not is_nullable(origin.type)
    }
    for column in placement.columns:
        value = _constant_value(transition, column) if column.name in added else None
        if value is not None:
            found[column.name] = f"CAST({value} AS {spark_type(column.type)})"
        elif column.name in added:
            computed = _value_of_live_columns(transition, placement, column, stored)
            found |= {column.name: computed} if computed is not None else {}
    return found


def _value_of_live_columns(
    transition: DataSourceTransition, placement: ColumnPlacement, column: BoundColumn, stored: frozenset[str]
) -> str | None:
    """The value of an added column in all existing rows over columns that are stored in them, under their new names;
    None where it is no function of these."""
    names, live_names = {}, {}
    bound = {each.name: each for each in placement.columns}
    for each, origin in placement.match.pairs:
        if origin is None or each.name not in stored or each.type != origin.type or bound[each.name].before is not None:
            continue
        names[bound[each.name].physical] = live_names[origin.name] = quote_identifier(each.name)
    derived, before = transition.derived.get(column.name), column.before
    if derived is not None:
        sql, known = derived.sql, live_names
    elif before is not None and before.cut is None:
        sql, known = before.expression, names
    else:
        return None
    facts = expression_facts(sql)
    return replace_columns(sql, known) if facts.is_repeatable and facts.column_names <= known.keys() else None


def _constant_value(transition: DataSourceTransition, column: BoundColumn) -> str | None:
    derived = transition.derived.get(column.name)
    if derived is not None:
        return derived.sql if derived.is_constant else None
    if column.before is None:
        return "NULL" if is_nullable(column.type) else None
    facts = expression_facts(column.before.expression)
    is_fixed = column.before.cut is None and not facts.column_names and facts.is_repeatable
    is_known = is_fixed and (not facts.may_raise or is_sure_sql(facts.sql))
    return column.before.expression if is_known else None


def columns_copied(way: DataSourceTransition, match: ColumnMatch) -> frozenset[str]:
    """Names of the columns that the forward query copies unchanged."""
    return frozenset(
        column.name for column, origin in match.pairs if origin is not None and _is_copied(way, column, origin)
    )


def _is_copied(way: DataSourceTransition, column: Column, origin: Column) -> bool:
    if spark_type(column.type) != spark_type(origin.type) or is_nullable(origin.type) != is_nullable(column.type):
        return False
    said = way.forward.column(column.name) if way.forward else None
    return said is not None and keeps_values(said, origin, column.type)


def columns_computed_as_live(
    live: Sequence[View], after: Sequence[View], fields: Sequence[str], known: KnownValues = NO_VALUES
) -> frozenset[str]:
    """Those of the physical columns `fields` that the new views compute in the same way, for the same rows, as the
    live views do. `after` are the new views over bindings made by `bind_as_live`."""

    def are_equal(some: tuple[str, ...]) -> bool:
        return pair_projected_views(live, after, some, known).unchanged

    by_parts = _columns_alike_by_parts(live, after, fields, known)
    if by_parts is not None:
        return by_parts
    if not are_equal(()):
        return frozenset()  # the set of rows differs, so no column can be equal
    alike = _equal_columns(tuple(fields), are_equal)
    # Columns that are equal one by one may differ together: DISTINCT compares all of them.
    return frozenset(alike) if are_equal(alike) else frozenset()


def _columns_alike_by_parts(
    live: Sequence[View], after: Sequence[View], fields: Sequence[str], known: KnownValues
) -> frozenset[str] | None:
    """What `columns_computed_as_live` returns, for one view and its successor; None where they have no parts."""
    if len(live) != 1 or len(after) != 1 or not _has_comparable_parts(live, after):
        return None
    one, other = view_parts(live[0], NO_VALUES), view_parts(after[0], known)
    if one is None or other is None:
        return None
    if one.of(()) != other.of(()):
        return frozenset()
    return frozenset(field for field in fields if one.columns.get(field) == other.columns.get(field))


def _has_comparable_parts(live: Sequence[View], after: Sequence[View]) -> bool:
    """Whether no column that the views read is stored in another type or has another range."""
    return content_function(live, after) is view_content and not widened_columns(live, after)


def _equal_columns(fields: tuple[str, ...], are_equal: Callable[[tuple[str, ...]], bool]) -> tuple[str, ...]:
    """Finds the equal columns by bisection, as mostly all are equal, or all but a few."""
    if not fields or are_equal(fields):
        return fields
    half = len(fields) // 2
    return _equal_columns(fields[:half], are_equal) + _equal_columns(fields[half:], are_equal) if half else ()


def pair_equal_views(live: Sequence[View], after: Sequence[View]) -> ViewPairs:
    """Pairs the views into one table by what they do, in all their columns and for all rows to come."""
    fields = sorted({field for view in (*live, *after) for field in view.fields})
    content_of = content_function(live, after)
    paired = _pair_by_parts(live, after, fields, (NO_VALUES, NO_VALUES)) if content_of is view_content else None
    if paired is not None:
        return paired
    return pair_views(*([(view, content_of(canonical_view(view))) for view in side] for side in (live, after)))


def pair_projected_views(
    live: Sequence[View],
    after: Sequence[View],
    fields: Sequence[str],
    known: KnownValues = NO_VALUES,
    known_in_live: KnownValues = NO_VALUES,
) -> ViewPairs:
    """The live views and the new ones, paired by what they compute for some physical columns. `known` are values that
    columns of the triggers have in all rows of history, by their names in the next version or in the live one."""
    values = (known_in_live, known)
    paired = _pair_by_parts(live, after, fields, values) if _has_comparable_parts(live, after) else None
    if paired is not None:
        return paired
    content_of, columns = content_function(live, after), widened_columns(live, after)

    def content(view: View, values: KnownValues) -> object:
        bounded = drop_redundant_bounds(project_view(view, sorted(fields)), columns)
        return content_of(drop_unused_source_columns(canonical_view(bounded, values)))

    return pair_views(
        [(view, content(view, known_in_live)) for view in live], [(view, content(view, known)) for view in after]
    )


def _pair_by_parts(
    live: Sequence[View], after: Sequence[View], fields: Sequence[str], known: tuple[KnownValues, KnownValues]
) -> ViewPairs | None:
    """The views paired by their parts; None where one has none."""
    sides = zip((live, after), known, strict=True)
    parts = [(view, view_parts(view, values)) for side, values in sides for view in side]
    contents = [(view, each.of(fields)) for view, each in parts if each is not None]
    return pair_views(contents[: len(live)], contents[len(live) :]) if len(contents) == len(parts) else None


def project_view(view: View, fields: Sequence[str]) -> View:
    """The view with only some of its physical columns and what these depend on; the whole view where its columns cannot
    be told apart."""
    return _cached_projection(view, tuple(fields))


@lru_cache(maxsize=1024)
def _pruned(sql: str, columns: tuple[str, ...]) -> str:
    """The same SQL is in several views: over the tables of live, over those of the next version."""
    return prune(sql, columns)


@lru_cache(maxsize=1024)
def _cached_projection(view: View, fields: tuple[str, ...]) -> View:
    names = query_facts(view.sql).output_names
    if len(names) != len(view.fields):
        return view
    outputs = dict(zip(view.fields, names, strict=True))
    present = tuple(field for field in fields if field in outputs)
    sql = _pruned(view.sql, tuple(outputs[field] for field in present))
    return drop_unused_source_columns(replace(view, sql=sql, fields=present))


def columns_of_triggers(views: Iterable[View]) -> Mapping[str, frozenset[str]]:
    """By data source, the columns that views read of their triggers; all of a view whose columns are not known."""
    found: dict[str, frozenset[str]] = {}
    for view in views:
        facts, trigger = query_facts(view.sql), view.trigger
        names = frozenset(column.name for column in trigger.binding.columns)
        if trigger.placeholder not in facts.lineage.whole:
            names &= facts.columns_read.get(trigger.placeholder, frozenset())
        found[trigger.binding.name] = found.get(trigger.binding.name, frozenset()) | names
    return found


def drop_unused_source_columns(view: View) -> View:
    """The view with only those columns of its sources that its SQL depends on; all columns of a source whose used
    columns are not known."""
    facts = query_facts(view.sql)
    used, whole = facts.columns_read, facts.lineage.whole

    def cut(source: Source) -> Source:
        if source.placeholder in whole or source.binding.merge is not None:
            return source
        names = used.get(source.placeholder, frozenset())
        columns = tuple(column for column in source.binding.columns if column.name in names)
        return replace(source, binding=replace(source.binding, columns=columns))

    return replace(view, trigger=cut(view.trigger), others=tuple(map(cut, view.others)))
