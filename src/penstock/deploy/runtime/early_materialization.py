"""Materialize bridged columns before a deployment is ready, so that no query pays for them when it is promoted.

In: a deployment and its `MaterializeColumns` step. Out: rewritten files, slice by slice, recorded in the manifest.
Invariant: the manifest says how far it got, so a restart goes on there; rows of live come first; a table that cannot be
rewritten fails nothing, since readers compute the same values.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from penstock.deploy.runtime.bridged_columns import BridgedColumns, bridged_columns, is_given_up, materialize_slice
from penstock.deploy.runtime.core import Core
from penstock.errors import Unavailable
from penstock.flow.throttle import REST_FACTOR
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.spark.errors import explain_error, is_catalog_away
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.plan.steps import MaterializeColumns

ATTEMPTS = 5
"""A slice that failed, or came second to other maintenance of its files, so many times in a row is left to the
background, which tries it once the version is live. So is a table whose slices ended Spark's process."""
PAUSE = 1.0
log = logging.getLogger("penstock.deploy")


def materialize_table(core: Core, step: MaterializeColumns, go_on: Callable[[], Deployment]) -> None:
    """Materialize what is left of a table. `go_on` gives the deployment before each slice, or raises. Raises that, and
    Unavailable if the catalog or the state store does not answer."""
    core.flows.stepper.join_pool("background")
    tries, last = 0, None
    while True:
        manifest = go_on().manifest
        found = next_columns(manifest, step.name)
        if found is None:
            return
        tries, last = tries + 1 if found == last else 1, found
        if tries > ATTEMPTS or is_given_up(core, found.table):
            break
        began = time.monotonic()
        failed = False
        try:
            _materialize_slice(core, manifest, found)
        except Unavailable:
            raise
        except Exception:  # nothing depends on it: readers compute the values
            go_on()  # while the server stops, anything may fail
            log.exception("columns of %s could not be materialized", found.table)
            failed = True
        _rest(core, time.monotonic() - began, failed=failed)
    log.warning("%s of %s stay computed when they are read, until the version is live", step.columns, step.name)


def next_columns(manifest: Manifest, name: str) -> BridgedColumns | None:
    """The columns of a data source to materialize next; None if none is left. Its table is looked up each time: it gets
    another one when it can no longer be shared."""
    bound = manifest.binding(name)
    return next((each for each in bridged_columns(manifest) if bound is not None and each.table == bound.table), None)


def _materialize_slice(core: Core, manifest: Manifest, found: BridgedColumns) -> None:
    flow = core.settings.flow
    try:
        materialize_slice(core, manifest, found, SliceLimits(flow.max_step_rows, flow.max_step_bytes))
    except Exception as error:
        if is_catalog_away(error):
            raise Unavailable(f"the catalog does not answer: {explain_error(error)}") from error
        raise


def _rest(core: Core, took: float, *, failed: bool) -> None:
    """Let rows of live go first, as histories do; after a failure, pause."""
    stepper, scheduler = core.flows.stepper, core.flows.scheduler
    if stepper.gives_way_to_live:
        scheduler.wait(lambda: not stepper.gives_way_to_live, timeout=REST_FACTOR * took)
    elif failed:
        scheduler.wait(lambda: False, timeout=PAUSE)
