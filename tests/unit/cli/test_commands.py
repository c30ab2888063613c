from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard

from penstock.cli.client import ServerClient
from penstock.cli.commands.job import print_job
from penstock.cli.row_files import row_file
from penstock.errors import Conflict, NoServer
from penstock.model.deployment import Deployment
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline, Receipt
from web_server import WebServer

Json = Callable[..., tuple[int, Any]]


def test_deploy_and_what_follows(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    code, out, _ = penstock("deploy", "--name", "first")
    assert (code, "deployment 1 (first) is live" in out) == (0, True)
    assert "flights: 5 of 10 rows, 100 B, 2 rows/s, 2 s left" in out
    code, out, _ = penstock("deploy", "--no-promote")
    assert (code, "deployment 2 is ready; `penstock deployment promote` makes it live" in out) == (0, True)
    assert penstock_json("deployment", "promote")[1]["state"] == "live"
    assert penstock_json("deployment", "rollback")[1]["id"] == 1
    assert [each["id"] for each in penstock_json("deployment", "ls")[1]["deployments"]] == [2, 1]
    assert penstock_json("deployment", "show", "first")[1]["plan"]["rows_moved"] == 0
    assert "first" in penstock("deployment", "ls")[1]
    assert "rows moved: 0" in penstock("deployment", "show")[1]
    assert penstock("deployment", "retire", "1")[0] == 1


def test_deploy_sends_the_whole_project(penstock_json: Json, pipeline: MemoryPipeline) -> None:
    code, made = penstock_json("deploy", "--no-wait", "--allow-destructive-operations")
    assert code == 0
    assert made["files"] == ["datasources/flights.datasource", "penstock.toml", "top.pipe"]
    assert made["plan"]["allowed"] is True


def test_a_check_does_nothing(penstock: Run, pipeline: MemoryPipeline) -> None:
    code, out, _ = penstock("deploy", "--check")
    assert (code, "checked; nothing was done" in out) == (0, True)
    assert pipeline.list_deployments() == ()


def test_problems_have_their_place(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline, project: Path) -> None:
    (project / "wrong.datasource").write_text("SCHEMA >\n    a UInt7\n")
    code, out, err = penstock("deploy")
    assert (code, out) == (1, "")
    assert "wrong.datasource:2:7: " in err
    code, document = penstock_json("deploy")
    assert (code, document["problems"][0]["line"]) == (1, 2)


def test_a_failing_deployment_is_1_with_its_error(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pipeline.find

    def failed(ref: str) -> Deployment:
        error = {"error": "`x` is no UInt32", "code": "cast-failed", "problems": []}
        found = made(ref)
        return replace(found, state="failed", error=error)

    monkeypatch.setattr(pipeline, "find", failed)
    code, _, err = penstock("deploy", "--no-promote")
    assert (code, "`x` is no UInt32" in err) == (1, True)


def test_queries(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    code, out, _ = penstock("sql", "SELECT 1 AS a, 'x[red]' AS b, NULL AS c", "--deployment", "staging")
    assert code == 0
    assert "x[red]" in out
    assert "1 row in 0.01 s" in out
    assert pipeline.asked[-1][1] == "staging"
    assert penstock_json("sql", "SELECT 'é' AS a")[1]["data"] == [{"a": "é"}]
    assert penstock("sql", "SELEC")[0] == 1
    assert "the query is empty" in penstock("sql", " ")[2]
    code, answer = penstock_json("endpoint", "data", "top", "--param", "a=b=c", "--param", "d=")
    assert json.loads(answer["data"][0]["parameters"]) == {"a": "b=c", "d": ""}
    assert "did you mean `top`?" in penstock("endpoint", "data", "topp")[2]


@pytest.mark.usefixtures("pipeline")
def test_a_parameter_that_an_endpoint_does_not_declare_is_named(penstock: Run) -> None:
    assert penstock("deploy")[0] == 0
    code, _, err = penstock("endpoint", "data", "top", "--param", "pagesize=3")
    assert (code, "warning: the endpoint declares no parameter `pagesize`" in err) == (0, True)
    assert penstock("endpoint", "data", "top")[2] == ""


def test_queries_in_other_forms(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    three = "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3"
    assert penstock("sql", three, "--format", "csv")[1] == '"a"\n1\n2\n3\n'
    assert penstock("sql", f"{three};", "--format", "ndjson", "--limit", "2")[1] == '{"a":1}\n{"a":2}\n'
    out = penstock("sql", three, "--format", "json")[1]
    assert (json.loads(out)["rows"], out.endswith("}\n")) == (3, True)
    code, error = penstock_json("sql", three, "--format", "csv")
    assert (code, "is one JSON document" in error["error"]) == (2, True)
    code, out, _ = penstock("sql", three, "--vertical", "--limit", "1")
    assert (code, "row 1\na: 1\n" in out, "--limit 0 all" in out) == (0, True, True)
    code, answer = penstock_json("sql", three, "--limit", "2")
    assert (answer["rows"], answer["rows_before_limit_at_least"]) == (2, 3)
    assert penstock("sql", three, "--vertical", "--format", "csv")[0] == 2
    assert penstock("sql", "SELEC", "--format", "csv")[0] == 1
    assert "inf" in penstock("sql", "SELECT 9e999 AS a")[1]


def test_long_values_are_not_cut(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert "x" * 3000 in penstock("sql", f"SELECT '{'x' * 3000}' AS a")[1]


def test_what_there_is(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    penstock("deploy")
    assert "flights" in penstock("datasource", "ls")[1]
    assert penstock_json("datasource", "show", "flights")[1]["columns"] == [{"name": "a", "type": "UInt8"}]
    assert "UInt8" in penstock("datasource", "show", "flights")[1]
    assert "The top" in penstock("endpoint", "ls")[1]
    code, out, _ = penstock("status")
    assert (code, "deployment 1: live" in out, "landing.flights into `flights` is 12 s behind `flights`" in out) == (
        0,
        True,
        True,
    )
    assert "deploy" in penstock("audit")[1]
    assert [each["action"] for each in penstock_json("audit")[1]["entries"]] == ["promote", "deploy"]


def test_status_in_an_outage(penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    found = pipeline.status()
    check = {"check": "store", "ok": False, "reason": "the state store has not answered for 12 s", "details": "refused"}
    found |= {"checks": [check], "stale_seconds": 12.0, "stale_because": "no answer for 2 s"}
    monkeypatch.setattr(pipeline, "status", lambda: found)
    code, out, _ = penstock("status")
    assert code == 0
    assert "12 s ago, except for what fails: no answer for 2 s" in out
    assert "store: the state store has not answered for 12 s (refused)" in out


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("rows.ndjson", b'{"a": 1}\n{"a": 2}', 2),
        ("rows.json", b'[{"a": 1},\n {"a": 2}, {"a": 3}]', 3),
        ("rows.ndjson.gz", gzip.compress(b'{"a": 1}\n{"a": 2}'), 2),
        ("rows.without-suffix", zstandard.compress(b'{"a": 1}\n') + zstandard.compress(b'{"a": 2}\n'), 2),
        ("rows.json.bz2", bz2.compress(b'{\n"a": 1}'), 1),
        ("rows.xz", lzma.compress(b' [{"a": 1}, {"a": 2}]'), 2),
        ("rows.txt", b'[{"a": 1},\n {"a": 2}]', 2),
        ("big.ndjson", b'{"a": "%s"}\n' % (b"x" * 1000) * 20_000, 20_000),
    ],
)
def test_append_a_file(
    penstock_json: Json, pipeline: MemoryPipeline, tmp_path: Path, name: str, content: bytes, rows: int
) -> None:
    (tmp_path / name).write_bytes(content)
    code, told = penstock_json("datasource", "append", "flights", "--file", str(tmp_path / name))
    assert (code, told) == (0, {"successful_rows": rows, "quarantined_rows": 0})
    assert len(pipeline.rows["flights"]) == rows
    assert len(pipeline.keys) == (3 if rows > 1000 else 1)


def test_append_csv_and_parquet(penstock_json: Json, pipeline: MemoryPipeline, tmp_path: Path) -> None:
    record = b'1,"%s,\n"\n' % (b"x" * 1_000)
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b'id,"na\nme"\n' + record * 20_000))
    assert penstock_json("datasource", "append", "flights", "--file", str(tmp_path / "rows.csv.gz"))[0] == 0
    assert len(pipeline.files_sent) == 3
    assert [form.repeats_first for _, form in pipeline.files_sent] == [False, True, True]
    assert all(body.startswith(b'id,"na\nme"\n1,"x') and body.endswith(b',\n"\n') for body, _ in pipeline.files_sent)
    assert sum(body.count(record) for body, _ in pipeline.files_sent) == 20_000
    (tmp_path / "rows").write_bytes(b"PAR1" + b"x" * 50)
    assert penstock_json("datasource", "append", "flights", "--file", str(tmp_path / "rows"))[0] == 0
    assert pipeline.files_sent[-1][0].startswith(b"PAR1")
    (tmp_path / "rows.tsv").write_bytes(b"1\t2\n")
    options = ("--format", "csv", "--delimiter", "\t")
    assert penstock_json("datasource", "append", "flights", "--file", str(tmp_path / "rows.tsv"), *options)[0] == 0
    assert pipeline.files_sent[-1][1].delimiter == "\t"


def test_append_a_file_of_the_web(penstock: Run, pipeline: MemoryPipeline) -> None:
    web = WebServer()
    web.page("/rows.ndjson", b'{"a": 1}\n{"a": 2}\n')
    append = ("datasource", "append", "flights", "--file")
    code, out, _ = penstock(*append, web.url("/rows.ndjson"))
    assert (code, "2 rows appended to flights" in out) == (0, True)
    assert len(pipeline.rows["flights"]) == 2
    code, _, err = penstock(*append, web.url("/gone.ndjson"))
    assert (code, "its server answers 404 Not Found" in err) == (1, True)
    assert len(pipeline.rows["flights"]) == 2
    web.close()


def test_replace_rows(
    penstock: Run, penstock_json: Json, pipeline: MemoryPipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.ndjson").write_bytes(b'{"a": 1}\n{"a": 2}\n')
    pipeline.rows["flights"] = [b'{"a": 0}'] * 3
    replace = ("datasource", "replace", "flights", "--file", str(tmp_path / "rows.ndjson"))
    assert penstock_json(*replace, "--yes") == (0, {"successful_rows": 2, "quarantined_rows": 0})
    assert len(pipeline.rows["flights"]) == 2
    (tmp_path / "rows.csv").write_bytes(b"a;1\n")
    csv = ("datasource", "replace", "flights", "--file", str(tmp_path / "rows.csv"), "--delimiter", ";", "--yes")
    assert penstock(*csv)[0] == 0
    assert (pipeline.files_sent[-1][0], pipeline.files_sent[-1][1].delimiter) == (b"a;1\n", ";")
    assert penstock("datasource", "replace", "flights")[0] == 2
    monkeypatch.setattr(row_file, "MOST_REPLACED", 10)
    code, _, err = penstock(*replace, "--yes")
    assert (code, "of one call" in err, "COPY_MODE replace" in err) == (1, True, True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04" + b"x" * 50, "is a zip archive"),
        (gzip.compress(b'{"a": 1}\n' * 100_000)[:-20], "none of it was appended"),
    ],
)
def test_a_file_that_is_no_rows_is_refused(
    penstock: Run, pipeline: MemoryPipeline, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "rows").write_bytes(content)
    code, _, err = penstock("datasource", "append", "flights", "--file", str(tmp_path / "rows"))
    assert (code, told in err) == (1, True)
    assert pipeline.rows["flights"] == []


def test_append_says_what_does_not_fit(penstock: Run, pipeline: MemoryPipeline, tmp_path: Path) -> None:
    (tmp_path / "rows.ndjson").write_bytes(b'{"a": 1}\nnonsense\n')
    code, out, _ = penstock("datasource", "append", "flights", "--file", str(tmp_path / "rows.ndjson"))
    assert (code, "1 row does not fit and is in quarantine" in out, "quarantine flights" in out) == (0, True, True)
    assert penstock("datasource", "append", "flights", "--file", "nowhere")[0] == 1
    assert penstock("datasource", "append", "flihts", "--file", str(tmp_path / "rows.ndjson"))[0] == 1


def test_an_append_of_which_no_row_fits_fails(
    penstock: Run, penstock_json: Json, pipeline: MemoryPipeline, tmp_path: Path
) -> None:
    (tmp_path / "rows.ndjson").write_bytes(b"{nonsense\n{nonsense\n")
    append = ("datasource", "append", "flights", "--file", str(tmp_path / "rows.ndjson"))
    code, out, _ = penstock(*append)
    assert (code, "0 rows appended" in out, "2 rows do not fit" in out) == (1, True, True)
    assert penstock_json(*append) == (1, {"successful_rows": 0, "quarantined_rows": 2})


def test_tokens(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    code, made = penstock_json("token", "create", "ci", "--scope", "read", "--scope", "append")
    assert (code, made["scopes"]) == (0, ["read", "append"])
    assert penstock("sql", "SELECT 1", "--token", made["token"])[0] == 0
    assert penstock("--token", made["token"], "deployment", "ls")[0] == 1
    assert "read, append" in penstock("token", "ls")[1]
    rotated = penstock("token", "rotate", "ci")[1].strip()
    assert penstock("sql", "SELECT 1", "--token", made["token"])[0] == 1
    assert penstock("sql", "SELECT 1", "--token", rotated)[0] == 0
    made["token"] = rotated
    assert penstock("token", "rotate", "nobody")[0] == 1
    assert penstock("token", "rm", "ci")[0] == 0
    assert penstock("sql", "SELECT 1", "--token", made["token"])[0] == 1


def test_tokens_of_datafiles_are_listed(penstock: Run, pipeline: MemoryPipeline) -> None:
    pipeline.grants = {"tracker": ("append:flights",), "reader": ("read:top",)}
    penstock("token", "create", "reader", "--scope", "declared")
    _, out, _ = penstock("token", "ls")
    assert "append:flights" in out
    assert "read:top" in out
    assert "nobody has a token `tracker`: `penstock token create tracker --scopes declared` makes one" in out
    assert "`reader`" not in out
    penstock("token", "rm", "reader")


def test_the_admin_token_of_the_folder_is_rotated_with_the_folder(
    penstock: Run, pipeline: MemoryPipeline, project: Path
) -> None:
    file = project / ".penstock" / "admin_token"
    before = file.read_text()
    code, out, _ = penstock("token", "rotate", "admin")
    assert (code, file.read_text().strip() in out, file.read_text() != before) == (0, True, True)
    assert file.stat().st_mode & 0o777 == 0o600
    assert penstock("token", "ls")[0] == 0
    assert penstock("token", "ls", "--token", before.strip())[0] == 1


def test_a_token_for_a_name_that_is_not_there_is_made_with_a_warning(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert penstock("token", "create", "early", "--scope", "read:flihts")[2] == ""
    penstock("deploy")
    code, _, err = penstock("token", "create", "late", "--scope", "read:flihts,append:flights,read:top")
    assert (code, "read:flihts: there is no data source or pipe" in err, "flights" in err) == (0, True, True)
    assert "append:flights" not in err


def test_options_may_stand_before_the_command_and_the_nearer_one_wins(penstock: Run, pipeline: MemoryPipeline) -> None:
    assert penstock("--url", "http://127.0.0.1:9", "status")[0] == 3
    code, out, _ = penstock("--output", "json", "status")
    assert (code, "url" in json.loads(out)) == (0, True)
    assert penstock("--output", "json", "status", "--output", "text")[1].startswith("penstock ")


def test_one_row_is_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    job = {"id": 3, "kind": "copy", "pipe": "take", "datasource": "flights", "status": "done", "rows": 1, "error": None}
    print_job(job)
    assert capsys.readouterr().out == "job 3: take to flights is done, 1 row\n"


def test_copies_and_jobs(penstock: Run, penstock_json: Json, pipeline: MemoryPipeline) -> None:
    assert penstock("copy", "run", "take", "--param", "day=2024-01-01=")[:2] == (
        0,
        "job 1: take to flights is done, 3 rows\n",
    )
    assert pipeline.recent_jobs(1)[0].parameters == {"day": "2024-01-01="}
    code, job = penstock_json("copy", "run", "take", "--no-wait")
    assert (code, job["id"], job["status"], job["rows"]) == (0, 2, "waiting", None)
    assert penstock("job", "cancel", "2")[1] == "job 2: take to flights is cancelled\n"
    code, _, told = penstock("copy", "run", "take", "--param", "fails=1")
    assert (code, told) == (1, "error: no such row\n")
    code, listed = penstock_json("job", "ls")
    assert [(each["id"], each["status"]) for each in listed["jobs"]] == [(3, "failed"), (2, "cancelled"), (1, "done")]
    assert "take" in penstock("job", "ls")[1]
    assert "error: no such row" in penstock("job", "show", "3")[1]
    assert penstock("copy", "run", "takes")[0] == 1
    assert penstock("copy", "run", "take", "--param", "day")[0] == 2
    assert penstock("job", "show", "9")[0] == 1
    assert penstock("job", "show", "x")[0] == 2


def test_a_command_stops_waiting_for_a_job_that_cannot_go_on(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = {"error": "the disk is full", "code": "storage-full", "attempts": 3}
    stuck = replace(pipeline.run("take", {}), state="appending", error=error)
    monkeypatch.setattr(pipeline, "run", lambda name, parameters: stuck)
    monkeypatch.setattr(pipeline.jobs, "recent", lambda most: (stuck,))
    monkeypatch.setattr("penstock.cli.commands.job.STUCK_SECONDS", 0.0)
    code, _, err = penstock("copy", "run", "take")
    assert (code, "cannot go on: the disk is full (3 attempts)" in err) == (1, True)
    assert "nothing is lost" in err
    assert "the disk is full (3 attempts)" in " ".join(penstock("job", "ls")[1].split())


def test_a_quarantine_is_shown_posted_again_and_cleared(
    penstock: Run, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}', b"nonsense"]
    code, out, _ = penstock("datasource", "quarantine", "flights")
    assert code == 0
    for told in ("1 row of flights in quarantine", "not JSON", "nonsense", "--replay"):
        assert told in out
    code, _, err = penstock("datasource", "quarantine", "flights", "--replay", "--clear")
    assert (code, "clear" in err) == (2, True)
    code, _, err = penstock("datasource", "quarantine", "flights", "--clear", "--deployment", "staging")
    assert (code, "act on the live version" in err) == (2, True), "live's would be cleared"
    assert penstock("datasource", "quarantine", "flihts")[0] == 1
    assert "posted again to flights" in penstock("datasource", "quarantine", "flights", "--replay")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, err = penstock("datasource", "quarantine", "flights", "--clear")
    assert (code, "nobody said yes" in err) == (2, True)
    assert "1 row removed" in penstock("datasource", "quarantine", "flights", "--clear", "--yes")[1]
    assert "0 rows of flights in quarantine" in penstock("datasource", "quarantine", "flights")[1]


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input ends at once, as in a scheduled job."""
    monkeypatch.setattr("sys.stdin", io.StringIO())


def test_truncate_shows_what_stays_and_asks(penstock: Run, pipeline: MemoryPipeline, nobody: None) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}']
    code, out, _ = penstock("datasource", "truncate", "flights", "--check")
    assert code == 0
    for told in (
        "1 row of flights",
        "daily (2 rows)",
        "flights_quarantine (1 row)",
        "1 raw row in the inbox",
        "nothing was",
    ):
        assert told in out
    code, _, err = penstock("datasource", "truncate", "flights")
    assert (code, "nobody said yes" in err, "--yes" in err) == (2, True, True)
    assert pipeline.rows["flights"]
    assert "all rows of flights are removed" in penstock("datasource", "truncate", "flights", "--yes")[1]
    assert pipeline.rows["flights"] == []


def test_delete_counts_shows_what_stays_and_asks(penstock: Run, pipeline: MemoryPipeline, nobody: None) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}', b'{"a": 2}']
    code, out, _ = penstock("datasource", "delete", "flights", "--where", "2", "--check")
    assert (code, "1 row of flights would be removed" in out, "daily (2 rows)" in out) == (0, True, True)
    assert penstock("datasource", "delete", "flights", "--where", "2")[0] == 2, "nobody answers"
    code, _, err = penstock("datasource", "delete", "flights", "--where", "2", "--allow-destructive-operations")
    assert (code, "give --rebuild too" in err) == (2, True)
    assert len(pipeline.rows["flights"]) == 2
    assert "1 row of flights removed" in penstock("datasource", "delete", "flights", "--where", "2", "--yes")[1]
    assert pipeline.rows["flights"] == [b'{"a": 1}']


@pytest.mark.parametrize(
    ("fault", "code", "told"),
    [
        (KeyboardInterrupt(), 130, "note: nobody watches any more: the server goes on with job 1"),
        (NoServer("no server answers"), 3, "job 1 goes on when the server runs again"),
    ],
)
@pytest.mark.parametrize("command", [("copy", "run", "take"), ("datasource", "quarantine", "flights", "--replay")])
def test_who_no_longer_waits_for_a_job_is_told_that_it_goes_on(
    penstock: Run,
    pipeline: MemoryPipeline,
    monkeypatch: pytest.MonkeyPatch,
    fault: BaseException,
    code: int,
    told: str,
    command: tuple[str, ...],
) -> None:
    get = ServerClient.get

    def interrupted(client: ServerClient, path: str, parameters: dict[str, str] | None = None) -> dict[str, Any]:
        if path.startswith("/v0/jobs/"):
            raise fault
        return get(client, path, parameters)

    monkeypatch.setattr(ServerClient, "get", interrupted)
    ended, out, err = penstock(*command)
    assert (ended, out, told in err) == (code, "", True)


def test_delete_with_rebuild_says_why_it_waits(
    penstock: Run, penstock_json: Json, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And goes on when what it waits for is over, with one document on standard output if that is asked for."""
    reason, deletes, asked = "deployment 7 is being filled", pipeline.delete, list[str]()

    def refused_at_first(name: str, where: str, key: str) -> Receipt:
        asked.append(key)
        if asked.count(key) == 1:
            raise Conflict(reason)
        return deletes(name, where, key)

    monkeypatch.setattr(pipeline, "delete", refused_at_first)
    delete = ("datasource", "delete", "flights", "--rebuild", "--yes", "--allow-destructive-operations", "--where")
    pipeline.rows["flights"] = [b'{"a": 1}', b'{"a": 2}', b'{"a": 3}']
    pipeline.rebuilds.start()
    code, out, _ = penstock(*delete, "2")
    assert (code, f"waits: {reason} (1 attempt)" in out, "1 row of flights removed" in out) == (0, True, True)
    code, made = penstock_json(*delete, "3")
    pipeline.rebuilds.stop()
    assert (code, made["deleted"], made["job"]["status"], made["deployment"]["state"]) == (0, True, "done", "live")
    assert pipeline.rows["flights"] == [b'{"a": 1}']


def test_delete_with_rebuild_makes_live_what_is_computed_anew(penstock: Run, pipeline: MemoryPipeline) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}', b'{"a": 2}', b"kept"]
    delete = ("datasource", "delete", "flights", "--where", "2", "--rebuild", "--yes")
    code, _, said = penstock(*delete)
    assert (code, "`daily` would lose rows" in said) == (1, True)
    assert len(pipeline.rows["flights"]) == 3
    pipeline.rebuilds.start()
    code, out, _ = penstock(*delete, "--allow-destructive-operations")
    pipeline.rebuilds.stop()
    assert code == 0
    assert "is rebuilt: daily (2 rows)" in out
    assert "stays: shots, which the copy `snap` fills" in out
    assert "deployment 1 is live, with daily rebuilt" in out
    assert pipeline.pointer.read().live == 1
