"""The states of a deployment and the legal moves between them.

In: nothing. Out: `MOVES` and the groups of states. Invariant: a deployment is moved only as this table allows.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.deployment import DeploymentState

MOVES: Mapping[DeploymentState, tuple[DeploymentState, ...]] = {
    "planned": ("preparing", "failed", "discarded"),
    "preparing": ("backfilling", "failed", "discarded"),
    "backfilling": ("ready", "failed", "discarded"),
    "ready": ("live", "failed", "discarded"),
    "live": ("previous", "ready"),
    "previous": ("live", "retired"),
    "failed": ("discarded",),
    "discarded": (),
    "retired": (),
}
"""From each state, where a deployment may go. `live` goes to `previous` when another one is
promoted and to `ready` when it is rolled back: it still gets every row and can be promoted again."""

OVER: tuple[DeploymentState, ...] = ("retired", "discarded")
"""The states of a deployment that has ended and no longer needs its tables."""

NOT_OVER: tuple[DeploymentState, ...] = tuple(state for state in MOVES if state not in OVER)
"""The states of a deployment whose tables are needed: also one that failed, until it is discarded."""

UNFINISHED: tuple[DeploymentState, ...] = ("planned", "preparing", "backfilling")
"""The states in which the executor has work to do, also after a restart."""

PAUSABLE: tuple[DeploymentState, ...] = (*UNFINISHED, "ready")
"""The states in which a deployment can be paused: the live and previous versions do not depend on its flows."""


def states_before(to: DeploymentState) -> tuple[DeploymentState, ...]:
    """The states from which a deployment may move to `to`."""
    return tuple(state for state, moves in MOVES.items() if to in moves)


def only_state(state: DeploymentState) -> tuple[DeploymentState, ...]:
    """The one state, as the states from which a move is allowed."""
    return (state,)
