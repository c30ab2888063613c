"""The calls of a client to one version: deploy, promote, roll back, promote, retire; and the check of every table.

In: a life of the server, and what the client did in the life before. Out: calls, and `check`, which compares every
table. A body counts as kept once its call was answered; one without an answer is posted again under the same key
before anything else is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from pyiceberg.partitioning import PartitionField

from chaos.expected_rows import Body, Kind, events, per_user, rejected, total
from chaos.project_versions import KEYED, V2, V3
from chaos.server_life import Life
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.lifecycle.states import OVER
from penstock.lake.tables import physical_tables
from penstock.model.deployment import Deployment

Outcome = Literal["resume", "discard", "rollback"]
Way = Literal["promote", "discard"]
WAYS: tuple[Way, ...] = ("promote", "discard")
"""To live and back and to live again, or given up when it is ready."""
OUTCOMES: tuple[Outcome, ...] = ("resume", "discard", "rollback")
FILES: dict[Kind, dict[str, str]] = {"copied": V2, "bridged": V3, "keyed": KEYED}
LONGEST = 60.0


@dataclass
class Client:
    """What outlives a server: the version to go to, and the bodies that were posted."""

    kind: Kind
    kept: list[Body] = field(default_factory=list)
    pending: Body | None = None

    def copy(self) -> Client:
        return Client(self.kind, list(self.kept), self.pending)


class Walk:
    """The client's calls to one life of the server."""

    def __init__(self, life: Life, client: Client):
        self.life, self.client = life, client
        self.pipeline = life.open()
        if client.pending is not None:
            self._send(client.pending)

    def whole(self) -> None:
        """From the first version to the second one alone. Raises Died."""
        self.post(placed=None)
        self.deploy()
        self.post(placed=None)
        self.post(placed=None)
        self.until("ready")
        self.news()
        self.life.call(lambda: self.pipeline.deployer.promote(None))
        self.news()
        self.life.call(self.pipeline.deployer.rollback)
        self.news()
        self.life.call(lambda: self.pipeline.deployer.promote(None))
        self.news()
        self._settled()
        self.life.call(lambda: self.pipeline.deployer.retire(None))
        self.news()

    def until_ready(self) -> None:
        """The first part of both paths alone. Raises Died."""
        self.deploy()
        self.post(placed=None)
        self.until("ready")
        self.news()

    def given_up(self) -> None:
        """The rest of the path to a discard. Raises Died."""
        self.life.call(lambda: self.pipeline.deployer.discard("2"))
        self.news()

    def afterwards(self, outcome: Outcome) -> bool:
        """What the client does when the server is back. Returns whether there was something to do."""
        found = self.candidate()
        match outcome:
            case "resume":
                if found is not None and found.state == "discarded":
                    return False
                self._resume(found)
            case "discard":
                if found is None or found.state in ("live", "retired"):
                    return False
                if found.state != "discarded":  # else what is left of it is taken back by the server
                    self.life.call(lambda: self.pipeline.deployer.discard(str(found.id)))
            case "rollback":
                if found is None or found.state != "live" or not self._previous():
                    return False
                self.life.call(self.pipeline.deployer.rollback)
        self.news()
        return True

    def candidate(self) -> Deployment | None:
        """The second version's deployment, if it was made."""
        return next((each for each in self.life.call(self.pipeline.store.deployments.list) if each.id > 1), None)

    def post(self, odd: bool = False, placed: bool | None = False) -> None:
        number = len(self.client.kept)
        self._send(Body(number, odd, placed))

    def complete(self) -> None:
        """Wait until every running version has every row."""
        self.wait(lambda: not any(each["behind"] for each in self._deployments()), "all rows are everywhere")

    def _send(self, body: Body) -> None:
        self.client.pending = body
        lines = "\n".join(map(json.dumps, body.rows)).encode()
        self.life.call(lambda: self.pipeline.ingestion.append("events", lines, f"body {body.number}"))
        self.client.kept.append(body)
        self.client.pending = None

    def news(self) -> None:
        """Rows that show which version has seen them."""
        found = self.candidate()
        second = found is not None and found.state in ("ready", "live")
        self.post(odd=second and self.client.kind != "keyed", placed=second)

    def deploy(self) -> None:
        files = FILES[self.client.kind]
        self.life.call(lambda: self.pipeline.deployer.deploy(files, DeployOptions(promote=False)))

    def _resume(self, found: Deployment | None) -> None:
        if found is None:
            self.deploy()
        self.until("ready", "live")
        found = self.candidate()
        if found is not None and found.state == "ready":
            self.life.call(lambda: self.pipeline.deployer.promote(str(found.id)))

    def until(self, *states: str) -> None:
        def there() -> bool:
            found = self.candidate()
            assert found is not None
            assert found.state not in ("failed", "discarded"), found.error
            return found.state in states

        self.wait(there, f"the deployment is {' or '.join(states)}")

    def _settled(self) -> None:
        def done() -> bool:
            return all(each["settled"] == 1.0 for one in self._deployments() for each in one["tables"].values())

        self.wait(done, "columns are settled")

    def _previous(self) -> bool:
        return any(each.state == "previous" for each in self.life.call(self.pipeline.store.deployments.list))

    def _deployments(self) -> list[dict]:
        return list(self.life.call(self.pipeline.status)["deployments"])  # type: ignore[call-overload]

    def wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LONGEST
        while not done():
            status = f"never: {what}; {self.pipeline.status()}" if time.monotonic() > deadline else ""
            assert not status, status
            time.sleep(0.02)


def check(walk: Walk) -> None:
    """Every table of every version that can be read, and the records."""
    walk.complete()
    deployments = walk.pipeline.store.deployments
    found = walk.life.call(lambda: tuple(deployments.get(record.id) for record in deployments.list()))
    for deployment in found:
        if deployment.state in ("ready", "live", "previous"):
            _check_version(walk, deployment.id, kind_of(deployment))
    _check_records(walk, found)


def kind_of(deployment: Deployment) -> Kind:
    """By the files it was made of."""
    return next((kind for kind, files in FILES.items() if deployment.files == files), "first")


def _check_version(walk: Walk, id: int, kind: Kind) -> None:
    def ask(sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in walk.life.call(lambda: walk.pipeline.reader.sql(sql, str(id))).rows]

    kept = walk.client.kept
    assert ask("SELECT id, user, size FROM events ORDER BY id") == events(kept, kind), (id, "events")
    last = ", maxMerge(last)" if kind == "bridged" else ""
    users = f"SELECT user, countMerge(events), sumMerge(ids){last} FROM per_user GROUP BY user ORDER BY user"
    assert ask(users) == per_user(kept, kind), (id, "per_user")
    assert ask("SELECT countMerge(events) FROM total") == total(kept, kind), (id, "total")
    raw = [json.loads(str(row[0])) for row in ask("SELECT raw FROM events_quarantine")]
    assert sorted(str(row["id"]) for row in raw) == rejected(kept, kind), (id, "quarantine")
    if kind == "bridged":
        assert ask("SELECT id, user, size FROM events_0_1 ORDER BY id") == events(kept, kind), (id, "events_0_1")
    if kind == "keyed":
        _check_places(kept, ask("SELECT id, place FROM events ORDER BY id"))


def _check_places(kept: list[Body], found: list[tuple[object, ...]]) -> None:
    """A place is there from the moment on at which a version that has it saw the row."""
    places = {row[0]: row[1] for row in found}
    for body in kept:
        given = [places[row["id"]] == row["place"] for row in body.rows if row["id"] in places]
        missing = [places[row["id"]] is None for row in body.rows if row["id"] in places]
        assert (all(given) and body.placed is not False) or (all(missing) and body.placed is not True), body


def _check_records(walk: Walk, found: tuple[Deployment, ...]) -> None:
    core = walk.pipeline.core

    def intended() -> list[tuple[int, int]]:
        entries = [(each.id, entry) for each in found for entry in core.store.journal.entries(each.id)]
        return [(id, entry.ordinal) for id, entry in entries if entry.mark == "intended"]

    walk.wait(lambda: not intended(), f"no step is left as intended: {intended()}")
    kept = [each for each in found if each.state not in OVER]
    named = {table.id for each in kept for table in each.manifest.tables}
    # What is over is dropped once nobody reads it any more.
    walk.wait(lambda: set(physical_tables.list_tables(core.warehouse.lake)) == named, f"the tables are {sorted(named)}")


def _partitions(part: PartitionField) -> bool:
    """Iceberg keeps a partition field that was dropped as a void one in tables of format 1."""
    return str(part.transform) != "void"


def layout(walk: Walk) -> dict[str, tuple[object, ...]]:
    """Of each table of the first version: its columns, the newest sorting and partition key."""
    core = walk.pipeline.core
    first = core.store.deployments.get(1)
    found = {table.id: physical_tables.load_table(core.warehouse.lake, table.id) for table in first.manifest.tables}
    return {
        id: (
            sorted(column.name for column in table.schema().fields),
            [table.schema().find_column_name(each.source_id) for each in table.sort_order().fields],
            [table.schema().find_column_name(each.source_id) for each in table.spec().fields if _partitions(each)],
        )
        for id, table in found.items()
        if table is not None
    }
