"""Random changes of a real Postgres with rows in between, through phases into ClickHouse and Iceberg: in the end both
stores have exactly the rows of Postgres.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import Phase as HypothesisPhase
from hypothesis import strategies as st
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from clickhouse_session import ClickHouseSession
from memory_journal import MemoryJournal
from penstock.model.settings import StoreSettings
from penstock.postgres.application.phase_runner import PhaseRunner
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import Catalog
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.observed_migrations import ObservationRules, ObservedForms, observed_migrations
from penstock.postgres.migration.operation import Phase
from penstock.postgres.migration.step_recorder import record_steps
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.stores.iceberg_store import IcebergStore
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.clickhouse.schema import text_literal
from penstock.postgres.translation.refusal import CannotTranslate
from postgres_server import Postgres

TABLE = "CREATE TYPE public.kind AS ENUM ('x', 'y'); CREATE TABLE public.rows (id bigint PRIMARY KEY, a text, b int)"
TYPES = {
    "int": "'7'",
    "bigint": "'5000000000'",
    "text": "'it''s'",
    "numeric(9,2)": "'1.50'",
    "boolean": "true",
    "date": "'2024-02-03'",
    "timestamptz": "'2024-02-03 04:05:06.7+00'",
    "public.kind": "'y'",
    "int[]": "'{1,2}'",
}
START = datetime(2026, 11, 22, tzinfo=timezone.utc)
NAMES = ("a", "b", "c", "d")
numbers = itertools.count(1)


class Databases:
    """Production and development, with the same schema."""

    def __init__(self, source: Postgres):
        self.connections: list[SourceConnection] = []
        for part in ("production", "development"):
            name = f"random_{next(numbers)}_{part}"
            source.run(f"CREATE DATABASE {name}")
            opened = open_source(source.url().replace("/postgres", f"/{name}"))
            opened.cursor().execute(TABLE)
            self.connections.append(opened)
        self.production, self.development = self.connections

    def observe(self, statement: str) -> tuple[Migration, ...]:
        before = self.catalog(self.development)
        with record_steps(self.development) as recorder:
            self.development.cursor().execute(statement)
            forms = ObservedForms(before, recorder.forms(), self.catalog(self.development))
        found = observed_migrations(forms, ObservationRules(START + timedelta(seconds=next(numbers))))
        assert found.unclear == ()
        return found.migrations

    @staticmethod
    def catalog(connection: SourceConnection) -> Catalog:
        return read_catalog(connection, ["public"])

    def insert(self) -> None:
        """A row with a value for each column that can have one, and one with NULLs."""
        (table,) = self.catalog(self.production).tables
        every = {each.name: TYPES.get(_type_name(each.type.name, each.type.typmod), "NULL") for each in table.columns}
        required = {each.name: every[each.name] for each in table.columns if each.not_null}
        for values in (every, required):
            row = {**values, "id": str(next(numbers))}
            names = ", ".join(f'"{each}"' for each in row)
            self.production.cursor().execute(f"INSERT INTO public.rows ({names}) VALUES ({', '.join(row.values())})")

    def rows(self) -> list[dict[str, str | None]]:
        """All rows as texts."""
        (table,) = self.catalog(self.production).tables
        names = [each.name for each in table.columns]
        cursor = self.production.cursor()
        shown = ", ".join(f'"{each}"::text' for each in names)
        cursor.execute(f"SELECT {shown} FROM public.rows AS r ORDER BY r.id")
        return [dict(zip(names, cast("tuple[str | None, ...]", row), strict=True)) for row in cursor.fetchall()]

    def files(self) -> int:
        """Another number means that Postgres wrote the rows of production anew: consumers read them again."""
        (table,) = self.catalog(self.production).tables
        return table.relfilenode

    def close(self) -> None:
        for each in self.connections:
            each.close()


def _type_name(name: str, typmod: int) -> str:
    short = {"integer": "int", "timestamp with time zone": "timestamptz", "integer[]": "int[]"}
    return "numeric(9,2)" if name == "numeric" and typmod > 0 else short.get(name, name)


class ClickHouseMirror:
    """Takes rows as a consumer does: the last one of an id counts."""

    def __init__(self) -> None:
        self.session = ClickHouseSession()
        database = self.session.database
        self.session.run(
            f"CREATE TABLE {database}.rows (id Int64, a Nullable(String), b Nullable(Int32), _v UInt64)"
            " ENGINE = ReplacingMergeTree(_v) ORDER BY id"
        )
        settings = StoreSettings("clickhouse", database=database)
        self.store: MigrationStore = ClickHouseStore("w", settings, self.session, lambda _: ViewChoices())

    def take(self, rows: Sequence[dict[str, str | None]]) -> None:
        for row in rows:
            values = {**row, "_v": str(next(numbers))}
            texts = ", ".join("NULL" if each is None else text_literal(_sent(each)) for each in values.values())
            names = ", ".join(f"`{each}`" for each in values)
            self.session.run(
                f"INSERT INTO {self.session.database}.rows ({names}) SETTINGS date_time_input_format = 'best_effort',"
                f" input_format_null_as_default = 0 VALUES ({texts})"
            )

    def rows(self, columns: Sequence[str]) -> list[list[str | None]]:
        shown = ", ".join(f"toString(`{each}`)" for each in columns)
        return [
            [None if each is None else str(each) for each in row]
            for row in self.session.rows(f"SELECT {shown} FROM {self.session.database}.rows FINAL ORDER BY id")
        ]


def _sent(text: str) -> str:
    return {"t": "true", "f": "false"}.get(text, text)


def _canonical(text: str | None) -> str | None:
    """A value as all show it: numbers without zeros at the end, times in UTC with six digits."""
    if text is None:
        return None
    text = {"true": "1", "t": "1", "false": "0", "f": "0"}.get(text, text)
    if len(text) > 18 and text[4] == text[7] == "-":
        plain = text.removesuffix("+00").replace(" ", "T")
        moment = datetime.fromisoformat(plain.ljust(26, "0") if "." in plain else plain)
        return moment.replace(tzinfo=None).isoformat()
    if text.replace(".", "", 1).replace("-", "", 1).isdigit() and "." in text:
        return text.rstrip("0").rstrip(".")
    return text


@st.composite
def change(draw: st.DrawFn) -> str:
    """A statement of a developer, most of which fit."""
    name, other, of = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES)), draw(st.sampled_from([*TYPES]))
    t = "ALTER TABLE public.rows"
    return draw(
        st.sampled_from(
            [
                f"{t} ADD {name} {of}",
                f"{t} ADD {name} {of} DEFAULT {TYPES[of]}",
                f"{t} ADD {name} {of} NOT NULL DEFAULT {TYPES[of]}",
                f"{t} ADD {name} timestamptz DEFAULT date_trunc('day', now())",
                f"{t} DROP {name}",
                f"{t} RENAME {name} TO {other}",
                f"{t} RENAME {name} TO s_; {t} RENAME {other} TO {name}; {t} RENAME s_ TO {other}",
                f"{t} ALTER {name} TYPE bigint",
                f"{t} ALTER {name} TYPE text",
                f"{t} ALTER {name} TYPE text USING 'made ' || id",
                f"{t} ALTER {name} SET DEFAULT NULL",
                f"{t} ALTER {name} DROP NOT NULL",
                f"ALTER TYPE public.kind ADD VALUE IF NOT EXISTS 'z{draw(st.integers(1, 2))}' BEFORE 'y'",
                "ALTER TYPE public.kind RENAME VALUE 'x' TO 'first'",
            ]
        )
    )


CHEAP = settings(
    max_examples=8,
    deadline=None,
    phases=[HypothesisPhase.explicit, HypothesisPhase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)


@CHEAP
@given(changes=st.lists(change(), min_size=2, max_size=6))
def test_clickhouse_has_the_rows_of_postgres(source: Postgres, changes: list[str]) -> None:
    databases, mirror = Databases(source), ClickHouseMirror()
    _run(databases, mirror, changes)
    columns = [*databases.rows()[0]]
    wanted = [[_canonical(each) for each in row.values()] for row in databases.rows()]
    found = [[_canonical(each) for each in row] for row in mirror.rows(columns)]
    databases.close()
    assert found == wanted


def _run(databases: Databases, mirror: ClickHouseMirror | IcebergMirror, changes: Sequence[str]) -> None:
    runner = PhaseRunner(mirror.store, MemoryJournal(), timedelta(0), lambda: datetime.now(timezone.utc))
    seen: set[str] = set()

    def mirrored() -> None:
        databases.insert()
        new = [row for row in databases.rows() if row["id"] not in seen]
        seen.update(str(row["id"]) for row in new)
        mirror.take(new)

    mirrored()
    for statement in changes:
        try:
            migrations = databases.observe(statement)
        except Exception as error:
            if type(error).__module__.startswith("psycopg2"):
                continue
            raise
        try:
            planned = [(each, phase) for each in migrations for phase in mirror.store.phases(each)]
            for each, phase in planned:
                if phase is Phase.pre:
                    runner.run(each, phase)
        except CannotTranslate:
            return
        mirrored()
        files = databases.files()
        databases.production.cursor().execute(statement)
        for each, phase in planned:
            if phase is Phase.at_lsn:
                try:
                    runner.run(each, phase)
                except CannotTranslate:
                    return
        if databases.files() != files or any(each.rewrites for each in migrations):
            mirror.take(databases.rows())
        mirrored()
        for each, phase in planned:
            if phase is Phase.post:
                runner.run(each, phase)
        mirrored()


class IcebergMirror:
    """Takes rows as a consumer does; the last one of an id counts."""

    def __init__(self, folder: Path):
        properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
        self._catalog = load_catalog("lake", **properties)
        self._catalog.create_namespace("app")
        fields = (NestedField(1, "id", LongType()), NestedField(2, "a", StringType()))
        self._catalog.create_table("app.rows", Schema(*fields, NestedField(3, "_v", LongType())))
        self.store: MigrationStore = IcebergStore(
            "l", StoreSettings("iceberg", namespace="app", catalog={**properties, "name": "lake"})
        )

    def take(self, rows: Sequence[dict[str, str | None]]) -> None:
        table = self._catalog.load_table("app.rows")
        schema = table.schema().as_arrow()
        columns = []
        for each in schema:
            texts = [str(next(numbers)) if each.name == "_v" else row.get(each.name) for row in rows]
            columns.append(_arrow(texts, each.type))
        missing = {name for row in rows for name in row} - {*schema.names}
        assert not missing, f"no value is dropped: {missing}"
        table.append(pa.Table.from_arrays(columns, schema=schema))

    def rows(self, columns: Sequence[str]) -> list[list[str | None]]:
        found = self._catalog.load_table("app.rows").scan().to_arrow().to_pylist()
        last = {row["id"]: row for row in sorted(found, key=lambda row: int(row["_v"]))}
        return [[_text(last[each][name]) for name in columns] for each in sorted(last)]


def _arrow(texts: Sequence[str | None], of: pa.DataType) -> pa.Array:
    if pa.types.is_boolean(of):
        return pa.array([None if each is None else each in ("t", "true") for each in texts], of)
    if pa.types.is_timestamp(of):
        moments = [None if each is None else datetime.fromisoformat(f"{each}:00") for each in texts]
        return pa.array(moments, of)
    return pa.array(texts, pa.string()).cast(of)


def _text(value: object) -> str | None:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@CHEAP
@given(changes=st.lists(change(), min_size=2, max_size=5))
def test_iceberg_has_the_rows_of_postgres(
    source: Postgres, tmp_path_factory: pytest.TempPathFactory, changes: list[str]
) -> None:
    databases, mirror = Databases(source), IcebergMirror(tmp_path_factory.mktemp("lake"))
    databases.production.cursor().execute("ALTER TABLE public.rows DROP b")
    databases.development.cursor().execute("ALTER TABLE public.rows DROP b")
    _run(databases, mirror, changes)
    columns = [*databases.rows()[0]]
    wanted = [[_canonical(each) for each in row.values()] for row in databases.rows()]
    found = [[_canonical(each) for each in row] for row in mirror.rows(columns)]
    databases.close()
    assert found == wanted
