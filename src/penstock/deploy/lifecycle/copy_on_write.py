"""Give a deployment tables of its own when it can no longer share those of another one (copy-on-write split).

In: a view's table and the deployments that must leave it, because a landing version accepts a row that another one
rejects. Out: clones (no row is copied) and new manifests. Invariant: a clone has the original's snapshots up to
the row before that one, so every cursor in it, and every cursor that points to it, stays valid.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.tables import physical_tables
from penstock.model.manifest import Manifest
from penstock.model.manifest_updates import limit_materialized, map_bindings

_CLONE_NAME = re.compile(r"[^/]*__d[0-9]{1,19}f[0-9]{1,19}")
"""The names that `split_tables` gives."""
log = logging.getLogger("penstock.deploy")


def split_tables(core: Core, id: int, table: str) -> None:
    """Replace the table, and all tables downstream of it, by clones in one deployment."""
    deployment = core.store.deployments.get(id)
    if deployment.manifest.table(table) is None:
        return
    names = {each: _clone_name(core.warehouse, each, id) for each in _downstream_tables(deployment.manifest, table)}
    with core.flows.exclusive(names):
        for each, clone in names.items():
            physical_tables.clone_table(core.warehouse.lake, each, clone)
            core.warehouse.recorded.record_created(clone)
            core.warehouse.registry.forget(each)
        # Columns may have been materialized in the original since it was cloned: the clone has them computed still.
        core.store.deployments.revise(
            id, lambda manifest: rename_tables(limit_materialized(manifest, deployment.manifest, names), names)
        )
        core.board.refresh()


def drop_leftover_clones(core: Core) -> None:
    """Drop the clones that a crash left: made for a split, and named by no deployment because it was not recorded.
    Run before any flow of this server does."""
    there = physical_tables.list_tables(core.warehouse.lake)
    clones = [table for table in there if _CLONE_NAME.fullmatch(table)]
    if not clones:
        return
    named = {table.id for each in core.store.deployments.unswept() for table in each.manifest.tables}
    for table in clones:
        if table not in named and core.warehouse.recorded.is_own(table) and _is_clone(core.warehouse, table, there):
            log.info("dropping table %s, which a split that was not completed left", table)
            physical_tables.drop_table(core.warehouse.lake, table)
            core.warehouse.recorded.record_dropped(table)
            core.warehouse.registry.forget(table)


def _is_clone(warehouse: Warehouse, table: str, others: Iterable[str]) -> bool:
    """Whether the table has the identity of another one: a clone keeps that of its original."""
    found = physical_tables.load_table(warehouse.lake, table)
    if found is None:
        return False
    if "penstock.clone-of" in found.properties:
        return True
    originals = (physical_tables.load_table(warehouse.lake, each) for each in others if each != table)
    return any(each is not None and each.metadata.table_uuid == found.metadata.table_uuid for each in originals)


def rename_tables(manifest: Manifest, names: Mapping[str, str]) -> Manifest:
    """The manifest with other names for some of its tables."""

    def name(table: str) -> str:
        return names.get(table, table)

    moved = map_bindings(manifest, lambda binding: replace(binding, table=name(binding.table)))
    return replace(
        moved,
        tables=tuple(replace(each, id=name(each.id)) for each in moved.tables),
        quarantines=manifest.quarantines,
        flows=tuple(replace(each, table=name(each.table)) for each in moved.flows),
        meets=tuple(replace(each, table=name(each.table)) for each in moved.meets),
    )


def _downstream_tables(manifest: Manifest, table: str) -> list[str]:
    """The table, and all tables that derive from it through views."""
    found = [table]
    for above in found:
        for view in manifest.views:
            reads = {view.trigger.binding.table, *(other.binding.table for other in view.others)}
            if above in reads and view.table not in found:
                found.append(view.table)
    return found


def _clone_name(warehouse: Warehouse, table: str, id: int) -> str:
    there = set(physical_tables.list_tables(warehouse.lake))
    name = table.split("__")[0]
    number = next(number for number in range(1, len(there) + 2) if f"{name}__d{id}f{number}" not in there)
    return f"{name}__d{id}f{number}"
