"""Drop what no deployment needs any more.

In: the records of all deployments. Out: tables and physical columns dropped. Called by `deployer`
after a retirement or a discard, and at start. Invariant: nothing is dropped that was not made for a
deployment that is over, or that any other deployment names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from penstock.deploy.core import Core
from penstock.lake import tables
from penstock.model.deployment import Deployment
from penstock.model.manifest import REJECTS, SEQ

OVER = ("retired", "discarded")
log = logging.getLogger("penstock.deploy")


def sweep(core: Core) -> None:
    """Drop tables and columns of deployments that are over."""
    everything = core.deployments.list()
    over = [each for each in everything if each.state in OVER]
    kept = [each for each in everything if each.state not in OVER]
    there = set(tables.list_tables(core.lake))
    for table in sorted((_tables(over) - _tables(kept)) & there):
        with core.scheduler.exclusive([table]):
            log.info("dropping table %s", table)
            tables.drop_table(core.lake, table)
            core.registry.forget(table)
    for table, field in sorted(_fields(over) - _fields(kept)):
        if table in there and table in _tables(kept) and field not in (SEQ, REJECTS):
            with core.scheduler.exclusive([table]):
                tables.drop_field(core.lake, table, field)


def _tables(deployments: Iterable[Deployment]) -> set[str]:
    return {table.id for each in deployments for table in each.manifest.tables}


def _fields(deployments: Iterable[Deployment]) -> set[tuple[str, str]]:
    return {(table.id, field.name) for each in deployments for table in each.manifest.tables for field in table.fields}
