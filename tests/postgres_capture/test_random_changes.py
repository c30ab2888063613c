"""Random changes of rows and tables, with a producer that dies anywhere: at the end the store is as Postgres is.

Every step is drawn by hypothesis: what is changed, when the schema changes, at which point of its work the producer
dies. Each change of the stream is to be in the landing once.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from penstock.crash_points import CAPTURE_POINTS, arm, disarm
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.landing_server import OWN, InboxPipeline
from postgres_capture.producing import RunningProducer
from waiting import wait_until

SMALL = PackageLimits(rows=3, bytes=3_000, seconds=0.01)
EVERY_COLUMN = frozenset({"id", "name", "large", *OWN, *(f"extra_{number}" for number in range(40))})
IDS = st.integers(1, 6)
ROW = st.one_of(
    st.tuples(st.just("insert"), IDS, st.sampled_from(["a", "b", "it's", "", "\\N\t\n"])),
    st.tuples(st.just("update"), IDS, st.sampled_from(["c", "d", None])),
    st.tuples(st.just("move"), IDS, IDS),
    st.tuples(st.just("delete"), IDS, st.none()),
    st.tuples(st.just("grow"), IDS, st.integers(1, 3)),
    st.tuples(st.just("fill"), IDS, st.integers(0, 9)),
)
SCHEMA = ("add", "add default", "retype", "drop", "rename", "truncate", "full", "exchange", "take", "again")
STEP = st.one_of(
    st.tuples(st.just("transaction"), st.lists(ROW, min_size=1, max_size=6)),
    st.tuples(st.just("undone"), st.lists(ROW, min_size=1, max_size=3)),
    st.tuples(st.just("crash"), st.tuples(st.sampled_from(CAPTURE_POINTS), st.integers(1, 4))),
    st.tuples(st.just("schema"), st.sampled_from(SCHEMA)),
)


class World:
    """A table, a producer and the landing."""

    def __init__(self, source: Source, landing: tuple[InboxPipeline, str, str], *, has_trigger: bool = True):
        self.source, self.pipeline, self.address = source, landing[0], landing[1:]
        self.name = f"t_{len(self.pipeline.columns)}"
        self.extra: list[str] = []
        self.made = 0
        source.run(f"CREATE TABLE {{s}}.{self.name} (id int PRIMARY KEY, name text, large text)")
        source.run(f"ALTER TABLE {{s}}.{self.name} ALTER large SET STORAGE EXTERNAL")
        source.run(f"INSERT INTO {{s}}.{self.name} VALUES (1, 'first', repeat('l', 3000)), (2, 'second', NULL)")
        self.pipeline.columns[self.name] = EVERY_COLUMN
        source.set_up(self.name)
        for each in ("penstock_tables", "penstock_drops"):
            source.run(f"ALTER EVENT TRIGGER {each} {'ENABLE' if has_trigger else 'DISABLE'}")
        self.producer = self._start()

    def _start(self) -> RunningProducer:
        destination = PenstockLanding(*self.address)
        return RunningProducer(self.source.dsn, self.source.name, destination, SMALL)

    def step(self, kind: str, what: Any) -> None:
        match kind:
            case "transaction" | "undone":
                self._transaction(what, ends="COMMIT" if kind == "transaction" else "ROLLBACK")
            case "crash":
                if self.producer.has_ended:
                    self._restart()
                arm(*what, lambda: None)
            case "schema":
                self._change_schema(what)

    def _transaction(self, rows: list[tuple[str, int, Any]], ends: str) -> None:
        self.source.run("BEGIN")
        for operation, id, value in rows:
            self.source.connection.cursor().execute(*self._statement(operation, id, value))
        self.source.run(ends)

    def _statement(self, operation: str, id: int, value: Any) -> tuple[str, tuple[object, ...]]:
        table = f"{self.source.schema}.{self.name}"
        match operation:
            case "insert":
                large = "l" * 3000 if id % 2 else None
                text = f"INSERT INTO {table} (id, name, large) VALUES (%s, %s, %s) ON CONFLICT (id) DO NOTHING"
                return text, (id, value, large)
            case "update":
                return f"UPDATE {table} SET name = %s WHERE id = %s", (value, id)
            case "move":
                there = f"NOT EXISTS (SELECT 1 FROM {table} o WHERE o.id = %s)"
                return f"UPDATE {table} SET id = %s WHERE id = %s AND {there}", (value, id, value)
            case "grow":
                return f"UPDATE {table} SET large = repeat('g', 2500 * %s) WHERE id = %s", (value, id)
            case "fill" if self.extra:
                return f"UPDATE {table} SET {self.extra[value % len(self.extra)]} = %s WHERE id = %s", (value, id)
            case "delete":
                return f"DELETE FROM {table} WHERE id = %s", (id,)
            case _:
                return "SELECT 1", ()

    def _change_schema(self, what: str) -> None:
        table = f"{{s}}.{self.name}"
        match what:
            case "add" | "add default":
                self.extra.append(f"extra_{self.made}")
                self.made += 1
                default = " DEFAULT 7" if what == "add default" else ""
                self.source.run(f"ALTER TABLE {table} ADD COLUMN {self.extra[-1]} int{default}")
                if default:  # old rows get the value in the stores by the migration: here they are written
                    self.source.run(f"UPDATE {table} SET id = id")
            case "retype" if self.extra:
                self.source.run(f"ALTER TABLE {table} ALTER {self.extra[0]} TYPE text USING {self.extra[0]} || 'x'")
            case "drop" if self.extra:
                self.source.run(f"ALTER TABLE {table} DROP COLUMN {self.extra.pop()}")
            case "rename" if self.extra:
                self.source.run(f"ALTER TABLE {table} RENAME {self.extra[-1]} TO extra_{self.made}")
                self.extra[-1] = f"extra_{self.made}"
                self.made += 1
            case "exchange" if len(self.extra) > 1:
                first, last = self.extra[0], self.extra[-1]
                for was, now in ((first, "between"), (last, first), ("between", last)):
                    self.source.run(f"ALTER TABLE {table} RENAME {was} TO {now}")
            case "take" if len(self.extra) > 1:
                gone = self.extra.pop(0)
                self.source.run(
                    f"ALTER TABLE {table} DROP {gone}; ALTER TABLE {table} RENAME {self.extra[0]} TO {gone}"
                )
                self.extra[0] = gone
            case "again" if self.extra:
                name = self.extra[0]
                self.source.run(f"ALTER TABLE {table} DROP {name}; ALTER TABLE {table} ADD {name} int")
            case "truncate":
                self.source.run(f"TRUNCATE {table}")
            case "full":
                self.source.run(f"ALTER TABLE {table} REPLICA IDENTITY FULL")

    def _restart(self) -> None:
        disarm()
        self.producer.stop()
        self.producer = self._start()

    def check(self) -> None:
        """Wait until all is stored, and compare."""
        self._restart()
        self.source.wait_until_stored()
        self.producer.stop()
        columns = ["id", "name", "large", *self.extra]
        there = self.source.rows(f"SELECT {', '.join(columns)} FROM {{s}}.{self.name}")
        expected = {(row[0],): dict(zip(columns, row, strict=True)) for row in there}
        found = self.pipeline.final(self.name, ("id",))
        shown = {key: {column: row.get(column) for column in columns} for key, row in found.items()}
        assert shown == expected
        streamed = Counter(
            (row["cdc_commit_lsn"], row["cdc_ordinal"], row["id"])
            for row in self.pipeline.landed(self.name)
            if row["cdc_version"] != row["cdc_commit_lsn"]
        )
        assert {key: count for key, count in streamed.items() if count > 1} == {}


RELAXED = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.parametrize("has_trigger", [True, False])
@RELAXED
@given(steps=st.lists(STEP, min_size=4, max_size=14))
def test_the_store_ends_as_postgres_is(
    source: Source, landing: tuple[InboxPipeline, str, str], has_trigger: bool, steps: list[tuple[str, Any]]
) -> None:
    world = World(source, landing, has_trigger=has_trigger)
    try:
        for kind, what in steps:
            note(f"{kind}: {what}")
            world.step(kind, what)
        world.check()
    finally:
        disarm()
        world.producer.stop()
        source.remove(world.name)


def test_a_crash_at_every_point(source: Source, landing: tuple[InboxPipeline, str, str]) -> None:
    world = World(source, landing)
    for point in CAPTURE_POINTS:
        world.step("crash", (point, 1))
        world.step("transaction", [("insert", 3, "x"), ("update", 1, point), ("delete", 3, None)])
        if point.startswith("cdc.part"):
            world.step("schema", "add")
            world.step("schema", "retype")
        wait_until(lambda: world.producer.has_ended, 60)
    world.check()
