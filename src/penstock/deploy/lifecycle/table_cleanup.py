"""Drop tables, columns and snapshot tags that no deployment needs any more.

In: the records of deployments. Out: tables and physical columns dropped. Invariant: only what was made for a retired or
discarded deployment is dropped, and only if no other deployment names it and no query reads it. A deployment is looked
at until nothing of its own is left, and then never again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.deploy.lifecycle.states import OVER
from penstock.deploy.lifecycle.undo import drop_table, is_undone
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.lake.tables import physical_tables
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.snapshot_tags import drop_tags_except, tag_name
from penstock.model.cursor import TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import REJECTS, SEQ, Flow

log = logging.getLogger("penstock.deploy")


def drop_unused_tables(core: Core) -> None:
    """Drop tables and columns of retired and discarded deployments that no query reads any more; none while it is not
    known whether an earlier server leased them to other readers."""
    if not core.board.readers.knows_leases:
        return
    newest = core.store.deployments.newest()
    everything = core.store.deployments.unswept()
    # Looked up after the deployments: a query that begins later looks its deployment up again before it reads.
    read = core.board.readers.read
    over = [each for each in everything if each.state in OVER and each.id not in read]
    kept = [each for each in everything if each.state not in OVER or each.id in read]
    if not over:
        return
    there = set(physical_tables.list_tables(core.warehouse.lake))
    for table in sorted((_table_ids(over) - _table_ids(kept)) & there):
        drop_table(core, table, newest)
    used = _table_ids(kept) & there
    for table, field in sorted(_table_fields(over) - _table_fields(kept)):
        if table in used and field not in (SEQ, REJECTS):
            with core.flows.exclusive([table]), core.warehouse.recorded.changing(table, [field]):
                physical_tables.drop_field(core.warehouse.lake, table, field)
    # What they still name is named by a deployment that is not swept, and goes with that one.
    core.store.deployments.mark_swept([each.id for each in over if _is_at_an_end(core.store, each)])


def _is_at_an_end(store: StateStore, deployment: Deployment) -> bool:
    """Whether nothing is to be done for the deployment any more: of a discarded one, all steps are undone."""
    return deployment.state == "retired" or is_undone(store, deployment)


def drop_unused_tags(store: StateStore, warehouse: Warehouse) -> None:
    """Drop the snapshot tags of complete histories; a crash may have left them."""
    running = store.deployments.running()
    reading = {
        tag_name((flow.table, flow.id))
        for each in running
        for flow in each.manifest.flows
        if _reads_history(warehouse, flow)
    }
    for table in sorted(_table_ids(running)):
        try:
            drop_tags_except(warehouse.lake, table, reading)
        except DamagedTable as error:
            log.warning("the snapshot tags of %s stay: %s", table, error.message)


def _reads_history(warehouse: Warehouse, flow: Flow) -> bool:
    """True also of a flow into a damaged table: once that is repaired, it may still read a history."""
    try:
        return not isinstance(warehouse.registry.cursor(flow.table, flow.id), TailCursor)
    except DamagedTable:
        return True


def _table_ids(deployments: Iterable[Deployment]) -> set[str]:
    return {table.id for each in deployments for table in each.manifest.tables}


def _table_fields(deployments: Iterable[Deployment]) -> set[tuple[str, str]]:
    return {(table.id, field.name) for each in deployments for table in each.manifest.tables for field in table.fields}
