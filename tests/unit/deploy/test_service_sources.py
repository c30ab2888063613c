"""The server's own records as tables of SQL, in both dialects, in pipes, and out of reach of views."""

from __future__ import annotations

from dataclasses import fields
from types import SimpleNamespace

import pytest

from penstock.deploy.queries.service_sources import _READERS, ServiceRecords, read_service_source
from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Text
from penstock.model.deployment import DeploymentRecord
from penstock.model.pipe import Dialect
from penstock.model.project import Project
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.parse.project_loader import load_files
from penstock.plan.compiled_project import compile_project
from penstock.sql.compile import compile_sql
from penstock.sql.compiler.caller import Caller
from penstock.sql.stored_types import spark_type
from penstock.state.logs.audit_log import AuditEntry
from penstock.state.logs.operations import Operation

EMPTY = Project.of([], [])
DIALECTS: tuple[Dialect, ...] = ("clickhouse", "spark")


def asked(text: str) -> Text:
    return Text(text, Location("query"))


def columns_of(name: str) -> dict[str, str]:
    return {column: str(of) for column, of in SERVICE_SOURCES[f"penstock__{name}"].columns}


def test_all_that_is_recorded_has_a_column() -> None:
    assert {each.name for each in fields(Operation)} <= set(columns_of("datasources_ops_log"))
    assert {each.name for each in fields(AuditEntry)} == set(columns_of("audit_log"))
    assert {each.name for each in fields(DeploymentRecord)} == set(columns_of("deployments_log"))


def test_each_is_read_from_records_or_is_a_query() -> None:
    assert set(_READERS) == {source.name for source in SERVICE_SOURCES.values() if source.pipe is None}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("namespace", ["penstock", "tinybird", "organization"])
@pytest.mark.parametrize("source", SERVICE_SOURCES.values(), ids=lambda source: source.name)
def test_sql_reads_them_with_their_types(dialect: Dialect, namespace: str, source: object) -> None:
    name = source.name  # type: ignore[attr-defined]
    names: list[str] = []
    query = asked(f"SELECT * FROM {namespace}.{name} AS a")
    compiled = compile_sql(EMPTY, query, dialect, caller=Caller(names.append))
    assert set(names) == {f"penstock__{name}"}
    assert [column for column, _ in compiled.columns] == list(columns_of(name))
    if dialect == "clickhouse":
        assert {column: str(of) for column, of in compiled.columns} == columns_of(name)
    assert {read.datasource for read in compiled.reads} <= set(SERVICE_SOURCES)


def test_operations_by_day_have_the_columns_that_monitors_ask_for() -> None:
    query = (
        "SELECT workspace_id, event_type, sum(executions) AS done, sum(error_count) AS failed,"
        " avgMerge(avg_elapsed_time_state) AS mean, quantilesMerge(0.9, 0.95, 0.99)(quantiles_state) AS slow"
        " FROM organization.datasources_ops_stats WHERE event_type IN ['append', 'copy']"
        " GROUP BY workspace_id, event_type"
    )
    found = compile_sql(EMPTY, asked(query), "clickhouse").columns
    assert [str(of) for _, of in found] == ["String", "String", "UInt64", "UInt64", "Float64", "Array(Float64)"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ("penstock.tokens", "available: "),
        ("penstock.deployment_log", "`deployments_log`"),
        ("tinybird.pipe_stat_rt", "`pipe_stats_rt`"),
        ("tinybird.hfi_requests", "available: "),
        ("organization.metrics_logs", "available: "),
        ("other.audit_log", None),
        ("x.penstock.audit_log", None),
    ],
)
def test_nothing_else_has_a_namespace(dialect: Dialect, table: str, hint: str | None) -> None:
    with pytest.raises(InvalidQuery) as refused:
        compile_sql(EMPTY, asked(f"SELECT * FROM {table}"), dialect)
    (problem,) = refused.value.problems
    assert (problem.code, hint is None or hint in str(problem.hint)) == ("unknown-table", True), problem


SOURCE = "SCHEMA >\n    `pipe` String,\n    `n` UInt64,\n    `at` DateTime\n"
COPY = (
    "NODE n\nSQL >\n    SELECT pipe_name AS pipe, count() AS n, max(created_at) AS at FROM tinybird.jobs_log"
    " WHERE job_type = 'copy' AND status = 'error' GROUP BY pipe\nTYPE copy\nTARGET_DATASOURCE kept\n"
)
ENDPOINT = (
    "NODE slow\nSQL >\n    %\n    SELECT pipe_name, quantile(0.95)(duration) AS p95,\n"
    "    countIf(status_code >= 500) AS bad, groupUniqArray(parameters['country']) AS of\n"
    "    FROM tinybird.pipe_stats_rt\n"
    "    WHERE start_datetime > now() - INTERVAL {{Int32(days, 1)}} DAY GROUP BY pipe_name\n"
    "NODE all\nSQL >\n    SELECT s.*, k.n FROM slow AS s LEFT JOIN kept AS k ON k.pipe = s.pipe_name\nTYPE endpoint\n"
)
VIEW = (
    "NODE v\nSQL >\n    SELECT pipe, n, at FROM kept WHERE pipe IN (SELECT pipe_name FROM {})\n"
    "TYPE materialized\nDATASOURCE t\n"
)


def test_endpoints_and_copies_read_them() -> None:
    files = {"kept.datasource": SOURCE, "c.pipe": COPY, "e.pipe": ENDPOINT}
    compiled = compile_project(load_files(files).project)
    assert not compiled.problems
    assert {read.datasource for read in compiled.reads["e"]} == {"kept"}, "the graph has only what the project has"
    assert compiled.reads["c"] == ()


@pytest.mark.parametrize("table", ["tinybird.pipe_stats_rt", "penstock.pipe_stats"])
def test_a_view_cannot_read_them(table: str) -> None:
    files = {"kept.datasource": SOURCE, "t.datasource": SOURCE, "v.pipe": VIEW.format(table)}
    (problem,) = compile_project(load_files(files).project).problems
    assert problem.code == "unsupported-view"
    assert problem.location is not None
    assert (problem.location.file, problem.location.line) == ("v.pipe", 3)
    assert table in problem.message


def test_a_pipe_cannot_read_who_did_what() -> None:
    files = {"a.pipe": "NODE n\nSQL >\n    SELECT * FROM penstock.audit_log\nTYPE endpoint\n"}
    (problem,) = compile_project(load_files(files).project).problems
    assert (problem.code, "a pipe cannot read" in problem.message) == ("unknown-table", True)


def test_hints_do_not_name_them_for_other_tables() -> None:
    with pytest.raises(InvalidQuery) as refused:
        compile_sql(EMPTY, asked("SELECT * FROM nothing"), "clickhouse")
    assert "penstock__" not in str(refused.value.as_json())


def test_what_is_not_recorded_is_empty_or_null() -> None:
    operations = SimpleNamespace(recent=lambda most: (Operation("append", "flights", 3, rows=5),))
    manifest = SimpleNamespace(bindings=())
    records = ServiceRecords(SimpleNamespace(operations=operations), None, manifest)  # type: ignore[arg-type]
    names = tuple(columns_of("datasources_ops_log"))
    (row,) = read_service_source("penstock__datasources_ops_log", names, records)
    found = dict(zip(names, row, strict=True))
    assert (found["datasource_id"], found["rows"], found["job_id"], found["Options.Names"]) == ("flights", 5, None, [])
    assert found["timestamp"].microsecond == 0  # type: ignore[attr-defined]


def test_operations_have_the_names_of_data_sources() -> None:
    """A query for `datasource_name = 'flights'` finds what was done to each table of it, also under its former name."""
    tables = ("flights__d1", "flights__d12f3", "former__d2", "flights", "a__d1__d7", "")
    operations = SimpleNamespace(recent=lambda most: tuple(Operation("append", table) for table in tables))
    manifest = SimpleNamespace(bindings=(SimpleNamespace(table="former__d2", name="flights"),))
    records = ServiceRecords(SimpleNamespace(operations=operations), None, manifest)  # type: ignore[arg-type]
    found = read_service_source("penstock__datasources_ops_log", ("datasource_name", "datasource_id"), records)
    names = ("flights", "flights", "flights", "flights", "a__d1", "")
    assert found == list(zip(names, names, strict=True))


def test_every_column_can_be_a_column_of_spark() -> None:
    for source in SERVICE_SOURCES.values():
        for _, of in source.columns:
            assert spark_type(of)
