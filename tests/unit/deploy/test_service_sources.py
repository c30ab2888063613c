"""The server's own records as tables of SQL, in both dialects, and out of reach of pipes."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from penstock.deploy.queries.service_sources import (
    AUDIT_COLUMNS,
    DEPLOYMENT_COLUMNS,
    JOB_COLUMNS,
    OPERATION_COLUMNS,
    SERVICE_SOURCES,
)
from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Text
from penstock.model.deployment import DeploymentRecord
from penstock.model.pipe import Dialect
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_sql
from penstock.sql.compiler.caller import Caller
from penstock.state.audit_log import AuditEntry, AuditLog
from penstock.state.database import open_database
from penstock.state.jobs import Job
from penstock.state.operations import Operation

READABLE = Project.of([source.as_datasource(name) for name, source in SERVICE_SOURCES.items()], ())
DIALECTS: tuple[Dialect, ...] = ("clickhouse", "spark")


def asked(text: str) -> Text:
    return Text(text, Location("query"))


def test_the_columns_are_those_of_the_records() -> None:
    assert {each.name for each in fields(Operation)} == set(OPERATION_COLUMNS)
    assert {each.name for each in fields(AuditEntry)} == set(AUDIT_COLUMNS)
    assert set(JOB_COLUMNS) <= {each.name for each in fields(Job)}
    assert {each.name for each in fields(DeploymentRecord)} == set(DEPLOYMENT_COLUMNS)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("namespace", ["penstock", "tinybird"])
def test_sql_reads_them_and_needs_a_grant_for_their_name(dialect: Dialect, namespace: str) -> None:
    query = asked(f"SELECT a.action, count(*) AS n FROM {namespace}.audit_log AS a GROUP BY a.action")
    names: set[str] = set()
    compiled = compile_sql(READABLE, query, dialect, caller=Caller(names.add))
    assert names == {"penstock__audit_log"}
    assert [read.datasource for read in compiled.reads] == ["penstock__audit_log"]
    assert namespace not in compiled.sql.replace("penstock__audit_log", "")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "table", ["penstock.tokens", "other.audit_log", "x.penstock.audit_log", "penstock.deployments"]
)
def test_nothing_else_has_a_namespace(dialect: Dialect, table: str) -> None:
    with pytest.raises(InvalidQuery):
        compile_sql(READABLE, asked(f"SELECT * FROM {table}"), dialect)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_pipe_cannot_read_them(dialect: Dialect) -> None:
    project = load_files({"a.datasource": "SCHEMA >\n    a UInt8\n"}).project
    with pytest.raises(InvalidQuery):
        compile_sql(project, asked("SELECT * FROM penstock.audit_log"), dialect)


def test_hints_do_not_name_them() -> None:
    with pytest.raises(InvalidQuery) as refused:
        compile_sql(READABLE, asked("SELECT * FROM nothing"), "clickhouse")
    assert "penstock__" not in str(refused.value.as_json())


def test_the_latest_rows(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    audit = AuditLog(database)
    audit.end(audit.add(AuditEntry("promote", "3", "ci", "10.0.0.9", "r1")), "ok", "3", 0.5)

    class Store:
        def __init__(self) -> None:
            self.audit = audit

    source = SERVICE_SOURCES["penstock__audit_log"]
    (row,) = source.read(Store())  # type: ignore[arg-type]
    found = dict(zip((name for name, _ in source.columns), row, strict=True))
    assert (found["action"], found["outcome"], found["token"]) == ("promote", "ok", "ci")
    database.close()
