"""A data source as it runs now: its datafile, and the table, binding and flows that were made for it.

In: `Live` and a name. Out: `RunningDataSource`. Invariant: all of it is what the live version reads and writes; the
planner changes none of it.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Before, Binding, BoundColumn, Copy, Flow, Landing, Table, View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.diff.column_compatibility import can_ingest
from penstock.plan.plan import Live, Size


@dataclass(frozen=True, slots=True)
class RunningDataSource:
    """One data source of the live version, as it runs."""

    source: DataSource
    table: Table
    binding: Binding
    landing: Landing
    quarantine: Table
    quarantined: Binding
    views: tuple[View, ...]
    copies: tuple[Copy, ...]
    size: Size | None
    """None if not known."""
    taken: frozenset[str]
    """Physical column names that cannot be used again."""

    @property
    def flows(self) -> tuple[Flow, ...]:
        return (self.landing, *self.views, *self.copies)


def find_running(live: Live, name: str) -> RunningDataSource | None:
    """The running data source of that name; None if the live version has none."""
    manifest, source = live.manifest, live.project.datasource(name)
    binding, quarantined = manifest.binding(name), manifest.binding(f"{name}_quarantine")
    landing = manifest.landing(name)
    if source is None or binding is None or quarantined is None or landing is None:
        return None
    table, quarantine = manifest.table(binding.table), manifest.table(quarantined.table)
    if table is None or quarantine is None:
        return None
    flows = manifest.flows_into(table.id)
    return RunningDataSource(
        source=source,
        table=table,
        binding=binding,
        landing=landing,
        quarantine=quarantine,
        quarantined=quarantined,
        views=tuple(_forget_start(flow) for flow in flows if isinstance(flow, View)),
        copies=tuple(flow for flow in flows if isinstance(flow, Copy)),
        size=live.sizes.get(table.id),
        taken=frozenset(field.name for field in table.fields) | frozenset(live.columns.get(table.id, ())),
    )


def _forget_start(view: View) -> View:
    """A live view without its start position: it has started, and its cursor is in its table."""
    return replace(view, starts="beginning") if view.starts in ("met", "resumed") else view


def is_ordered_by_seq(live: Live, running: RunningDataSource) -> bool:
    """Whether `_seq` orders the rows of the table by arrival: all of them derive from one stream, so the same batches
    number them."""
    if can_ingest(running.source):
        return False
    tables = (running.table.id, *live.manifest.table_graph.upstream(running.table.id))
    flows = (flow for table in tables for flow in live.manifest.flows_into(table))
    sources = {flow.trigger.binding.name for flow in flows if isinstance(flow, View)}
    streams = [name for name in sources if (read := live.project.datasource(name)) is None or can_ingest(read)]
    return len(streams) == 1


def without_pending_cut(column: BoundColumn) -> BoundColumn:
    """The column without a cutover offset that was never set: it reads its physical column for every row."""
    if column.before is None or column.before.cut is not None:
        return column
    return BoundColumn(column.name, column.type, column.physical)


def without_materialized_range(before: Before | None) -> Before | None:
    """The expression for existing rows as it was planned: without the range of rows that were already materialized, and
    without what a check of these rows has found."""
    return replace(before, settled=-1, checked=None) if before is not None else None


def extend_accepted_versions(chain: tuple[Accepts, ...], version: str) -> tuple[Accepts, ...]:
    """The chain of accepted versions with one more at its end. Links without a cutover offset have no effect and are
    removed."""
    if not chain or chain[-1].version == version:
        return chain or (Accepts(version),)
    *earlier, last = chain
    return (*(link for link in earlier if link.upto is not None), last, Accepts(version))
