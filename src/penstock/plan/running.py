"""A data source as it runs now: what was written, and the table, binding and flows it became.

In: `Live`. Out: `Running`. Called by `datasource` and `removal`. Invariant: everything here is what
live reads and writes; the planner changes none of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.datasource import DataSource
from penstock.model.manifest import Accepts, Binding, BoundColumn, Copy, Flow, Landing, Table, View
from penstock.plan.values import Live, Size


@dataclass(frozen=True, slots=True)
class Running:
    """One data source of live. `taken` are physical columns whose names cannot be used again; `size`
    is None where it is not known."""

    source: DataSource
    table: Table
    binding: Binding
    landing: Landing
    quarantine: Table
    quarantined: Binding
    views: tuple[View, ...]
    copies: tuple[Copy, ...]
    size: Size | None
    taken: frozenset[str]

    @property
    def flows(self) -> tuple[Flow, ...]:
        return (self.landing, *self.views, *self.copies)


def running(live: Live, name: str) -> Running | None:
    """The data source of that name as it runs; None if live has none."""
    manifest, source = live.manifest, live.project.datasource(name)
    binding, quarantined = manifest.binding(name), manifest.binding(f"{name}_quarantine")
    landing = manifest.landing(name)
    if source is None or binding is None or quarantined is None or landing is None:
        return None
    table, quarantine = manifest.table(binding.table), manifest.table(quarantined.table)
    if table is None or quarantine is None:
        return None
    return Running(
        source=source,
        table=table,
        binding=binding,
        landing=landing,
        quarantine=quarantine,
        quarantined=quarantined,
        views=tuple(view for view in manifest.views if view.table == table.id),
        copies=tuple(copy for copy in manifest.copies if copy.table == table.id),
        size=live.sizes.get(table.id),
        taken=frozenset(field.name for field in table.fields) | frozenset(live.columns.get(table.id, ())),
    )


def settled(column: BoundColumn) -> BoundColumn:
    """A live column without a cut that was never made: it reads its physical column for every row."""
    if column.before is None or column.before.cut is not None:
        return column
    return BoundColumn(column.name, column.type, column.physical)


def extended(chain: tuple[Accepts, ...], version: str) -> tuple[Accepts, ...]:
    """A chain with one more version at its end. Links that were never cut say nothing: they go."""
    if not chain or chain[-1].version == version:
        return chain or (Accepts(version),)
    *earlier, last = chain
    return (*(link for link in earlier if link.upto is not None), last, Accepts(version))
