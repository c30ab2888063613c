"""Changes of a manifest: cutover offsets filled in, columns marked as materialized, bindings replaced.

In: a manifest and what became known since it was planned. Out: a new manifest. Invariant: a binding is changed
everywhere it occurs, also inside flows; an offset that is already set keeps its value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping
from dataclasses import replace

from typing_extensions import assert_never

from penstock.model.manifest import (
    Accepts,
    Before,
    Binding,
    BoundColumn,
    Copy,
    Flow,
    Landing,
    Manifest,
    Source,
    View,
)


def set_cutover_offsets(manifest: Manifest, cuts: Mapping[str, int]) -> Manifest:
    """The manifest with every open cutover offset of the given tables filled in: `cuts` maps a table's id to the
    last `_seq` of before the cutover."""

    def bind(binding: Binding) -> Binding:
        cut = cuts.get(binding.table)
        if cut is None:
            return binding
        columns = tuple(_set_column_cutover(column, cut) for column in binding.columns)
        return replace(binding, columns=columns, accepts=_set_chain_cutover(binding.accepts, cut))

    return map_bindings(manifest, bind)


def mark_materialized(manifest: Manifest, table: str, columns: Collection[str], upto: int) -> Manifest:
    """The manifest after physical columns of a table were materialized in rows with `_seq` <= `upto`."""

    def mark(binding: Binding, column: BoundColumn, before: Before) -> Before:
        is_further = binding.table == table and column.physical in columns and before.settled < upto
        return replace(before, settled=upto) if is_further else before

    return _map_read_before(manifest, mark)


def limit_materialized(manifest: Manifest, known: Manifest, tables: Container[str]) -> Manifest:
    """The manifest with the columns of these tables materialized no further than an earlier one of the same deployment
    says: what was materialized since is not in copies of the tables as they were then."""
    then = {
        (binding.name, column.name): column.before.settled
        for binding in known.bindings
        for column in binding.columns
        if column.before is not None
    }

    def limit(binding: Binding, column: BoundColumn, before: Before) -> Before:
        if binding.table not in tables:
            return before
        return replace(before, settled=min(before.settled, then.get((binding.name, column.name), -1)))

    return _map_read_before(manifest, limit)


def mark_checked(manifest: Manifest, name: str, columns: Mapping[str, str]) -> Manifest:
    """The manifest after every older row of a data source was seen to convert: `columns` has, by logical column, the
    expression without errors."""

    def mark(binding: Binding, column: BoundColumn, before: Before) -> Before:
        is_checked = binding.name == name and column.name in columns
        return replace(before, checked=columns[column.name]) if is_checked else before

    return _map_read_before(manifest, mark)


def _map_read_before(manifest: Manifest, change: Callable[[Binding, BoundColumn, Before], Before]) -> Manifest:
    """The manifest with `change` applied to what queries compute for older rows. Only what queries read is changed:
    flows may still read earlier snapshots."""

    def changed(binding: Binding, column: BoundColumn) -> BoundColumn:
        return column if column.before is None else replace(column, before=change(binding, column, column.before))

    def bind(binding: Binding) -> Binding:
        return replace(binding, columns=tuple(changed(binding, each) for each in binding.columns))

    return replace(manifest, bindings=tuple(map(bind, manifest.bindings)))


def map_bindings(manifest: Manifest, bind: Callable[[Binding], Binding]) -> Manifest:
    """The manifest with `bind` applied to every binding, also inside flows."""

    def source(read: Source) -> Source:
        return replace(read, binding=bind(read.binding))

    def flow(each: Flow) -> Flow:
        match each:
            case View():
                return replace(each, trigger=source(each.trigger), others=tuple(map(source, each.others)))
            case Copy():
                return replace(each, source=bind(each.source))
            case Landing():
                return each
            case _:
                assert_never(each)

    return replace(
        manifest,
        bindings=tuple(map(bind, manifest.bindings)),
        quarantines=tuple(map(bind, manifest.quarantines)),
        flows=tuple(map(flow, manifest.flows)),
    )


def _set_column_cutover(column: BoundColumn, cut: int) -> BoundColumn:
    if column.before is None or column.before.cut is not None:
        return column
    return replace(column, before=replace(column.before, cut=cut))


def _set_chain_cutover(chain: tuple[Accepts, ...], cut: int) -> tuple[Accepts, ...]:
    *earlier, last = chain or (None,)
    if last is None:
        return ()
    return (*(replace(link, upto=cut) if link.upto is None else link for link in earlier), last)
