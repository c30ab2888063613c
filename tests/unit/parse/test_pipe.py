"""A .pipe file to its value, where nothing is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import Problem
from penstock.model.datasource import Token
from penstock.model.pipe import Copied, Endpoint, Exported, FileTarget, Materialized, Pipe, Standard, TopicTarget
from penstock.parse.pipe import parse_pipe


def read(text: str) -> Pipe:
    problems: list[Problem] = []
    found = parse_pipe(text, "x.pipe", "x", "clickhouse", problems)
    assert [str(problem) for problem in problems] == []
    assert found is not None
    return found


def test_nodes() -> None:
    pipe = read(
        "DESCRIPTION the pipe\nTAGS a\nNODE one\nDESCRIPTION >\n    the node\nSQL >\n    SELECT 1\n"
        "NODE two\nTYPE Materialized\nDATASOURCE `target`\nSQL SELECT 2\nTOKEN t read"
    )
    one, two = pipe.nodes
    assert (pipe.description, pipe.tags, pipe.tokens) == ("the pipe", ("a",), (Token("t", "READ"),))
    assert (one.name, one.description, one.kind, one.sql.text) == ("one", "the node", Standard(), "SELECT 1")
    assert str(one.sql.location) == "x.pipe:7:5"
    assert isinstance(two.kind, Materialized)
    assert (two.kind.datasource, two.sql.text) == ("target", "SELECT 2")
    assert pipe.materialized is two
    assert pipe.result is two


def test_endpoint_is_the_result() -> None:
    pipe = read("NODE a\nSQL SELECT 1\nTYPE ENDPOINT\nNODE b\nSQL SELECT 2\nTYPE standard")
    assert pipe.result.name == "a"
    assert pipe.result.kind == Endpoint()


def test_a_copy() -> None:
    pipe = read(
        "NODE a\nSQL SELECT 1\nNODE b\nSQL SELECT 2\nTYPE COPY\nTARGET_DATASOURCE `target`\n"
        'COPY_SCHEDULE "*/5 * * * 1-5"\nCOPY_MODE append'
    )
    assert pipe.copied is pipe.nodes[1]
    assert isinstance(pipe.copied.kind, Copied)
    assert (pipe.copied.kind.datasource, pipe.copied.kind.schedule) == ("target", "*/5 * * * 1-5")
    on_demand = read("NODE b\nSQL SELECT 2\nTYPE copy\nTARGET_DATASOURCE t\nCOPY_SCHEDULE @on-demand").copied
    assert on_demand is not None
    assert on_demand.kind == Copied("t", on_demand.location)


@pytest.mark.parametrize(
    ("line", "mode"),
    [("", "append"), ("COPY_MODE append", "append"), ('copy_mode "REPLACE"', "replace"), ("COPY_MODE", "append")],
)
def test_what_a_copy_does_with_earlier_rows(line: str, mode: str) -> None:
    problems: list[Problem] = []
    text = f"NODE b\nSQL SELECT 2\nTYPE copy\nTARGET_DATASOURCE t\n{line}\n"
    pipe = parse_pipe(text, "x.pipe", "x", "clickhouse", problems)
    assert pipe is not None
    assert pipe.copies is not None
    assert pipe.copies.mode == mode


def test_what_a_view_does_about_rows_for_which_it_fails() -> None:
    text = "NODE a\nSQL SELECT 1\nTYPE materialized\nDATASOURCE t\n"
    policies = [read(text + line).nodes[0].kind for line in ("", "ON_ERROR stop", "on_error 'Quarantine'")]
    assert [kind.on_error for kind in policies if isinstance(kind, Materialized)] == ["stop", "stop", "quarantine"]
    problems: list[Problem] = []
    parse_pipe(text + "ON_ERROR quarantin", "x.pipe", "x", "clickhouse", problems)
    parse_pipe("NODE a\nSQL SELECT 1\nTYPE endpoint\nON_ERROR stop", "x.pipe", "x", "clickhouse", problems)
    assert [(each.code, each.hint) for each in problems] == [
        ("invalid-value", "did you mean `quarantine`?"),
        ("misplaced-directive", "write `TYPE materialized`, or remove it"),
    ]


def test_dialect() -> None:
    assert read("NODE a\nSQL SELECT 1").dialect == "clickhouse"
    assert read("DIALECT Spark\nNODE a\nSQL SELECT 1").dialect == "spark"


def test_pipe_without_a_node_that_runs_is_none() -> None:
    problems: list[Problem] = []
    assert parse_pipe("NODE a\nSQL >\n    %\n    SELECT {{ x", "x.pipe", "x", "clickhouse", problems) is None
    assert [problem.code for problem in problems] == ["template-syntax"]


def test_a_template_is_kept_as_it_is() -> None:
    assert read("NODE a\nSQL >\n    %\n    SELECT {{ x }}").result.sql.text == "%\nSELECT {{ x }}"


@pytest.mark.parametrize(
    ("lines", "connection", "options"),
    [
        (
            "TYPE sink\nEXPORT_CONNECTION_NAME 's3'\nEXPORT_SCHEDULE 0 * * * *\nEXPORT_BUCKET_URI s3://b/x\n"
            'EXPORT_FILE_TEMPLATE "hits_{date}"\nEXPORT_FORMAT csv\nEXPORT_COMPRESSION none\nEXPORT_STRATEGY @truncate',
            "s3",
            "EXPORT_SCHEDULE EXPORT_BUCKET_URI EXPORT_FILE_TEMPLATE EXPORT_FORMAT EXPORT_COMPRESSION EXPORT_STRATEGY",
        ),
        (
            "Type SINK\nEXPORT_SERVICE gcs_hmac\nexport_connection_name g\nEXPORT_SCHEDULE @on-demand\n"
            "EXPORT_WRITE_STRATEGY new",
            "g",
            "EXPORT_SERVICE EXPORT_SCHEDULE EXPORT_WRITE_STRATEGY",
        ),
        ("TYPE sink\nEXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC t", "k", "EXPORT_KAFKA_TOPIC"),
        ("TYPE stream\nKAFKA_CONNECTION_NAME k\nKAFKA_TOPIC t", "k", "KAFKA_TOPIC"),
    ],
)
def test_a_sink_is_kept(lines: str, connection: str, options: str) -> None:
    problems: list[Problem] = []
    pipe = parse_pipe(f"NODE a\nSQL >\nSELECT 1\n{lines}", "x.pipe", "x", "clickhouse", problems)
    assert pipe is not None
    assert pipe.exported is not None
    assert isinstance(pipe.exported.kind, Exported)
    assert (pipe.exported.kind.connection, " ".join(key for key, _ in pipe.exported.kind.options)) == (
        connection,
        options,
    )
    runs = pipe.exported.kind.target is not None
    assert [(each.code, each.level) for each in problems] == ([] if runs else [("unsupported-type", "warning")])


@pytest.mark.parametrize(
    ("lines", "target"),
    [
        ("EXPORT_KAFKA_TOPIC t", TopicTarget("t")),
        (
            "EXPORT_BUCKET_URI s3://b/x\nEXPORT_FILE_TEMPLATE 'a_{day}'\nEXPORT_FORMAT Parquet\n"
            "EXPORT_STRATEGY @truncate",
            FileTarget("s3://b/x", "a_{day}", "parquet", "snappy", "truncate"),
        ),
        (
            "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE a\nEXPORT_COMPRESSION gz\nEXPORT_WRITE_STRATEGY new",
            FileTarget("s3://b", "a", "csv", "gzip", "new"),
        ),
    ],
)
def test_where_a_sink_writes(lines: str, target: object) -> None:
    pipe = read(f"NODE a\nSQL >\nSELECT 1\nTYPE sink\nEXPORT_CONNECTION_NAME k\nEXPORT_SCHEDULE 0 3 * * *\n{lines}")
    assert pipe.exported is not None
    assert isinstance(pipe.exported.kind, Exported)
    assert (pipe.exported.kind.target, pipe.exported.kind.schedule) == (target, "0 3 * * *")


@pytest.mark.parametrize(
    "lines",
    [
        "EXPORT_BUCKET_URI s3://b",
        "EXPORT_FILE_TEMPLATE a",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE a\nEXPORT_FORMAT avro",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE a\nEXPORT_COMPRESSION snappy",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE a\nEXPORT_STRATEGY @upsert",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE ../a",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE {a",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE {a, '%Q'}",
        "EXPORT_BUCKET_URI s3://b\nEXPORT_FILE_TEMPLATE {0}",
    ],
)
def test_a_sink_that_does_not_run_is_a_warning(lines: str) -> None:
    problems: list[Problem] = []
    text = f"NODE a\nSQL >\nSELECT 1\nTYPE sink\nEXPORT_CONNECTION_NAME k\n{lines}"
    parse_pipe(text, "x.pipe", "x", "clickhouse", problems)
    assert [(each.code, each.level) for each in problems] == [("unsupported-type", "warning")]
    assert problems[0].message.startswith("this sink does not run: ")


@pytest.mark.parametrize("kind", ["standard", "Default", '""', "", '"STANDARD"'])
def test_a_standard_node_in_every_spelling(kind: str) -> None:
    assert read(f"NODE 'a' # why\nSQL >\nSELECT 1\nTYPE {kind}").nodes[0].kind == Standard()


@pytest.mark.parametrize(
    ("line", "level"),
    [("VERSION 0", "warning"), ("INCLUDE x.incl", "error"), ('ENGINE "MergeTree"', "error"), ("ENGINE_TTL x", "error")],
)
def test_the_classic_format_names_the_command_that_converts_it(line: str, level: str) -> None:
    problems: list[Problem] = []
    parse_pipe(f"NODE a\nSQL >\nSELECT 1\n{line}\nTYPE endpoint\n", "x.pipe", "x", "clickhouse", problems)
    assert [(problem.code, problem.level) for problem in problems] == [("classic-format", level)]
    assert "penstock migrate" in str(problems[0].hint)


HANDLER = """NODE n
SQL >
    %
    SELECT {{String(page)}} AS page
PYTHON >
    # what it asks
    def pages(client, given):

        return [{"page": '''
    # no comment
      a'''}]
    HANDLER = pages
RETURNS >
    `page` String, `hits` Nullable(UInt8)
TYPE endpoint
"""


def test_a_function_in_python_is_kept_line_by_line() -> None:
    problems: list[Problem] = []
    pipe = parse_pipe(HANDLER, "x.pipe", "x", "clickhouse", problems)
    assert (problems, pipe is not None) == ([], True)
    assert pipe is not None
    assert pipe.endpoint is not None
    handler = pipe.endpoint.handler
    assert handler is not None
    names: dict[str, Any] = {}
    exec(handler.source.text, names)
    assert names["HANDLER"](None, None) == [{"page": "\n# no comment\n  a"}]
    assert [str(each.type) for each in handler.returns] == ["String", "Nullable(UInt8)"]
    assert str(handler.source.at(4, 1)) == "x.pipe:9:5"


@pytest.mark.parametrize(
    ("was", "written", "code", "place"),
    [
        ("RETURNS >\n    `page` String, `hits` Nullable(UInt8)\n", "", "missing-directive", "x.pipe:5:1"),
        ("(client, given)", "((", "invalid-python", "x.pipe:7:15"),
        ("HANDLER = pages", "", "invalid-python", "x.pipe:6:5"),
        ("Nullable(UInt8)", "Nulable(UInt8)", "invalid-type", "x.pipe:14:27"),
        ("TYPE endpoint", "TYPE standard", "misplaced-directive", "x.pipe:5:1"),
    ],
)
def test_what_is_wrong_with_a_function_has_its_place(was: str, written: str, code: str, place: str) -> None:
    problems: list[Problem] = []
    parse_pipe(HANDLER.replace(was, written), "x.pipe", "x", "clickhouse", problems)
    assert (problems[0].code, str(problems[0].location)) == (code, place)
