"""Whole deployments in any legal order while rows are written and captured: a migration is observed, its phases are
applied as far as they are released, Postgres changes when the gate is open, and the producer, a delivery or a run of
`apply` dies anywhere. In the end ClickHouse has each table as Postgres has it, and each change once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from clickhouse_session import ClickHouseSession
from penstock.crash_points import CAPTURE_POINTS, MIGRATION_POINTS, STORE_POINTS, Crashed, arm, disarm
from penstock.model.settings import StoreSettings
from penstock.postgres.application.migration_work import MigrationWork
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import SourceStage, source_state
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.source_stops import SourceStops
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.delivery.clickhouse_landing import ClickHouseLanding, clickhouse_table
from penstock.postgres.delivery.stopping_destination import StoppingDestination
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.observed_migrations import ObservationRules, ObservedForms, observed_migrations
from penstock.postgres.migration.operation import Phase
from penstock.postgres.migration.step_recorder import record_steps
from penstock.postgres.packages.package_builder import PackageLimits
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.refusal import CannotTranslate
from postgres_capture.conftest import Source
from postgres_capture.producing import RunningProducer
from waiting import wait_until

pytest.importorskip("chdb")
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


class World:
    """An application with its database, a copy of it for development, and ClickHouse behind a capture."""

    def __init__(self, source: Source):
        self.source, self.name = source, f"t_{next(numbers)}"
        self.session = ClickHouseSession()
        source.run("CREATE TABLE {s}.{t} (id int PRIMARY KEY, a text, b text, n int)".replace("{t}", self.name))
        source.run(f"INSERT INTO {{s}}.{self.name} VALUES (1, 'a1', 'b1', 1), (2, 'a2', 'b2', NULL)")
        table = self.table(source.connection)
        self.session.run(clickhouse_table(table, ("id",), self.name, self.session.database))
        self.development = self._develop_database()
        source.set_up(self.name)
        self.migrations: list[Migration] = []
        self.statement: str | None = None
        """What is observed and Postgres does not have."""
        self.journal, self.stops = SourceJournal(source.connection), StopRecords(source.connection)
        self.journal.take_lock()
        self.stops.make()
        server = StoreSettings("clickhouse", database=self.session.database)
        self.store = ClickHouseStore("warehouse", server, self.session, lambda _: ViewChoices())
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
        landing = ClickHouseLanding(self.session, self.session.database, "warehouse")
        stops = SourceStops(self.source.dsn, self.source.name, ["warehouse"])
        return RunningProducer(self.source.dsn, self.source.name, StoppingDestination(landing, stops), SMALL)

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
            self._observe(statements[kind])

    def _observe(self, statement: str) -> None:
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
        state = source_state(catalog, MigrationHistory(tuple(self.migrations)))
        now = lambda: datetime.now(timezone.utc)  # noqa: E731
        return MigrationWork(self.migrations, state, self.journal, self.stops, timedelta(0), now)

    def migrate(self) -> None:
        """What the application does behind the gate."""
        if self.statement is None or self.work().missing([self.store]):
            return
        self.source.run(f"BEGIN; {self.statement}; COMMIT")
        self.statement = None
        assert {*self.work().state.stages.values()} == {SourceStage.after}

    def apply(self, phase: Phase) -> list[str | None]:
        """What each migration waits for."""
        try:
            return [each.waits_for for each in self.work().apply([self.store], phase)]
        except Crashed:
            self.restart()
            return ["the next try"]
        except CannotTranslate as error:
            return [error.message]

    def is_over(self) -> bool:
        """Whether all of it is carried out everywhere; what is due is done."""
        for phase in Phase:
            self.apply(phase)
            self.migrate()
        states = self.work().states([self.store])
        return self.statement is None and all(each.state == "confirmed" for each in states)

    def check(self) -> None:
        self.restart()
        wait_until(self.is_over, 60, lambda: f"{self.work().states([self.store])} {[*map(self.apply, Phase)]}")
        self.source.wait_until_stored("warehouse")
        self.producer.stop()
        names = [each.name for each in self.table(self.source.connection).columns]
        shown = ", ".join(names)
        expected = [list(row) for row in self.source.rows(f"SELECT {shown} FROM {{s}}.{self.name} ORDER BY id")]
        table = f"{self.session.database}.{self.name}"
        integers = "SETTINGS output_format_json_quote_64bit_integers = 0"
        found = [list(row) for row in self.session.rows(f"SELECT {shown} FROM {table} FINAL ORDER BY id {integers}")]
        assert found == expected
        doubled = f"SELECT count() - uniqExact(cdc_source, cdc_position) FROM {table}"
        assert [int(str(each)) for (each,) in self.session.rows(doubled)] == [0]

    def close(self) -> None:
        disarm()
        self.producer.stop()
        self.source.remove(self.name)
        self.development.close()


RELAXED = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@RELAXED
@given(steps=st.lists(STEP, min_size=6, max_size=24))
def test_clickhouse_ends_as_postgres_is(source: Source, steps: list[tuple[str, Any]]) -> None:
    world = World(source)
    try:
        for kind, what in steps:
            note(f"{kind}: {what}")
            world.step(kind, what)
        world.check()
    finally:
        world.close()


@pytest.mark.parametrize("kind", ["move", "again"])
def test_a_column_takes_the_name_of_one_that_is_dropped_in_the_same_command(source: Source, kind: str) -> None:
    """The one that is dropped goes first, and what was written under its name since does not go with it."""
    world = World(source)
    try:
        world.develop(kind, 0, 1)
        world.write([(3, 3)])
        world.apply(Phase.pre)
        world.migrate()
        assert world.statement is None, "the gate is open"
        world.write([(4, 3), (1, 2)])
        world.check()
        world.develop("drop", 0, 0)  # rows have a form again that they had before
        world.migrate()
        world.write([(5, 3)])
        world.check()
    finally:
        world.close()
