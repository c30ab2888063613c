"""Copies of tables of a real Postgres: every type exactly; a failure is an error of the job and appends nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg2
import pytest

from penstock.state.jobs import Job
from postgres_pipeline.conftest import Server
from postgres_server import PASSWORD, USER, Postgres
from waiting import wait_until

COLUMNS = {
    "i2": ("int2 NOT NULL", "Int16", "'-32768'", -32768),
    "i4": ("int4", "Nullable(Int32)", "2147483647", 2147483647),
    "i8": ("int8", "Int64", "9223372036854775807", 9223372036854775807),
    "f8": ("float8", "Float64", "'0.1'", 0.1),
    "price": ("numeric(20,4)", "Decimal(20, 4)", "'1234567890123456.7891'", "1234567890123456.7891"),
    "free": ("numeric", "Decimal(38, 19)", "'1.0000000000000000001'", "1.0000000000000000001"),
    "yes": ("bool", "Bool", "true", True),
    "t": ("text", "String", "E'a ''b'' \\\\ \\n é'", "a 'b' \\ \n é"),
    "u": ("uuid", "UUID", "'61f0c404-5cb3-11e7-907b-a6006ad3dba0'", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    "j": ("jsonb", "String", """'{"a": [1, null]}'""", '{"a": [1, null]}'),
    "day": ("date", "Date32", "'1931-02-03'", "1931-02-03"),
    "at": ("timestamptz", "DateTime64(6)", "'2024-05-06 07:08:09.123456+02'", "2024-05-06 05:08:09.123456"),
    "plain": ("timestamp", "DateTime64(6)", "'2024-05-06 07:08:09.5'", "2024-05-06 07:08:09.500000"),
    "tags": ("text[]", "Array(Nullable(String))", "ARRAY['x', NULL]", ["x", None]),
    "ints": ("int4[]", "Array(Nullable(Int32))", "NULL", []),
    "none": ("text", "Nullable(String)", "NULL", None),
}
"""By name: the type in Postgres and of the target, the value there, and how the target shows it."""
TARGET = "SCHEMA >\n" + ",\n".join(f"    `{name}` {of}" for name, (_, of, _, _) in COLUMNS.items()) + "\n"
SMALL = "SCHEMA >\n    `id` Int64,\n    `label` String\n"


def copy(select: str, table: str, target: str, address: str = "'127.0.0.1:{port}'") -> str:
    login = "{{{{ tb_secret('pg_user') }}}}, {{{{ tb_secret('pg_password') }}}}"
    call = f"postgresql({address}, 'postgres', '{table}', {login}, 'ext')"
    whole = select.replace("FROM", f"FROM {call} AS p")
    return f"NODE n\nSQL >\n    %\n    {whole}\nTYPE copy\nTARGET_DATASOURCE {target}\n"


@pytest.fixture(scope="module")
def copies(server: Server, postgres: Postgres) -> Server:
    """Tables in Postgres, and the copies of them, live."""
    postgres.run("CREATE SCHEMA ext")
    columns = ", ".join(f"{name} {of}" for name, (of, _, _, _) in COLUMNS.items())
    postgres.run(f"CREATE TABLE ext.every ({columns})")
    postgres.run(f"INSERT INTO ext.every VALUES ({', '.join(value for _, _, value, _ in COLUMNS.values())})")
    postgres.run("CREATE TABLE ext.many AS SELECT id::int8, 'row ' || id AS label FROM generate_series(1, 30000) id")
    postgres.run("CREATE TABLE ext.odd (id int8, d numeric, wide numeric(50, 2))")
    postgres.run("INSERT INTO ext.odd SELECT id, 1, 1 FROM generate_series(1, 500) id")
    postgres.run("INSERT INTO ext.odd VALUES (501, 'NaN', 1)")
    filtered = "SELECT id + 0 AS id, upper(label) AS label FROM WHERE id > {{{{ Int64(above, 0) }}}}"
    plain = {
        "every": copy("SELECT * FROM", "every", "ext_every"),
        "many": copy(filtered, "many", "ext_small"),
        "gone": copy("SELECT id FROM", "manny", "ext_small"),
        "column": copy("SELECT idd AS id FROM", "many", "ext_small"),
        "nan": copy("SELECT id, toString(d) AS label FROM", "odd", "ext_small"),
        "wide": copy("SELECT id, toString(wide) AS label FROM", "odd", "ext_small"),
        "away": copy("SELECT id FROM", "many", "ext_small", "'127.0.0.1:1'"),
        "stranger": copy("SELECT id FROM", "many", "ext_small").replace("pg_password", "pg_wrong"),
    }
    files: dict[str, str | None] = {
        "datasources/ext_every.datasource": TARGET,
        "datasources/ext_small.datasource": SMALL,
        **{f"copies/ext_{name}_copy.pipe": text.format(port=postgres.port) for name, text in plain.items()},
    }
    made = server.deploy(files)
    assert made.state == "live", made.error
    return server


def run(server: Server, name: str, **parameters: str) -> Job:
    jobs = server.pipeline.store.jobs
    job = server.pipeline.copies.run(f"ext_{name}_copy", parameters)
    wait_until(lambda: not jobs.get(job.id).is_open, 120, lambda: jobs.get(job.id))
    return jobs.get(job.id)


def test_every_type_is_copied_exactly(copies: Server) -> None:
    done = run(copies, "every")
    assert (done.state, done.rows) == ("done", 1), done.error
    shown = ", ".join(
        f"toString({name})" if isinstance(value, str) and name not in ("t", "j") else name
        for name, (_, _, _, value) in COLUMNS.items()
    )
    (row,) = copies.ask(f"SELECT {shown} FROM ext_every")
    assert list(row) == [value for _, _, _, value in COLUMNS.values()]


def test_rows_are_fetched_in_parts_and_parameters_filter_them(copies: Server) -> None:
    done = run(copies, "many", above="5")
    assert (done.state, done.rows) == ("done", 29_995), done.error
    assert copies.ask("SELECT count(), uniqExact(id), min(id), max(label) FROM ext_small") == [
        (29_995, 29_995, 6, "ROW 9999")
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gone", "there is no table `ext.manny` of the database `postgres`"),
        ("column", "unknown column `idd`"),
        ("nan", "a value of the column `d` is no Nullable(Decimal(38, 19))"),
        ("wide", "the column `wide` is of type numeric(50,2)"),
        ("away", "cannot be read: connection to server at"),
        ("stranger", "password authentication failed"),
    ],
)
def test_a_failure_is_told_and_appends_nothing(copies: Server, name: str, told: str) -> None:
    before = copies.ask("SELECT count() FROM ext_small")
    failed = run(copies, name)
    assert failed.state == "failed"
    assert told in json.dumps(failed.error), failed.error
    assert PASSWORD not in json.dumps(failed.error, ensure_ascii=False)
    assert copies.ask("SELECT count() FROM ext_small") == before
    folder = copies.pipeline.copies._context.folder
    assert not [*folder.iterdir()], "no file of it is left"


@contextmanager
def locked(postgres: Postgres) -> Iterator[Callable[[str], int]]:
    """A block in which nobody can read ext.many. Gives a function that counts the connections of copies."""
    login = {"host": "127.0.0.1", "port": postgres.port, "user": USER, "password": PASSWORD, "dbname": "postgres"}
    holder, observer = psycopg2.connect(**login), psycopg2.connect(**login)
    observer.autocommit = True

    def count(condition: str) -> int:
        with observer.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'penstock copy' {condition}"
            )
            return int(cursor.fetchone()[0])

    try:
        holder.cursor().execute("LOCK TABLE ext.many IN ACCESS EXCLUSIVE MODE")
        yield count
    finally:
        holder.close()
        observer.close()


def test_a_copy_that_is_cancelled_while_postgres_works_lets_it_go(copies: Server, postgres: Postgres) -> None:
    before = copies.ask("SELECT count() FROM ext_small")
    with locked(postgres) as count:
        job = copies.pipeline.copies.run("ext_many_copy", {})
        wait_until(lambda: count("AND wait_event_type = 'Lock'"))
        assert copies.pipeline.copies.cancel(job.id).state == "cancelled"
        wait_until(lambda: not count(""))
    assert copies.ask("SELECT count() FROM ext_small") == before
    assert run(copies, "many", above="29999").rows == 1, "the next job runs"
