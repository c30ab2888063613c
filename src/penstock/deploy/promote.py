"""Promote, roll back, retire and discard: the moves that readers can see.

In: a deployment's reference. Out: the pointer and the states, changed in one transaction. Called by
`deployer`. Invariant: a switch happens only when both versions have every batch that had arrived
when it was asked for, so no reader sees a count go back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from penstock.deploy.core import Core
from penstock.deploy.states import only, sources
from penstock.errors import Conflict
from penstock.faults import reached
from penstock.flow.lag import Behind, behind
from penstock.model.deployment import Deployment
from penstock.state.pointer import Move, Pointed

SWITCH_SECONDS = 60.0


def promote(core: Core, deployment: Deployment) -> Deployment:
    """Make a ready deployment live. The one before becomes `previous` and stays fed; the one
    before that is retired.

    Raises Conflict if it is not ready, if live moved since it was planned, or if it lags.
    """
    pointed = core.pointer.read()
    if deployment.state != "ready":
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; only a ready one can be promoted")
    if deployment.base != pointed.live:
        raise Conflict(
            f"deployment {deployment.id} was planned against deployment {deployment.base}, but {pointed.live} is live",
            hint="discard it and deploy again: the plan is made anew against what is live",
        )
    with _together(core, deployment, pointed):
        moves = [Move(deployment.id, only("ready"), "live")]
        moves += [Move(pointed.live, only("live"), "previous")] if pointed.live is not None else []
        moves += [Move(pointed.previous, only("previous"), "retired")] if pointed.previous is not None else []
        reached("promote.held")
        core.pointer.swap(pointed.version, deployment.id, pointed.live, moves)
        reached("promote.swapped")
        core.assign()
    return core.deployments.get(deployment.id)


def rollback(core: Core) -> Deployment:
    """Make the previous deployment live again; the one that was live stays fed, as `ready`.

    Raises Conflict if there is no previous one or it lags. Returns the one that is live now.
    """
    pointed = core.pointer.read()
    if pointed.previous is None or pointed.live is None:
        raise Conflict("there is no previous deployment to go back to")
    previous = core.deployments.get(pointed.previous)
    with _together(core, previous, pointed):
        moves = [Move(pointed.live, only("live"), "ready"), Move(previous.id, only("previous"), "live")]
        core.pointer.swap(pointed.version, previous.id, None, moves)
        core.assign()
    return core.deployments.get(previous.id)


def retire(core: Core, deployment: Deployment) -> Deployment:
    """Stop feeding the previous deployment. Raises Conflict if it is not the previous one."""
    pointed = core.pointer.read()
    if deployment.id != pointed.previous:
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; only the previous one can be retired")
    core.pointer.swap(pointed.version, pointed.live, None, [Move(deployment.id, only("previous"), "retired")])
    core.assign()
    return core.deployments.get(deployment.id)


def discard(core: Core, deployment: Deployment) -> Deployment:
    """Give a deployment up that is not live. Raises Conflict for the live and the previous one."""
    if deployment.state not in sources("discarded"):
        raise Conflict(f"deployment {deployment.id} is {deployment.state}; it cannot be discarded")
    gone = core.deployments.move(deployment.id, "discarded", of=sources("discarded"))
    core.assign()
    return gone


@contextmanager
def _together(core: Core, deployment: Deployment, pointed: Pointed) -> Iterator[None]:
    """Both versions at the same batch of every stream: landing waits there until the block ends.
    What is posted meanwhile is kept and acknowledged as ever."""
    heads = core.stepper.heads
    both = {deployment.id, pointed.live}

    def late() -> list[Behind]:
        manifests = [each.manifest for each in core.board.running.deployments if each.id in both]
        return [each for manifest in manifests for each in behind(core.registry, manifest, heads)]

    try:
        with core.stepper.held(heads):
            if not core.scheduler.wait(lambda: not late(), SWITCH_SECONDS):
                raise Conflict(
                    f"the switch was not made: {told_late(late())}",
                    hint="see `penstock status`; try again when it caught up",
                )
            yield
    finally:
        core.scheduler.wake()


def told_late(late: Sequence[Behind]) -> str:
    """Why a wait was in vain."""
    if not late:
        return "the server is stopping"
    worst = max(late, key=lambda each: each.head - each.at)
    return f"{worst.flow} into {worst.table} is at batch {worst.at} of {worst.head} of `{worst.stream}`"
