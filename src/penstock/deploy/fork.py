"""Give a deployment tables of its own when it can no longer share those of another one.

In: a view's table and the deployments that have to leave it. Out: clones (no row copied) and new
manifests. Called by `deployer` when a flow meets a row that one landing version accepts and another
rejects. Invariant: the clone holds the snapshots of the original up to the row before, so every
cursor in it, and every cursor that points to it, stays true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.deploy.core import Core
from penstock.lake import tables
from penstock.model.manifest import Binding, Flow, Manifest, Source, View


def fork(core: Core, id: int, table: str) -> None:
    """Let a deployment go on with clones of the table and of all tables below it."""
    deployment = core.deployments.get(id)
    if deployment.manifest.table(table) is None:
        return
    names = {each: _clone_name(core, each, id) for each in _below(deployment.manifest, table)}
    with core.scheduler.exclusive(names):
        for each, clone in names.items():
            tables.clone_table(core.lake, each, clone)
            core.registry.forget(each)
        core.deployments.set_manifest(id, rebind(deployment.manifest, names))
        core.assign()


def rebind(manifest: Manifest, names: Mapping[str, str]) -> Manifest:
    """The manifest with some of its tables called otherwise."""

    def bind(binding: Binding) -> Binding:
        return replace(binding, table=names.get(binding.table, binding.table))

    def source(read: Source) -> Source:
        return replace(read, binding=bind(read.binding))

    def flow(each: Flow) -> Flow:
        moved = replace(each, table=names.get(each.table, each.table))
        if isinstance(moved, View):
            return replace(moved, trigger=source(moved.trigger), others=tuple(map(source, moved.others)))
        return moved

    return replace(
        manifest,
        tables=tuple(replace(each, id=names.get(each.id, each.id)) for each in manifest.tables),
        bindings=tuple(map(bind, manifest.bindings)),
        flows=tuple(map(flow, manifest.flows)),
    )


def _below(manifest: Manifest, table: str) -> list[str]:
    """The table and those fed from it, however far down."""
    found = [table]
    for above in found:
        for view in manifest.views:
            reads = {view.trigger.binding.table, *(other.binding.table for other in view.others)}
            if above in reads and view.table not in found:
                found.append(view.table)
    return found


def _clone_name(core: Core, table: str, id: int) -> str:
    there = set(tables.list_tables(core.lake))
    name = table.split("__")[0]
    number = next(number for number in range(1, len(there) + 2) if f"{name}__d{id}f{number}" not in there)
    return f"{name}__d{id}f{number}"
