"""`postgresql(…)`, `mysql(…)`: only copies read them, the login comes from secrets, and a project is checked without
the database."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Problem
from penstock.model.external_tables import DatabaseTable, ExternalColumns, ExternalTable, UnreadableTable
from penstock.model.types import Int, String
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.pipe_check import check_pipe
from penstock.sql.compile import compile_copy
from penstock.sql.compiler.caller import Caller
from penstock.sql.query import CompiledCopy
from penstock.template.render_frame import RenderInput

LOGIN = "{{ tb_secret('u') }}, {{ tb_secret('p') }}"
ORDERS = f"postgresql('db:5433', 'shop', 'orders', {LOGIN})"
SECRETS = RenderInput("call", {}, {"u": "ann", "p": "geheim'1"})
TARGET = "SCHEMA >\n    `id` Int64,\n    `code` String,\n    `n` UInt64\n"


def project(sql: str, ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> LoadedProject:
    pipe = f"NODE n\nSQL >\n    %\n    {sql}\n{ending}\n"
    loaded = load_files({"t.datasource": TARGET, "own.datasource": TARGET, "c.pipe": pipe})
    assert not loaded.problems
    return loaded


def check(sql: str, ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> tuple[Problem, ...]:
    loaded = project(sql, ending)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    try:
        return check_pipe(loaded.project, pipe).problems
    except InvalidQuery as error:
        return error.problems


def compiled(sql: str, columns: ExternalColumns | UnreadableTable, given: RenderInput = SECRETS) -> CompiledCopy:
    def tell(table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        if isinstance(columns, UnreadableTable):
            raise columns
        return columns

    loaded = project(sql)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    assert pipe.copied is not None
    return compile_copy(loaded.project, pipe, pipe.copied, given, Caller(external=tell))


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {ORDERS}",
        f"SELECT id, upper(name) AS code, count() AS n FROM {ORDERS} AS o WHERE o.state = 'paid' GROUP BY id, code",
        f"SELECT toInt64(sum(price) * 2) AS id FROM {ORDERS}",
        f"SELECT toInt64(dateDiff('day', made, now())) AS id FROM {ORDERS}",
        f"SELECT o.id AS id, own.code AS code FROM own JOIN {ORDERS} AS o ON o.id = own.id",
        f"SELECT id FROM postgresql({{{{ tb_secret('address') }}}}, 'shop', 'orders', {LOGIN}, 'sales')",
        f"SELECT id FROM mysql('db', 'shop', 'orders', {LOGIN})",
    ],
)
def test_a_copy_is_checked_without_the_database(sql: str) -> None:
    assert check(sql) == ()


def test_what_only_the_database_can_tell_is_a_warning() -> None:
    found = check(f"SELECT sum(a) AS id, lower(a) AS code FROM {ORDERS} GROUP BY a")
    assert {each.level for each in found} <= {"warning"}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (f"SELECT nope(id) AS id FROM {ORDERS}", "unknown function `nope`"),
        (f"SELECT id FROM {ORDERS} AS o JOIN missing ON true", "unknown data source or pipe `missing`"),
        ("SELECT id FROM postgresql('db', 'shop')", "`postgresql` takes 5 or 6 arguments, 2 are given"),
        (f"SELECT id FROM postgresql('/run/pg', 'shop', 'orders', {LOGIN})", "must be a host and a port"),
        (f"SELECT id FROM postgresql('db:99999', 'shop', 'orders', {LOGIN})", "must be a host and a port"),
        (f"SELECT id FROM postgresql('db', 'shop', concat('a', 'b'), {LOGIN})", "the table of `postgresql` must be"),
        ("SELECT id FROM postgresql('db', 'shop', 'orders', 'ann', 'geheim')", "must come from a secret"),
        (
            "SELECT id FROM mysql('db', 'shop', 'orders', 'ann', 'geheim')",
            "the user of `mysql` must come from a secret",
        ),
        (f"SELECT id FROM mysql('db:1', 'shop', 'orders', {LOGIN}, 'x')", "`mysql` takes 5 arguments, 6 are given"),
    ],
)
def test_what_no_database_mends_is_an_error_at_its_place(sql: str, told: str) -> None:
    (found,) = [each for each in check(sql) if each.level == "error"]
    assert told in found.message
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("c.pipe", 4)
    assert found.location.column > 5
    assert "geheim" not in str(found)


@pytest.mark.parametrize("ending", ["TYPE endpoint", "TYPE materialized\nDATASOURCE t"])
def test_only_copies_read_it(ending: str) -> None:
    (found,) = check("SELECT id FROM postgresql('db', 'shop', 'orders', 'ann', 'geheim')", ending)
    assert "read by copies only" in found.message
    assert found.hint is not None
    assert "TYPE copy" in found.hint


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("remote", "datasource append"),
        ("deltaLake", "`s3(…)`"),
        ("icebergAzure", "`azureBlobStorage(…)`"),
        ("icebergS3Cluster", "`iceberg(…)` in a copy"),
        ("hdfs", "`url(…)`"),
        ("azureBlobStorageCluster", "`azureBlobStorage(…)` in a copy"),
        ("mongodb", "datasource append"),
        ("s3Cluster", "`s3(…)` in a copy"),
        ("urlCluster", "`url(…)` in a copy"),
    ],
)
def test_a_copy_that_reads_another_kind_of_source_keeps_nothing_from_deploying(name: str, way: str) -> None:
    sql = f"SELECT x AS id FROM {name}('x') WHERE {{% if defined(a) %}} at night {{% else %}} 1 {{% end %}}"
    (found,) = check(sql)
    assert (found.level, found.code) == ("warning", "unsupported-source")
    assert found.message == f"this copy does not run: `{name}(…)` is not in this version"
    assert found.hint is not None
    assert way in found.hint


@pytest.mark.parametrize("name", ["url", "deltaLake"])
def test_a_run_of_such_a_copy_fails_and_says_why(name: str) -> None:
    with pytest.raises(InvalidQuery) as failed:
        compiled(f"SELECT x AS id FROM {name}('https://h/x')", ExternalColumns({}))
    assert [(each.level, each.code) for each in failed.value.problems] == [("error", "unsupported-source")]


@pytest.mark.parametrize(
    ("sql", "ending"),
    [
        ("SELECT 1 AS id FROM file('x')", "TYPE copy\nTARGET_DATASOURCE t"),
        ("SELECT 1 AS id FROM deltaLake('x')", "TYPE endpoint"),
    ],
)
def test_files_of_this_machine_and_endpoints_over_others_are_refused(sql: str, ending: str) -> None:
    (found,) = check(sql, ending)
    assert found.level == "error"
    assert "is not allowed: SQL reads only this project's data" in found.message
    assert found.hint is not None


def test_the_login_is_in_no_sql_and_used_columns_are_known() -> None:
    columns = ExternalColumns({"id": Int(64), "name": String(), "odd": String()})
    made = compiled(f"SELECT id, upper(name) AS code FROM {ORDERS}", columns)
    (read,) = made.externals
    assert isinstance(read.table, DatabaseTable)
    assert (read.table.host, read.table.port, read.table.database, read.table.name) == ("db", 5433, "shop", "orders")
    assert (read.table.user, read.table.password) == ("ann", "geheim'1")
    assert read.columns == {"id", "name"}
    assert read.placeholder in made.query.sql
    assert "geheim" not in made.query.sql + repr(made)
    assert "ann" not in repr(made)


def test_one_table_named_twice_is_read_once() -> None:
    columns = ExternalColumns({"id": Int(64), "name": String()})
    made = compiled(f"SELECT a.id AS id, b.name AS code FROM {ORDERS} AS a JOIN {ORDERS} AS b ON a.id = b.id", columns)
    assert [read.columns for read in made.externals] == [{"id", "name"}]


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (UnreadableTable("it is away", "wait"), "it is away"),
        (ExternalColumns({"ident": Int(64)}), "unknown column `id`"),
        (ExternalColumns({}, {"id": "is of type x"}), "the column `id` is of type x"),
    ],
)
def test_what_the_database_tells_has_the_place_of_the_call(
    columns: ExternalColumns | UnreadableTable, told: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        compiled(f"SELECT id FROM {ORDERS}", columns)
    (found,) = refused.value.problems
    assert found.message.startswith(told)
    assert found.location is not None
    assert found.location.line == 4


def test_a_password_that_is_no_secret_is_refused() -> None:
    sql = "SELECT id FROM postgresql('db', 'shop', 'orders', {{ tb_secret('u') }}, {{ String(pw) }})"
    given = RenderInput("call", {"pw": "hunter22"}, {"u": "ann"})
    with pytest.raises(InvalidQuery) as refused:
        compiled(sql, ExternalColumns({"id": Int(64)}), given)
    assert "must come from a secret" in refused.value.problems[0].message
    assert "hunter22" not in str(refused.value.as_json())
