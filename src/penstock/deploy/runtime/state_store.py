"""The records of a running pipeline, and the deployment that a reference such as `live` or `staging` means.

In: the tables of the state store. Out: `StateStore`. Invariant: looks records up; the parts that it holds write them.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import NotFound, did_you_mean
from penstock.integer_parsing import parse_whole_number
from penstock.model.deployment import Deployment
from penstock.state.crash_counts import CrashCounts
from penstock.state.deployments import Deployments
from penstock.state.jobs import Jobs
from penstock.state.journal import Journal
from penstock.state.live_pointer import LivePointer
from penstock.state.operations import OperationsLog
from penstock.state.schema import MAX_ROW_ID


@dataclass(frozen=True, slots=True)
class StateStore:
    """The records: deployments, the pointer to the live one, the journal of steps, jobs, and logs."""

    deployments: Deployments
    pointer: LivePointer
    journal: Journal
    operations: OperationsLog
    crash_counts: CrashCounts
    jobs: Jobs

    def find(self, ref: str) -> Deployment:
        """The deployment of a reference: `live`, `previous`, `staging` (the newest that is not live yet), an id or a
        name. Raises NotFound, with the nearest name."""
        pointed = self.pointer.read()
        match ref:
            case "live" | "previous":
                found = pointed.live if ref == "live" else pointed.previous
                if found is None:
                    raise NotFound(f"there is no {ref} deployment")
                return self.deployments.get(found)
            case "staging":
                return self._find_staging()
        number = parse_whole_number(ref)
        if number is not None and number <= MAX_ROW_ID:
            return self.deployments.get(number)
        named = [each for each in self.deployments.list() if each.name == ref]
        if not named:
            known = ["live", "staging", "previous", *(each.name for each in self.deployments.list())]
            raise NotFound(f"there is no deployment `{ref}`", hint=did_you_mean(ref, known))
        return named[0]

    def _find_staging(self) -> Deployment:
        for state in ("ready", "backfilling", "preparing", "planned", "failed"):
            found = [each for each in self.deployments.list() if each.state == state]
            if found:
                return found[0]
        raise NotFound("there is no staging deployment", hint="`penstock deploy --no-promote` creates one")
