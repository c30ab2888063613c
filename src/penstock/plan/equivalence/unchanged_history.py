"""Which columns of the next version keep the live values in all existing rows.

In: a running data source and its next version. Out: names of columns, and a `Binding` that shows the live table under
the names of the next version; in it a column whose existing values differ gets a physical name that no table has.
Invariant: a view that is equal over such bindings gives equal rows of history, so what it has computed for the live
version need not be computed again. Where that is not certain, a column is not named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.model.datasource import Column
from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.types import Type, is_nullable
from penstock.plan.diff.column_matching import ColumnMatch
from penstock.plan.diff.forward_columns import keeps_values
from penstock.plan.equivalence.redundant_date_bounds import drop_redundant_bounds, widened_columns
from penstock.plan.equivalence.view_equivalence import TYPE_FAMILIES, ViewPairs, content_function, pair_views
from penstock.plan.tables.column_placement import DataSourceTransition, value_in_older_rows
from penstock.plan.tables.running_datasource import RunningDataSource, without_pending_cut
from penstock.sql.analysis.prune import prune
from penstock.sql.analysis.query_facts import query_facts
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
    return TYPE_FAMILIES.get(spark_type(of), spark_type(of))


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


def columns_computed_as_live(live: Sequence[View], after: Sequence[View], fields: Sequence[str]) -> frozenset[str]:
    """Those of the physical columns `fields` that the new views compute in the same way, for the same rows, as the
    live views do. `after` are the new views over bindings made by `bind_as_live`."""
    if not pair_projected_views(live, after, ()).unchanged:
        return frozenset()  # the set of rows differs, so no column can be equal
    alike = _equal_columns(live, after, tuple(fields))
    # Columns that are equal one by one may differ together: DISTINCT compares all of them.
    return frozenset(alike) if pair_projected_views(live, after, alike).unchanged else frozenset()


def _equal_columns(live: Sequence[View], after: Sequence[View], fields: tuple[str, ...]) -> tuple[str, ...]:
    """Finds the equal columns by bisection, as mostly all are equal, or all but a few."""
    if not fields or pair_projected_views(live, after, fields).unchanged:
        return fields
    half = len(fields) // 2
    return _equal_columns(live, after, fields[:half]) + _equal_columns(live, after, fields[half:]) if half else ()


def pair_projected_views(live: Sequence[View], after: Sequence[View], fields: Sequence[str]) -> ViewPairs:
    """The live views and the new ones, paired by what they compute for some physical columns."""
    content_of, columns = content_function(live, after), widened_columns(live, after)
    return pair_views(live, after, lambda view: content_of(drop_redundant_bounds(project_view(view, fields), columns)))


def project_view(view: View, fields: Sequence[str]) -> View:
    """The view with only some of its physical columns and what these depend on."""
    outputs = dict(zip(view.fields, query_facts(view.sql).output_names, strict=False))
    present = [field for field in fields if field in outputs]
    sql = prune(view.sql, [outputs[field] for field in present])
    return drop_unused_source_columns(replace(view, sql=sql, fields=tuple(present)))


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
