"""Find tables that were changed from outside Penstock (drift), and report them; they are never changed here.

In: the record of each table, and all deployments. Out: `Drift` values: problems of a plan, errors of a switch, lines in
the log and in `status`. Invariant: no table is changed here; a change that Penstock made itself and could not record
because of a crash is no drift.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.deploy.lifecycle.states import OVER
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Conflict, Problem
from penstock.lake.drift.differences import TableDrift
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.model.deployment import RUNNING, Deployment
from penstock.model.manifest import Field, Manifest
from penstock.plan.plan import Plan
from penstock.plan.steps import Activate

INTERVAL = 60.0
"""Seconds between two checks of all tables; a check takes some milliseconds a table."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference, with the name of the table's data source and the ids of the running deployments that use it."""

    name: str
    deployments: tuple[int, ...]
    difference: TableDrift

    @property
    def table(self) -> str:
        return self.difference.table

    @property
    def problem(self) -> Problem:
        """The problem, naming the data source instead of the physical table."""
        found = self.difference.problem
        return replace(found, message=f"`{self.name}`: {found.message}")

    def as_json(self) -> dict[str, object]:
        """As `status` shows it."""
        found = self.problem
        return {
            "table": self.table,
            "name": self.name,
            "deployments": list(self.deployments),
            "kind": self.difference.kind,
            "code": found.code,
            "message": found.message,
            "hint": found.hint,
            "stops": self.difference.stops,
        }


def find_drift(recorded: RecordedTables, everything: Collection[Deployment]) -> tuple[Drift, ...]:
    """The drift of all tables of running deployments, sorted by table. `everything` are the deployments that need their
    tables, also those that failed."""
    running = [each for each in everything if each.state in RUNNING]
    found: list[Drift] = []
    for table in sorted({table.id for each in running for table in each.manifest.tables}):
        recorded.adopt(table)
        differences = recorded.differences(table)
        if any(each.kind == "columns" for each in differences):
            recorded.reconcile(table, _wanted_columns(table, everything))
            differences = recorded.differences(table)
        if differences:
            users = [each for each in running if each.manifest.table(table) is not None]
            ids, name = tuple(sorted(each.id for each in users)), _datasource_name(table, users)
            found += [Drift(name, ids, each) for each in differences]
    return tuple(found)


def drift_problems(found: Iterable[Drift], plan: Plan) -> tuple[Problem, ...]:
    """The drift as problems of a plan: an error if the plan would use a damaged table, else a warning."""
    touched = tables_of(plan.manifest) | {
        clone.of for step in plan.steps if isinstance(step, Activate) for clone in step.clones
    }
    return tuple(
        each.problem if each.difference.stops and each.table in touched else replace(each.problem, level="warning")
        for each in found
    )


def refuse_drifted(found: Iterable[Drift], to: Manifest, now: Manifest) -> None:
    """Raises Conflict if drift has stopped a table of the version `to` that the current version `now` does not use."""
    gained = tables_of(to) - tables_of(now)
    grave = [each.problem for each in found if each.difference.stops and each.table in gained]
    if grave:
        raise Conflict(f"the switch was not made: {grave[0].message}", grave, hint=grave[0].hint)


def tables_of(manifest: Manifest) -> set[str]:
    """Every table that a deployment owns, writes or reads."""
    read = {source.binding.table for view in manifest.views for source in (view.trigger, *view.others)}
    copied = {copy.source.table for copy in manifest.copies}
    return {table.id for table in manifest.tables} | read | copied


class DriftWatch(PeriodicTask):
    """A thread that checks all tables each minute, logs new and ended drift, and stores the last findings for
    `status`."""

    def __init__(self, find: Callable[[], tuple[Drift, ...]], save: Callable[[], None]):
        super().__init__("drift", INTERVAL)
        self._find = find
        self._save = save
        self.found: tuple[Drift, ...] = ()

    def start(self) -> None:
        """Check all tables now, then each minute. Raises what the catalog raises."""
        self.run_once()
        super().start()

    def run_once(self) -> tuple[Drift, ...]:
        """Check all tables, log what changed, and return the drift found."""
        found = self._find()
        known, now = {each.problem.message for each in self.found}, {each.problem.message for each in found}
        for drift in found:
            if drift.problem.message not in known:
                log.warning("drift: %s", drift.problem)
        for message in sorted(known - now):
            log.info("drift is over: %s", message)
        self.found = found
        self._save()
        return found


def _datasource_name(table: str, users: Collection[Deployment]) -> str:
    bindings = [bound for each in users for bound in (*each.manifest.bindings, *each.manifest.quarantines)]
    return next((bound.name for bound in bindings if bound.table == table), table)


def _wanted_columns(table: str, everything: Iterable[Deployment]) -> Mapping[str, Field]:
    """The columns that deployments which have not ended want in a table; the newest deployment decides."""
    wanted: dict[str, Field] = {}
    for deployment in sorted(everything, key=lambda each: each.id):
        made = deployment.manifest.table(table)
        if made is not None and deployment.state not in OVER:
            wanted |= {field.name: field for field in made.fields}
    return wanted
