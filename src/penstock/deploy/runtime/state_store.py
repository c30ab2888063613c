"""The records of a running pipeline, and the deployment that a reference such as `live` or `staging` means.

In: the tables of the state store. Out: `StateStore`. Invariant: looks records up; the parts that it holds write them.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import NotFound, did_you_mean
from penstock.model.deployment import Deployment, DeploymentState
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.state.crash_counts import CrashCounts
from penstock.state.deployments import Deployments
from penstock.state.jobs import Jobs
from penstock.state.journal import Journal
from penstock.state.live_pointer import LivePointer
from penstock.state.logs.audit_log import AuditLog
from penstock.state.logs.call_log import CallLog
from penstock.state.logs.operations import OperationsLog
from penstock.state.logs.topic_reads import TopicReads
from penstock.state.schema import MAX_ROW_ID

STAGING: tuple[DeploymentState, ...] = ("ready", "backfilling", "preparing", "planned", "failed")
"""The states of a version that is not live yet; `staging` means the newest in the first of them that has any."""


@dataclass(frozen=True, slots=True)
class StateStore:
    """The records: deployments, the pointer to the live one, the journal of steps, jobs, and logs."""

    deployments: Deployments
    pointer: LivePointer
    journal: Journal
    operations: OperationsLog
    crash_counts: CrashCounts
    jobs: Jobs
    audit: AuditLog
    calls: CallLog
    topic_reads: TopicReads

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
        named = self.deployments.find_by_name(ref)
        if named is None:
            known = ["live", "staging", "previous", *(each.name for each in self.deployments.list() if each.name)]
            raise NotFound(f"there is no deployment `{ref}`", hint=did_you_mean(ref, known))
        return self.deployments.get(named.id)

    def _find_staging(self) -> Deployment:
        for state in STAGING:
            found = self.deployments.newest_in_state(state)
            if found is not None:
                return self.deployments.get(found.id)
        raise NotFound("there is no staging deployment", hint="`penstock deploy --no-promote` creates one")
