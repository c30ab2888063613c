"""Find tables that somebody else changed (drift); they are named and left as they are.

In: what each table was made as, and all deployments. Out: `Drift`s: problems of a plan, refusals of a switch, lines in
the log and in `status`. Invariant: no table is changed here; a change of Penstock's own that a crash kept it from
recording is no drift.
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
"""Seconds between two looks at all tables; one takes some milliseconds a table."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference, with the data source of the table and the running deployments that have it."""

    name: str
    deployments: tuple[int, ...]
    difference: TableDrift

    @property
    def table(self) -> str:
        return self.difference.table

    @property
    def problem(self) -> Problem:
        """By the name that a user knows."""
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
    """Of all tables of running deployments, by table. `everything` is every deployment there is."""
    running = [each for each in everything if each.state in RUNNING]
    found: list[Drift] = []
    for table in sorted({table.id for each in running for table in each.manifest.tables}):
        recorded.adopt(table)
        differences = recorded.differences(table)
        if any(each.kind == "columns" for each in differences):
            recorded.reconcile(table, _wanted_columns(table, everything))
            differences = recorded.differences(table)
        users = [each for each in running if each.manifest.table(table) is not None]
        ids, name = tuple(sorted(each.id for each in users)), _datasource_name(table, users)
        found += [Drift(name, ids, each) for each in differences]
    return tuple(found)


def drift_problems(found: Iterable[Drift], plan: Plan) -> tuple[Problem, ...]:
    """What a plan has to say of them: an error where it would go on with a table that is not what it was
    made as, else a warning."""
    touched = tables_of(plan.manifest) | {
        clone.of for step in plan.steps if isinstance(step, Activate) for clone in step.clones
    }
    return tuple(
        each.problem if each.difference.stops and each.table in touched else replace(each.problem, level="warning")
        for each in found
    )


def refuse_drifted(found: Iterable[Drift], to: Manifest, now: Manifest) -> None:
    """Raise Conflict if the version to switch to has a table that stands still and the one now has not."""
    gained = tables_of(to) - tables_of(now)
    grave = [each.problem for each in found if each.difference.stops and each.table in gained]
    if grave:
        raise Conflict(f"the switch was not made: {grave[0].message}", grave, hint=grave[0].hint)


def tables_of(manifest: Manifest) -> set[str]:
    """Every table that a deployment has, feeds or reads."""
    read = {source.binding.table for view in manifest.views for source in (view.trigger, *view.others)}
    copied = {copy.source.table for copy in manifest.copies}
    return {table.id for table in manifest.tables} | read | copied


class DriftWatch(PeriodicTask):
    """A thread that looks each minute, tells the log what is new and what is over, and keeps the last
    findings for `status`."""

    def __init__(self, look: Callable[[], tuple[Drift, ...]], save: Callable[[], None]):
        super().__init__("drift", INTERVAL)
        self._look = look
        self._save = save
        self.found: tuple[Drift, ...] = ()

    def start(self) -> None:
        """Look now (raises what the catalog raises), then each minute."""
        self.look()
        super().start()

    def look(self) -> tuple[Drift, ...]:
        """Look now."""
        found = self._look()
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
    """The columns that deployments which are not over want in a table; the newest has the last word."""
    wanted: dict[str, Field] = {}
    for deployment in sorted(everything, key=lambda each: each.id):
        made = deployment.manifest.table(table)
        if made is not None and deployment.state not in OVER:
            wanted |= {field.name: field for field in made.fields}
    return wanted
