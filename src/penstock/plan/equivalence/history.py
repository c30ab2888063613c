"""Which columns have, for the rows there are, the values that live has for them.

In: a running data source and what becomes of it. Out: a `Binding` under the next version's names that
shows live's table: a column whose history is another one has a physical name that nothing has. Called
by `build`. Invariant: a view that is the same over such bindings gives the same rows of history, so
what it gave live is what it would give from the beginning; where that is not certain, it is not said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.model.datasource import Column
from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.types import Type, is_nullable
from penstock.plan.diff.column_matching import ColumnMatch
from penstock.plan.diff.forward_query import keeps_values
from penstock.plan.equivalence.redundant_bounds import drop_redundant_bounds, widened_columns
from penstock.plan.equivalence.view_equivalence import TYPE_FAMILIES, ViewPairs, content_function, pair_views
from penstock.plan.tables.column_placement import DataSourceTransition, value_before_cut
from penstock.plan.tables.running_datasource import RunningDataSource, without_pending_cut
from penstock.sql.analysis.prune import prune
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.column_types import spark_type


def bind_as_live(run: RunningDataSource, new: Binding, match: ColumnMatch, kept: Iterable[str]) -> Binding:
    """The binding of live under the names of the new one; only columns in `kept` show live's values."""
    origins = {column.name: origin.name for column, origin in match.pairs if origin is not None}
    known = set(kept)
    columns = []
    for column in new.columns:
        live = run.binding.column(origins.get(column.name, "")) if column.name in known else None
        other = BoundColumn(column.name, column.type, f"{column.name} of {new.table}")
        columns.append(replace(live, name=column.name, type=column.type) if live is not None else other)
    return Binding(new.name, run.table.id, tuple(columns), run.binding.accepts)


def columns_stored_as_live(
    run: RunningDataSource, columns: Sequence[BoundColumn], match: ColumnMatch
) -> frozenset[str]:
    """Of columns bound in the table of live (or in a clone of it)."""
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
    return bound.before is not None and bound.before.expression == value_before_cut(now)


def _type_family(of: Type) -> str:
    """Values are the same in a wider type of one family; whether it matters is the view's business."""
    return TYPE_FAMILIES.get(spark_type(of), spark_type(of))


def columns_copied(way: DataSourceTransition, match: ColumnMatch) -> frozenset[str]:
    """Of columns copied by the forward query."""
    return frozenset(
        column.name for column, origin in match.pairs if origin is not None and _is_copied(way, column, origin)
    )


def _is_copied(way: DataSourceTransition, column: Column, origin: Column) -> bool:
    if spark_type(column.type) != spark_type(origin.type) or is_nullable(origin.type) != is_nullable(column.type):
        return False
    said = way.forward.column(column.name) if way.forward else None
    return said is not None and keeps_values(said, origin, column.type)


def columns_computed_as_live(live: Sequence[View], after: Sequence[View], fields: Sequence[str]) -> frozenset[str]:
    """Of physical columns that views compute anew: those which the views of live compute in the same
    way for the same rows. `after` are the new views over bindings such as these."""
    if not pair_projected_views(live, after, ()).unchanged:
        return frozenset()  # other rows: then no column is alike
    alike = _equal_columns(live, after, tuple(fields))
    # Alike part by part is not yet alike together: DISTINCT decides by all of them.
    return frozenset(alike) if pair_projected_views(live, after, alike).unchanged else frozenset()


def _equal_columns(live: Sequence[View], after: Sequence[View], fields: tuple[str, ...]) -> tuple[str, ...]:
    """By halves: mostly all are alike, or all but a few."""
    if not fields or pair_projected_views(live, after, fields).unchanged:
        return fields
    half = len(fields) // 2
    return _equal_columns(live, after, fields[:half]) + _equal_columns(live, after, fields[half:]) if half else ()


def pair_projected_views(live: Sequence[View], after: Sequence[View], fields: Sequence[str]) -> ViewPairs:
    """The views of live and the new ones, paired by what they give in some physical columns."""
    told, columns = content_function(live, after), widened_columns(live, after)
    return pair_views(live, after, lambda view: told(drop_redundant_bounds(project_view(view, fields), columns)))


def project_view(view: View, fields: Sequence[str]) -> View:
    """The view cut down to some of its physical columns and to what these depend on."""
    outputs = dict(zip(view.fields, query_facts(view.sql).output_names, strict=False))
    present = [field for field in fields if field in outputs]
    sql = prune(view.sql, [outputs[field] for field in present])
    return narrow_sources(replace(view, sql=sql, fields=tuple(present)))


def narrow_sources(view: View) -> View:
    """The view with no more columns of its sources than its SQL depends on; with all of a source of
    which that is not known."""
    facts = query_facts(view.sql)
    used, whole = facts.columns_read, facts.lineage.whole

    def cut(source: Source) -> Source:
        if source.placeholder in whole or source.binding.merge is not None:
            return source
        names = used.get(source.placeholder, frozenset())
        columns = tuple(column for column in source.binding.columns if column.name in names)
        return replace(source, binding=replace(source.binding, columns=columns))

    return replace(view, trigger=cut(view.trigger), others=tuple(map(cut, view.others)))
