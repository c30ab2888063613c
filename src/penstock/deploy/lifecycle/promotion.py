"""Promote, roll back, retire and discard: the changes that readers see.

In: a deployment. Out: the live pointer and the states, changed in one transaction. Invariant: a switch happens only
when both versions have every batch that had arrived when it was asked for, so no reader sees a count go back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from penstock.crash_points import crash_point
from penstock.deploy.lifecycle.drift_watch import find_drift, refuse_drifted
from penstock.deploy.lifecycle.states import NOT_OVER, only_state, states_before
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.errors import Conflict, Problem
from penstock.flow.lag import FlowLag
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.state.deployments import StateMove
from penstock.state.live_pointer import LiveVersions

SWITCH_SECONDS = 60.0
"""How long a switch waits until both versions have every batch."""
PERSISTENT = 3
"""A rollback does not wait for a flow that has failed this many times in a row."""
FlowKeys: TypeAlias = frozenset[tuple[str, str]]


def promote(core: Core, deployment: Deployment) -> Deployment:
    """Make a ready deployment live. The one that was live becomes `previous` and still gets every row; the one
    that was `previous` is retired.

    Raises Conflict if it is not ready, if live moved since it was planned, if a flow of its own fails, or
    if it lags too much.
    """
    pointed = core.store.pointer.read()
    if deployment.state != "ready":
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; only a ready one can be promoted")
    if deployment.base != pointed.live:
        raise Conflict(
            f"deployment {deployment.id} was planned against deployment {deployment.base}, but {pointed.live} is live",
            hint="discard it and deploy again: the new plan is made against the live deployment",
        )
    _check_promotable(core, deployment)
    _check_tables(core, deployment)
    with _align_versions(
        core.flows, core.board, deployment, pointed, core.flows.failing() & _flow_keys(core.board.live())
    ):
        moves = [StateMove(deployment.id, only_state("ready"), "live")]
        moves += [StateMove(pointed.live, only_state("live"), "previous")] if pointed.live is not None else []
        moves += (
            [StateMove(pointed.previous, only_state("previous"), "retired")] if pointed.previous is not None else []
        )
        crash_point("promote.held")
        core.store.pointer.swap(pointed.version, deployment.id, pointed.live, moves)
        crash_point("promote.swapped")
        core.board.refresh()
    return core.store.deployments.get(deployment.id)


def rollback(core: Core) -> Deployment:
    """Make the previous deployment live again; the one that was live becomes `ready` and still gets every row.

    Raises Conflict if there is no previous one or it lags. Returns the one that is live now.
    """
    pointed = core.store.pointer.read()
    if pointed.previous is None or pointed.live is None:
        raise Conflict("there is no previous deployment to go back to")
    previous = core.store.deployments.get(pointed.previous)
    _check_tables(core, previous)
    # A flow that keeps failing in the previous version is no reason to stay with the live one.
    with _align_versions(core.flows, core.board, previous, pointed, core.flows.failing(attempts=PERSISTENT)):
        moves = [
            StateMove(pointed.live, only_state("live"), "ready"),
            StateMove(previous.id, only_state("previous"), "live"),
        ]
        core.store.pointer.swap(pointed.version, previous.id, None, moves)
        core.board.refresh()
    return core.store.deployments.get(previous.id)


def retire(store: StateStore, board: DeploymentBoard, deployment: Deployment) -> Deployment:
    """Stop the flows of the previous deployment. Raises Conflict if it is not the previous one."""
    pointed = store.pointer.read()
    if deployment.id != pointed.previous:
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; only the previous one can be retired")
    store.pointer.swap(
        pointed.version, pointed.live, None, [StateMove(deployment.id, only_state("previous"), "retired")]
    )
    board.refresh()
    return store.deployments.get(deployment.id)


def discard(store: StateStore, board: DeploymentBoard, deployment: Deployment) -> Deployment:
    """End a deployment that is not live. Raises Conflict for the live and the previous one."""
    if deployment.state not in states_before("discarded"):
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; it cannot be discarded")
    gone = store.deployments.move(deployment.id, "discarded", of=states_before("discarded"))
    board.refresh()
    return gone


def _check_promotable(core: Core, deployment: Deployment) -> None:
    """Raises Conflict for reasons that waiting cannot change, before landing is held to align the versions."""
    if deployment.paused:
        raise Conflict(f"deployment {deployment.id} is paused", hint=f"`penstock deployment resume {deployment.id}`")
    own = _flow_keys(deployment) - _flow_keys(core.board.live())
    for key, failure in core.flows.scheduler.failures.items():
        if key in own and failure.attempts:
            name = deployment.manifest.name_of(key[0])
            message = f"deployment {deployment.id} cannot go live: {key[1]} into `{name}` fails: {failure.message}"
            raise Conflict(message, hint="`penstock status` shows it; correct the cause and deploy again")
    lag, most = core.flows.lag(deployment.manifest), core.settings.deploy.max_lag_seconds
    if lag > most:
        late = describe_worst_lag(core.flows.late(deployment.manifest, core.flows.arrivals.heads, core.flows.failing()))
        message = f"deployment {deployment.id} lags {lag:.0f} seconds, more than the {most} that are allowed: {late}"
        hint = "see `penstock status`; try again once it has caught up, or raise [deploy] max_lag_seconds"
        raise Conflict(message, [Problem("deployment-lags", message, hint=hint)])


def _check_tables(core: Core, to: Deployment) -> None:
    """Raises Conflict if drift has stopped tables of the version to switch to that the live version does not use."""
    live = core.board.live()
    refuse_drifted(
        find_drift(core.warehouse.recorded, core.store.deployments.in_state(*NOT_OVER)),
        to.manifest,
        live.manifest if live else Manifest(),
    )


@contextmanager
def _align_versions(
    flows: RunningFlows, board: DeploymentBoard, to: Deployment, pointed: LiveVersions, excused: FlowKeys
) -> Iterator[None]:
    """Bring both versions to the same batch of every stream, and hold landing there until the block ends; rows that are
    posted meanwhile are kept and acknowledged. Failing flows of the version that stops being live are not waited for,
    since the other version may correct them, nor are the `excused` flows of the version `to`. Raises Conflict after
    SWITCH_SECONDS."""
    heads = flows.arrivals.heads

    def late() -> list[FlowLag]:
        found: list[FlowLag] = []
        for each in board.running.deployments:
            if each.id == to.id:
                found += flows.late(each.manifest, heads, excused)
            elif each.id == pointed.live:
                found += flows.late(each.manifest, heads, flows.failing())
        return found

    try:
        with flows.stepper.limit_batches(heads):
            if not flows.scheduler.wait(lambda: not late(), SWITCH_SECONDS):
                raise Conflict(
                    f"the switch was not made: {describe_worst_lag(late())}",
                    hint="see `penstock status`; try again once it has caught up",
                )
            yield
    finally:
        flows.scheduler.wake()


def _flow_keys(deployment: Deployment | None) -> FlowKeys:
    return frozenset((flow.table, flow.id) for flow in deployment.manifest.flows) if deployment else frozenset()


def describe_worst_lag(late: Sequence[FlowLag]) -> str:
    """Which flow lags most, for the error of a wait that timed out."""
    if not late:
        return "the server is stopping"
    worst = max(late, key=lambda each: each.head - each.at)
    return f"{worst.flow} into {worst.table} is at batch {worst.at} of {worst.head} of `{worst.stream}`"
