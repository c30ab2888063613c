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
    """The manifest after physical columns of a table were materialized in rows with `_seq` <= `upto`. Only what queries
    read is changed: flows may still read earlier snapshots."""

    def bind(binding: Binding) -> Binding:
        if binding.table != table:
            return binding
        return replace(
            binding, columns=tuple(_mark_column_materialized(column, columns, upto) for column in binding.columns)
        )

    return replace(manifest, bindings=tuple(map(bind, manifest.bindings)))


def limit_materialized(manifest: Manifest, known: Manifest, tables: Container[str]) -> Manifest:
    """The manifest with the columns of these tables materialized no further than an earlier one of the same deployment
    says: what was materialized since is not in copies of the tables as they were then."""
    then = {
        (binding.name, column.name): column.before.settled
        for binding in known.bindings
        for column in binding.columns
        if column.before is not None
    }

    def limit(binding: Binding, column: BoundColumn) -> BoundColumn:
        before = column.before
        if before is None:
            return column
        settled = min(before.settled, then.get((binding.name, column.name), -1))
        return replace(column, before=replace(before, settled=settled))

    def bind(binding: Binding) -> Binding:
        if binding.table not in tables:
            return binding
        return replace(binding, columns=tuple(limit(binding, column) for column in binding.columns))

    return replace(manifest, bindings=tuple(map(bind, manifest.bindings)))


def mark_checked(manifest: Manifest, name: str, columns: Mapping[str, str]) -> Manifest:
    """The manifest after every older row of a data source was seen to convert: `columns` has, by logical column, the
    expression without errors. Only what queries read is changed, as above."""

    def bind(binding: Binding) -> Binding:
        if binding.name != name:
            return binding
        return replace(binding, columns=tuple(_mark_column_checked(each, columns) for each in binding.columns))

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


def _mark_column_materialized(column: BoundColumn, columns: Collection[str], upto: int) -> BoundColumn:
    if column.physical not in columns or column.before is None or column.before.settled >= upto:
        return column
    return replace(column, before=replace(column.before, settled=upto))


def _mark_column_checked(column: BoundColumn, columns: Mapping[str, str]) -> BoundColumn:
    if column.name not in columns or column.before is None:
        return column
    return replace(column, before=replace(column.before, checked=columns[column.name]))


def _set_column_cutover(column: BoundColumn, cut: int) -> BoundColumn:
    if column.before is None or column.before.cut is not None:
        return column
    return replace(column, before=replace(column.before, cut=cut))


def _set_chain_cutover(chain: tuple[Accepts, ...], cut: int) -> tuple[Accepts, ...]:
    *earlier, last = chain or (None,)
    if last is None:
        return ()
    return (*(replace(link, upto=cut) if link.upto is None else link for link in earlier), last)
