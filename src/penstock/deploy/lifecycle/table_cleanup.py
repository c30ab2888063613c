"""Drop what no deployment needs any more.

In: the records of all deployments. Out: tables and physical columns dropped. Called by `deployer`
after a retirement or a discard, and at start. Invariant: nothing is dropped that was not made for a
deployment that is over, or that any other deployment names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.deploy.lifecycle.states import OVER
from penstock.deploy.runtime.core import Core
from penstock.lake.tables import physical_tables
from penstock.lake.tables.snapshot_tags import drop_tags_except, tag_name
from penstock.model.cursor import TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import REJECTS, SEQ, Flow

log = logging.getLogger("penstock.deploy")


def sweep(core: Core) -> None:
    """Drop tables and columns of deployments that are over and that nobody reads any more."""
    everything, read = core.deployments.list(), core.readers.read
    over = [each for each in everything if each.state in OVER and each.id not in read]
    kept = [each for each in everything if each.state not in OVER or each.id in read]
    there = set(physical_tables.list_tables(core.lake))
    for table in sorted((_tables(over) - _tables(kept)) & there):
        with core.exclusive([table]):
            log.info("dropping table %s", table)
            if core.recorded.is_own(table):
                physical_tables.drop_table(core.lake, table)
            core.recorded.dropped(table)
            core.registry.forget(table)
    for table, field in sorted(_fields(over) - _fields(kept)):
        if table in there and table in _tables(kept) and field not in (SEQ, REJECTS):
            with core.exclusive([table]), core.recorded.changing(table, [field]):
                physical_tables.drop_field(core.lake, table, field)


def let_go(core: Core) -> None:
    """Drop the holds of histories that are complete: a crash came between."""
    running = core.deployments.running()
    reading = {
        tag_name((flow.table, flow.id)) for each in running for flow in each.manifest.flows if _reads(core, flow)
    }
    for table in sorted(_tables(running)):
        drop_tags_except(core.lake, table, reading)


def _reads(core: Core, flow: Flow) -> bool:
    return not isinstance(core.registry.cursor(flow.table, flow.id), TailCursor)


def _tables(deployments: Iterable[Deployment]) -> set[str]:
    return {table.id for each in deployments for table in each.manifest.tables}


def _fields(deployments: Iterable[Deployment]) -> set[tuple[str, str]]:
    return {(table.id, field.name) for each in deployments for table in each.manifest.tables for field in table.fields}
