"""The deployments: every version of the project, with its plan, manifest and state.

In: a plan with its manifest, and changes of state. Out: `Deployment` values; for lists, `DeploymentRecord`s. Invariant:
a state changes only if the current one is among those that the caller expects; otherwise nothing is written. A manifest
is read and decoded once for each of its revisions: the cost of a call does not grow with the number of deployments.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from penstock.errors import Conflict, NotFound
from penstock.model.deployment import RUNNING, Deployment, DeploymentRecord, DeploymentState
from penstock.model.manifest import Manifest
from penstock.state.database import Database
from penstock.state.manifest_codec import manifest_from_json, manifest_to_json
from penstock.state.schema import deployments, forgotten_tables, journal
from penstock.state.transactions.locks import take_named_lock

MOST_LISTED = 1_000
"""The most deployments that a list has: the newest ones."""
MOST_CACHED = 16
"""Revisions of deployments whose contents are kept in memory: those that run, and a few more."""
_RECORD_COLUMNS = tuple(
    deployments.c[name]
    for name in (
        *("id", "name", "state", "base", "created_at", "updated_at", "error", "paused"),
        *("rows_moved", "bytes_moved"),
    )
)


@dataclass(frozen=True, slots=True)
class StateMove:
    """A change of a deployment's state."""

    deployment: int
    of: tuple[DeploymentState, ...]
    """The states from which the change is allowed."""
    to: DeploymentState
    """The new state."""


@dataclass(frozen=True, slots=True)
class _Contents:
    """The large parts of a deployment."""

    files: Mapping[str, str]
    plan: Mapping[str, object]
    manifest: Manifest


class Deployments:
    """The table of deployments. Thread-safe."""

    def __init__(self, database: Database):
        self._database = database
        self._cached: dict[tuple[int, int], _Contents] = {}
        self._guard = threading.Lock()

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
            "rows_moved": plan.get("rows_moved"),
            "bytes_moved": plan.get("bytes_moved"),
        }
        with self._database.write() as connection:
            row = connection.execute(sa.insert(deployments).values(values).returning(deployments.c.id)).one()
            entries = [{"deployment": row.id, "ordinal": ordinal, "step": step} for ordinal, step in enumerate(steps)]
            if entries:
                connection.execute(sa.insert(journal), entries)
            return _load_deployment(connection, row.id)

    def get(self, number: int) -> Deployment:
        """The deployment of this number. Raises NotFound."""
        found = self._where(deployments.c.id == number)
        if not found:
            raise _not_found(number)
        return found[0]

    def record(self, number: int) -> DeploymentRecord:
        """The deployment of this number without its contents. Raises NotFound."""
        found = self._records(deployments.c.id == number, 1)
        if not found:
            raise _not_found(number)
        return found[0]

    def list(self, limit: int = MOST_LISTED) -> tuple[DeploymentRecord, ...]:
        """The latest deployments, newest first."""
        return self._records(sa.true(), limit)

    def newest(self) -> int:
        """The number of the newest deployment, 0 if there is none."""
        with self._database.read() as connection:
            return int(connection.execute(sa.select(sa.func.max(deployments.c.id))).scalar_one() or 0)

    def find_by_name(self, name: str) -> DeploymentRecord | None:
        """The newest deployment of this name."""
        return next(iter(self._records(deployments.c.name == name, 1)), None)

    def records_in_state(self, state: DeploymentState) -> tuple[DeploymentRecord, ...]:
        """The deployments in a state without their contents, newest first."""
        return self._records(deployments.c.state == state, MOST_LISTED)

    def newest_in_state(self, state: DeploymentState) -> DeploymentRecord | None:
        """The newest deployment in a state."""
        return next(iter(self._records(deployments.c.state == state, 1)), None)

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
        values = {"manifest": manifest_to_json(manifest), "revision": deployments.c.revision + 1}
        with self._database.write() as connection:
            apply_move(connection, StateMove(number, ("preparing",), "backfilling"))
            connection.execute(sa.update(deployments).where(deployments.c.id == number).values(values))
            return _load_deployment(connection, number)

    def revise(self, number: int, change: Callable[[Manifest], Manifest]) -> Deployment:
        """Replace the manifest by the result of `change` (other tables after a copy-on-write split, cutover offsets,
        materialized columns), in one transaction, so that no change undoes another. Raises NotFound."""
        with self._database.write() as connection:
            # Locked, since two concurrent changes would begin from the same manifest and one would be lost.
            before = connection.execute(_select_contents(number).with_for_update(key_share=True)).one_or_none()
            if before is None:
                raise _not_found(number)
            values = {
                "manifest": manifest_to_json(change(manifest_from_json(before.manifest))),
                "revision": before.revision + 1,
                "updated_at": datetime.now(timezone.utc),
            }
            connection.execute(sa.update(deployments).where(deployments.c.id == number).values(values))
            return _load_deployment(connection, number)

    def unswept(self) -> tuple[Deployment, ...]:
        """The deployments of which something may be left in the lake, as of one moment, newest first."""
        return self._where(sa.not_(deployments.c.swept))

    def mark_swept(self, numbers: Collection[int]) -> None:
        """Record that nothing is left of these deployments but their records: what they made was dropped, or belongs
        to others too. A step that begins later takes the mark back (`Journal.mark`)."""
        if numbers:
            with self._database.write() as connection:
                connection.execute(sa.update(deployments).where(deployments.c.id.in_(numbers)).values(swept=True))

    def remove_swept(self, before: datetime, most: int) -> int:
        """Remove up to `most` of the swept deployments that changed last before a time, with their journals. Returns
        how many. The newest deployment stays, since the next number follows it, and so does one that a deployment which
        is not swept was planned against."""
        bases = sa.select(deployments.c.base).where(sa.not_(deployments.c.swept), deployments.c.base.is_not(None))
        newest = sa.select(sa.func.max(deployments.c.id)).scalar_subquery()
        old = sa.and_(deployments.c.swept, deployments.c.updated_at < before, deployments.c.id != newest)
        query = sa.select(deployments.c.id).where(old, deployments.c.id.not_in(bases)).order_by(deployments.c.id)
        with self._database.read() as connection:
            if not (numbers := connection.execute(query.limit(most)).scalars().all()):
                return 0
            manifests = sa.select(deployments.c.manifest).where(deployments.c.id.in_(numbers))
            tables = {id for text in connection.execute(manifests).scalars() for id in _table_ids(text)}
        values = [{"id": id, "forgotten_at": datetime.now(timezone.utc)} for id in sorted(tables)]
        with self._database.write() as connection:
            take_named_lock(connection, forgotten_tables.name)
            for row in values:
                connection.execute(sa.delete(forgotten_tables).where(forgotten_tables.c.id == row["id"]))
            if values:
                connection.execute(sa.insert(forgotten_tables), values)
            connection.execute(sa.delete(journal).where(journal.c.deployment.in_(numbers)))
            connection.execute(sa.delete(deployments).where(deployments.c.id.in_(numbers)))
        return len(numbers)

    def table_ids(self) -> frozenset[str]:
        """The physical tables that any deployment names, also one that has ended, or was forgotten lately. Reads every
        manifest, one after the other, but decodes none."""
        query = sa.select(deployments.c.manifest).execution_options(yield_per=1)
        with self._database.read() as connection:
            found = set(connection.execute(sa.select(forgotten_tables.c.id)).scalars())
            for text in connection.execute(query).scalars():
                found.update(_table_ids(text))
        return frozenset(found)

    def forget_tables(self, before: datetime) -> None:
        """Forget the names of tables whose deployments were removed before a time."""
        old = forgotten_tables.c.forgotten_at < before
        with self._database.read() as connection:
            if connection.execute(sa.select(forgotten_tables.c.id).where(old).limit(1)).one_or_none() is None:
                return
        with self._database.write() as connection:
            connection.execute(sa.delete(forgotten_tables).where(old))

    def _records(self, condition: sa.ColumnElement[bool], limit: int) -> tuple[DeploymentRecord, ...]:
        query = sa.select(*_RECORD_COLUMNS).where(condition).order_by(deployments.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return tuple(DeploymentRecord(*row) for row in connection.execute(query))

    def _where(self, *conditions: sa.ColumnElement[bool]) -> tuple[Deployment, ...]:
        """The deployments that meet the conditions, newest first. Contents that are cached are not read again."""
        small = [column for column in _RECORD_COLUMNS if column.name not in ("rows_moved", "bytes_moved")]
        query = sa.select(*small, deployments.c.revision).where(*conditions).order_by(deployments.c.id.desc())
        with self._database.read() as connection:
            rows = [dict(row) for row in connection.execute(query).mappings()]
            contents = [self._contents(connection, row["id"], row.pop("revision")) for row in rows]
        # One that was removed in between is left out.
        return tuple(_assemble(row, each) for row, each in zip(rows, contents, strict=True) if each is not None)

    def _contents(self, connection: Connection, number: int, revision: int) -> _Contents | None:
        with self._guard:
            known = self._cached.pop((number, revision), None)
            if known is not None:
                self._cached[number, revision] = known
                return known
        found = connection.execute(_select_contents(number)).one_or_none()
        if found is None:
            return None
        contents = _parse_contents(found)
        with self._guard:
            self._cached[number, found.revision] = contents
            while len(self._cached) > MOST_CACHED:
                self._cached.pop(next(iter(self._cached)))
        return contents


def apply_move(connection: Connection, move: StateMove, error: Mapping[str, object] | None = None) -> None:
    """Change a state inside the caller's transaction. Raises NotFound, Conflict."""
    values: dict[str, object] = {"state": move.to, "updated_at": datetime.now(timezone.utc)}
    if error is not None:
        values["error"] = dict(error)
    statement = sa.update(deployments).where(deployments.c.id == move.deployment, deployments.c.state.in_(move.of))
    if connection.execute(statement.values(values)).rowcount != 1:
        query = sa.select(deployments.c.state).where(deployments.c.id == move.deployment)
        state = connection.execute(query).scalar_one_or_none()
        if state is None:
            raise _not_found(move.deployment)
        allowed = " or ".join(sorted(move.of))
        raise Conflict(f"deployment {move.deployment} is {state}; only one that is {allowed} can become {move.to}")


def _load_deployment(connection: Connection, number: int) -> Deployment:
    """A deployment as the transaction of the caller sees it: not cached, since that transaction may be undone."""
    query = sa.select(deployments).where(deployments.c.id == number)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise _not_found(number)
    small = {column.name: getattr(row, column.name) for column in _RECORD_COLUMNS}
    return _assemble(
        {name: value for name, value in small.items() if not name.endswith("_moved")}, _parse_contents(row)
    )


def _table_ids(manifest: str) -> list[str]:
    """The physical tables that a manifest names, without decoding the rest of it."""
    return [table["id"] for table in orjson.loads(manifest).get("tables", ())]


def _not_found(number: int) -> NotFound:
    return NotFound(f"there is no deployment {number}", hint="`penstock deployment ls` lists them")


def _select_contents(number: int) -> sa.Select[Any]:
    columns = [deployments.c[name] for name in ("files", "plan", "manifest", "revision")]
    return sa.select(*columns).where(deployments.c.id == number)


def _parse_contents(row: sa.Row[Any]) -> _Contents:
    return _Contents(row.files, row.plan, manifest_from_json(row.manifest))


def _assemble(values: Mapping[str, Any], contents: _Contents) -> Deployment:
    return Deployment(**values, files=contents.files, plan=contents.plan, manifest=contents.manifest)
