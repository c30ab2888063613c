"""The deployments: every version of the project, with its plan, manifest and state.

In: a plan with its manifest, and changes of state. Out: `Deployment` values. Invariant: a state changes only if the
current one is among those that the caller expects; otherwise nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.errors import Conflict, NotFound
from penstock.model.deployment import RUNNING, Deployment, DeploymentState
from penstock.model.manifest import Manifest
from penstock.state.database import Database
from penstock.state.manifest_codec import manifest_from_json, manifest_to_json
from penstock.state.schema import deployments, journal


@dataclass(frozen=True, slots=True)
class StateMove:
    """A change of a deployment's state."""

    deployment: int
    of: tuple[DeploymentState, ...]
    """The states from which the change is allowed."""
    to: DeploymentState
    """The new state."""


class Deployments:
    """The table of deployments."""

    def __init__(self, database: Database):
        self._database = database

    def create(  # noqa: PLR0913 - one argument a part of the record
        self,
        name: str,
        base: int | None,
        files: Mapping[str, str],
        plan: Mapping[str, object],
        manifest: Manifest,
        steps: Sequence[str] = (),
    ) -> Deployment:
        """Store a new deployment in state planned, with the steps of its plan in the journal."""
        now = datetime.now(timezone.utc)
        values = {
            "name": name,
            "state": "planned",
            "base": base,
            "created_at": now,
            "updated_at": now,
            "files": dict(files),
            "plan": dict(plan),
            "manifest": manifest_to_json(manifest),
        }
        with self._database.write() as connection:
            row = connection.execute(sa.insert(deployments).values(values).returning(deployments)).one()
            for ordinal, step in enumerate(steps):
                entry = {"deployment": row.id, "ordinal": ordinal, "step": step}
                connection.execute(sa.insert(journal).values(entry))
        return _parse_row(row)

    def get(self, number: int) -> Deployment:
        """The deployment of this number. Raises NotFound."""
        with self._database.read() as connection:
            return _load_deployment(connection, number)

    def list(self) -> tuple[Deployment, ...]:
        """All deployments, newest first."""
        return self._where(sa.true())

    def running(self) -> tuple[Deployment, ...]:
        """The deployments whose flows run, newest first."""
        return self.in_state(*RUNNING)

    def in_state(self, *states: DeploymentState) -> tuple[Deployment, ...]:
        """The deployments in one of these states, newest first."""
        return self._where(deployments.c.state.in_(states))

    def move(
        self,
        number: int,
        to: DeploymentState,
        *,
        of: Collection[DeploymentState],
        error: Mapping[str, object] | None = None,
    ) -> Deployment:
        """Change the state. Raises NotFound, Conflict if the state is not among `of`."""
        with self._database.write() as connection:
            apply_move(connection, StateMove(number, tuple(of), to), error)
            return _load_deployment(connection, number)

    def pause(self, number: int, *, of: Collection[DeploymentState]) -> Deployment:
        """Stop flows that only this deployment needs. Raises NotFound, Conflict if the state is not among `of`."""
        return self._set_paused(number, of, sa.true())

    def resume(self, number: int, *, of: Collection[DeploymentState]) -> Deployment:
        """Undo `pause`. Raises NotFound, Conflict if the state is not among `of`."""
        return self._set_paused(number, of, sa.false())

    def _set_paused(self, number: int, of: Collection[DeploymentState], paused: sa.ColumnElement[bool]) -> Deployment:
        legal = sa.and_(deployments.c.id == number, deployments.c.state.in_(of))
        with self._database.write() as connection:
            if connection.execute(sa.update(deployments).where(legal).values(paused=paused)).rowcount != 1:
                state = _load_deployment(connection, number).state
                allowed = ", ".join(sorted(of))
                raise Conflict(f"deployment {number} is {state}; only one that is {allowed} can be paused or resumed")
            return _load_deployment(connection, number)

    def activate(self, number: int, manifest: Manifest) -> Deployment:
        """Store the manifest with its cutover offsets and move to state backfilling, in one transaction.

        Raises NotFound, Conflict if the deployment is not being prepared.
        """
        values = {"manifest": manifest_to_json(manifest)}
        with self._database.write() as connection:
            apply_move(connection, StateMove(number, ("preparing",), "backfilling"))
            connection.execute(sa.update(deployments).where(deployments.c.id == number).values(values))
            return _load_deployment(connection, number)

    def revise(self, number: int, change: Callable[[Manifest], Manifest]) -> Deployment:
        """Replace the manifest by the result of `change` (other tables after a copy-on-write split, cutover offsets,
        materialized columns), in one transaction, so that no change undoes another. Raises NotFound."""
        with self._database.write() as connection:
            # Locked, since two concurrent changes would begin from the same manifest and one would be lost.
            before = _parse_row(_fetch_row(connection, _select_by_id(number).with_for_update(key_share=True), number))
            manifest = manifest_to_json(change(before.manifest))
            values = {"manifest": manifest, "updated_at": datetime.now(timezone.utc)}
            connection.execute(sa.update(deployments).where(deployments.c.id == number).values(values))
            return _load_deployment(connection, number)

    def _where(self, condition: sa.ColumnElement[bool]) -> tuple[Deployment, ...]:
        query = sa.select(deployments).where(condition).order_by(deployments.c.id.desc())
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return tuple(map(_parse_row, rows))


def apply_move(connection: Connection, move: StateMove, error: Mapping[str, object] | None = None) -> None:
    """Change a state inside the caller's transaction. Raises NotFound, Conflict."""
    values: dict[str, object] = {"state": move.to, "updated_at": datetime.now(timezone.utc)}
    if error is not None:
        values["error"] = dict(error)
    statement = sa.update(deployments).where(deployments.c.id == move.deployment, deployments.c.state.in_(move.of))
    if connection.execute(statement.values(values)).rowcount != 1:
        found = _load_deployment(connection, move.deployment)
        allowed = " or ".join(sorted(move.of))
        raise Conflict(f"deployment {found.id} is {found.state}; only one that is {allowed} can become {move.to}")


def _load_deployment(connection: Connection, number: int) -> Deployment:
    return _parse_row(_fetch_row(connection, _select_by_id(number), number))


def _select_by_id(number: int) -> sa.Select[Any]:
    return sa.select(deployments).where(deployments.c.id == number)


def _fetch_row(connection: Connection, query: sa.Select[Any], number: int) -> sa.Row[Any]:
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"there is no deployment {number}", hint="`penstock deployment ls` lists them")
    return row


def _parse_row(row: sa.Row[Any]) -> Deployment:
    values = dict(row._mapping)
    return Deployment(**(values | {"manifest": manifest_from_json(values["manifest"])}))
