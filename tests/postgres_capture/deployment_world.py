"""A world of deployments: an application changes its Postgres while it writes, a capture takes the rows to a store, and
phases of migrations are applied as far as they are released.

In: a capture's source and the side of a store. Out: `World`, whose steps come in any order. Invariant: in the end the
store has each table as Postgres has it, and each change once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

from hypothesis import note
from hypothesis import strategies as st

from penstock.crash_points import CAPTURE_POINTS, MIGRATION_POINTS, STORE_POINTS, Crashed, arm, disarm
from penstock.errors import Unavailable
from penstock.postgres.application.migration_work import MigrationWork
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import SourceStage, source_state
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.observed_migrations import ObservationRules, ObservedForms, observed_migrations
from penstock.postgres.migration.operation import Phase
from penstock.postgres.migration.step_recorder import record_steps
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.translation.refusal import CannotTranslate
from postgres_capture.conftest import Source
from postgres_capture.producing import RunningProducer
from waiting import wait_until

SMALL = PackageLimits(rows=3, seconds=0.01)
START = datetime(2026, 11, 22, tzinfo=timezone.utc)
numbers = itertools.count(1)
PLACE = st.integers(0, 5)
STEP = st.one_of(
    st.tuples(st.just("write"), st.lists(st.tuples(st.integers(1, 5), PLACE), min_size=1, max_size=4)),
    st.tuples(st.just("write"), st.lists(st.tuples(st.integers(1, 5), PLACE), min_size=1, max_size=4)),
    st.tuples(
        st.just("develop"),
        st.tuples(
            st.sampled_from(["add", "default", "drop", "rename", "swap", "widen", "move", "again"]), PLACE, PLACE
        ),
    ),
    st.tuples(st.just("migrate"), st.none()),
    st.tuples(st.just("apply"), st.sampled_from([*Phase])),
    st.tuples(
        st.just("crash"),
        st.tuples(st.sampled_from([*CAPTURE_POINTS, *STORE_POINTS, *MIGRATION_POINTS]), st.integers(1, 3)),
    ),
)


class StoreSide(Protocol):
    """What differs between stores."""

    name: str
    """That of the store, and of the consumer before it."""
    store: MigrationStore
    seconds: float
    """How long what is due may take at most."""

    def make(self, table: ReplicatedTable) -> None:
        """Make the table in which one of Postgres lands."""

    def destination(self) -> Destination:
        """What a capture delivers to."""

    def rows(self, table: str, columns: Sequence[str]) -> list[list[object]]:
        """The rows as they are in the end, by their ids."""

    def doubled(self, table: str) -> int:
        """How many changes are there more than once."""

    def revive(self) -> None:
        """Start again what was killed."""


class World:
    """An application with its database, a copy of it for development, and a store behind a capture."""

    def __init__(self, source: Source, side: StoreSide):
        self.source, self.name, self.side = source, f"t_{next(numbers)}", side
        source.run("CREATE TABLE {s}.{t} (id int PRIMARY KEY, a text, b text, n int)".replace("{t}", self.name))
        source.run(f"INSERT INTO {{s}}.{self.name} VALUES (1, 'a1', 'b1', 1), (2, 'a2', 'b2', NULL)")
        side.make(self.table(source.connection))
        self.development = self._develop_database()
        source.set_up(self.name)
        self.migrations: list[Migration] = []
        self.delay = timedelta(0)
        """How long what is dropped is only hidden."""
        self.statement: str | None = None
        """What is observed and Postgres does not have."""
        self.journal, self.stops = SourceJournal(source.connection), StopRecords(source.connection)
        self.journal.take_lock()
        self.stops.make()
        self.producer = self._start()

    def _develop_database(self) -> SourceConnection:
        name = f"development_{self.source.schema}_{self.name}"
        self.source.run(f"CREATE DATABASE {name}")
        opened = open_source(self.source.dsn.replace("/postgres", f"/{name}"))
        schema = self.source.schema
        opened.cursor().execute(f"CREATE SCHEMA {schema}")
        opened.cursor().execute(f"CREATE TABLE {schema}.{self.name} (id int PRIMARY KEY, a text, b text, n int)")
        return opened

    def _start(self) -> RunningProducer:
        stops = SourceStops(self.source.dsn, self.source.name, [self.side.name])
        destination = StoppingDestination(self.side.destination(), stops)
        return RunningProducer(self.source.dsn, self.source.name, destination, SMALL)

    def restart(self) -> None:
        disarm()
        self.producer.stop()
        self.producer = self._start()

    def table(self, connection: SourceConnection) -> ReplicatedTable:
        found = read_catalog(connection, [self.source.schema]).table(QualifiedName(self.source.schema, self.name))
        assert found is not None
        return found

    def step(self, kind: str, what: Any) -> None:
        match kind:
            case "write":
                self.write(what)
            case "develop" if self.statement is None:
                self.develop(*what)
            case "migrate":
                self.migrate()
            case "apply":
                self.apply(what)
            case "crash":
                if self.producer.has_ended:
                    self.restart()
                arm(*what, lambda: None)

    def write(self, rows: Sequence[tuple[int, int]]) -> None:
        """One transaction: rows get a value in one column, are made, moved or deleted."""
        columns = self.table(self.source.connection).columns[1:]
        texts = {"text": "'v{}'", "integer": "{}", "bigint": "{}"}
        self.source.run("BEGIN")
        for id, at in rows:
            values = {each.name: texts[each.type.name].format(next(numbers)) for each in columns}
            if at == 0:
                self.source.run(f"DELETE FROM {{s}}.{self.name} WHERE id = {id}")
            elif at == 1:
                free = f"NOT EXISTS (SELECT FROM {{s}}.{self.name} WHERE id = {id} + 1)"
                self.source.run(f"UPDATE {{s}}.{self.name} SET id = id + 1 WHERE id = {id} AND {free}")
            elif at == 2 and columns:
                name = columns[id % len(columns)].name
                self.source.run(f"UPDATE {{s}}.{self.name} SET {name} = {values[name]} WHERE id = {id}")
            else:
                names, shown = ", ".join(["id", *values]), ", ".join([str(id), *values.values()])
                insert = f"INSERT INTO {{s}}.{self.name} ({names}) VALUES ({shown}) ON CONFLICT (id) DO NOTHING"
                self.source.run(insert)
        self.source.run("COMMIT")

    def develop(self, kind: str, one: int, other: int) -> None:
        columns = self.table(self.development).columns[1:]
        table = f"ALTER TABLE {self.source.schema}.{self.name}"
        names = [each.name for each in columns]
        first, last = (names[one % len(names)], names[other % len(names)]) if names else ("", "")
        rename = f"{table} RENAME"
        statements = {
            "add": f"{table} ADD c{next(numbers)} text",
            "default": f"{table} ADD c{next(numbers)} int NOT NULL DEFAULT 7",
            "drop": f"{table} DROP {first}",
            "rename": f"{rename} {first} TO c{next(numbers)}",
            "swap": f"{rename} {first} TO x; {rename} {last} TO {first}; {rename} x TO {last}",
            "widen": f"{table} ALTER {first} TYPE bigint",
            "move": f"{table} DROP {first}; {rename} {last} TO {first}",
            "again": f"{table} DROP {first}; {table} ADD {first} text",
        }
        fits = bool(names) and (kind not in ("swap", "move") or first != last)
        if kind == "widen":
            fits = fits and columns[one % len(names)].type.name == "integer"
        if fits or kind in ("add", "default"):
            self.observe(statements[kind])

    def observe(self, statement: str) -> None:
        """Change the copy for development, and write its migrations."""
        schemas = [self.source.schema]
        before = read_catalog(self.development, schemas)
        with record_steps(self.development) as recorder:
            self.development.cursor().execute(statement)
            forms = ObservedForms(before, recorder.forms(), read_catalog(self.development, schemas))
        found = observed_migrations(forms, ObservationRules(START + timedelta(seconds=next(numbers))))
        assert (found.unclear, len(found.migrations) > 0) == ((), True)
        self.migrations += found.migrations
        self.statement = statement

    def work(self) -> MigrationWork:
        catalog = read_catalog(self.source.connection, [self.source.schema])
        state = source_state(catalog, MigrationHistory(tuple(self.migrations)), self.journal.memory())
        now = lambda: datetime.now(timezone.utc)  # noqa: E731
        return MigrationWork(self.migrations, state, self.journal, self.stops, self.delay, now)

    def migrate(self) -> None:
        """What the application does behind the gate."""
        if self.statement is None or self.work().missing([self.side.store]):
            return
        self.source.run(f"BEGIN; {self.statement}; COMMIT")
        self.statement = None
        assert {*self.work().state.stages.values()} == {SourceStage.after}

    def apply(self, phase: Phase) -> list[str | None]:
        """What each migration waits for."""
        try:
            return [each.waits_for for each in self.work().apply([self.side.store], phase)]
        except Crashed:
            self.restart()
            return ["the next try"]
        except CannotTranslate as error:
            return [error.message]
        except Unavailable as error:
            self.side.revive()
            return [error.message]

    def is_over(self) -> bool:
        """Whether all of it is carried out everywhere; what is due is done."""
        for phase in Phase:
            self.apply(phase)
            self.migrate()
        states = self.work().states([self.side.store])
        return self.statement is None and all(each.state in ("confirmed", "hidden") for each in states)

    def settle(self, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Wait until all of it is carried out everywhere."""

        def is_settled() -> bool:
            meanwhile()
            self.side.revive()
            if self.producer.has_ended:
                self.restart()
            return self.is_over()

        states = lambda: self.work().states([self.side.store])  # noqa: E731
        wait_until(is_settled, self.side.seconds, lambda: f"{states()} {[*map(self.apply, Phase)]}")

    def check(self) -> None:
        self.restart()
        self.settle()
        self.source.wait_until_stored(self.side.name)
        self.producer.stop()
        names = [each.name for each in self.table(self.source.connection).columns]
        shown = ", ".join(names)
        expected = [list(row) for row in self.source.rows(f"SELECT {shown} FROM {{s}}.{self.name} ORDER BY id")]
        found = lambda: self.side.rows(self.name, names)  # noqa: E731
        wait_until(lambda: found() == expected, self.side.seconds, lambda: f"{found()} {expected}")
        assert self.side.doubled(self.name) == 0

    def close(self) -> None:
        disarm()
        self.producer.stop()
        self.source.remove(self.name)
        self.development.close()


def run_steps(world: World, steps: Sequence[tuple[str, Any]]) -> None:
    try:
        for kind, what in steps:
            note(f"{kind}: {what}")
            world.step(kind, what)
        world.check()
    finally:
        world.close()
