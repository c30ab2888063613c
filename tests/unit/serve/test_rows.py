"""Rows over HTTP: bulk appends, replacements, truncation and quarantines."""

from __future__ import annotations

import gzip

import pytest
from starlette.testclient import TestClient

from penstock.serve.calls import rows
from unit.serve.memory import MemoryPipeline

LINES = b'{"a": 1}\n{"a": 2}\n'


def test_rows_are_appended_or_replace_all_rows(client: TestClient, pipeline: MemoryPipeline) -> None:
    assert client.post("/v0/datasources?name=flights", content=LINES).status_code == 202
    answer = client.post("/v0/datasources?name=flights&mode=append&wait=true", content=LINES)
    assert (answer.status_code, answer.json()) == (200, {"successful_rows": 2, "quarantined_rows": 0})
    assert len(pipeline.rows["flights"]) == 4
    answer = client.post("/v0/datasources?name=flights&mode=replace&format=json", content=b'[{"a": 3}]')
    assert (answer.status_code, answer.json()) == (202, {"successful_rows": 1, "quarantined_rows": 0})
    assert pipeline.rows["flights"] == [b'{"a": 3}']
    wrong = client.post("/v0/datasources?name=flights&mode=replase", content=LINES)
    assert wrong.status_code == 400
    assert "did you mean `replace`?" in wrong.json()["error"]
    assert pipeline.rows["flights"] == [b'{"a": 3}']


def test_a_token_that_only_appends_replaces_nothing(client: TestClient, pipeline: MemoryPipeline) -> None:
    secret = pipeline.tokens.create("tracker", ("append:flights",))
    sent = {"Authorization": f"Bearer {secret}"}
    assert client.post("/v0/datasources?name=flights", content=LINES, headers=sent).status_code == 202
    answer = client.post("/v0/datasources?name=flights&mode=replace", content=b'{"a": 3}', headers=sent)
    assert (answer.status_code, "deploy" in answer.text) == (403, True)
    assert pipeline.rows["flights"] == LINES.splitlines()


def test_a_truncation_is_previewed_and_carried_out(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}']
    shown = client.post("/v0/datasources/flights/truncate?check=true").json()
    assert (shown["truncated"], shown["traces"]["derived"]) == (False, [{"name": "daily", "rows": 2}])
    assert pipeline.rows["flights"]
    done = client.post("/v0/datasources/flights/truncate")
    assert (done.status_code, done.json()["truncated"]) == (200, True)
    assert pipeline.rows["flights"] == []
    assert client.post("/v0/datasources/flights/truncate?wait=false").status_code == 202
    assert client.post("/v0/datasources/flihts/truncate").status_code == 404
    actions = [(each.action, each.outcome) for each in pipeline.audit.recent(10)]
    assert ("truncate", "ok") in actions


def test_a_quarantine_is_shown_replayed_and_cleared(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}', b"one", b"two"]
    shown = client.get("/v0/datasources/flights/quarantine?limit=1").json()
    assert (shown["rows"], len(shown["newest"])) == (2, 1)
    assert shown["reasons"] == [{"column": None, "reason": "not JSON", "rows": 2}]
    assert client.get("/v0/datasources/flights/quarantine?limit=many").status_code == 400
    job = client.post("/v0/datasources/flights/quarantine/replay")
    assert (job.status_code, job.json()["job"]["kind"]) == (202, "replay")
    assert client.post("/v0/datasources/flights/quarantine/clear").json() == {"removed_rows": 2}
    assert client.get("/v0/datasources/flihts/quarantine").status_code == 404


def test_a_rebuild_is_planned_before_rows_go_and_begun_afterwards(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline.rows |= {"flights": [b'{"a": 1}', b'{"a": 2}', b"kept"], "alone": [b'{"a": 2}']}
    path, asked = "/v0/datasources/flights/delete", {"where": "2", "rebuild": "true"}
    refused = client.post(path, params=asked)
    assert (refused.status_code, refused.json()["problems"][0]["code"]) == (400, "rebuild-differs")
    allowed = {**asked, "allow_destructive_operations": "true"}
    shown = client.post(path, params={**allowed, "check": "true"}).json()
    assert (shown["rebuild"]["resources"][0]["name"], shown["deleted"], "deployment" in shown) == (
        "daily",
        False,
        False,
    )
    assert len(pipeline.rows["flights"]) == 3
    with monkeypatch.context() as late:
        late.setattr(rows, "WAIT_SECONDS", 0.0)
        refused = client.post(path, params={**allowed, "auto_promote": "false"})
    assert (refused.status_code, "goes on by itself" in refused.text) == (408, True)
    assert pipeline.list_deployments() == ()
    pipeline.rebuilds.run_once()
    begun = client.post(path, params={**asked, "wait": "false"})
    assert (begun.status_code, begun.json()["deleted"], begun.json()["job"]["status"]) == (202, True, "done")
    again = client.post(path, params=asked).json()
    assert (again["rows"], again["deployment"]["state"]) == (0, "ready"), "it goes on with the one under way"
    assert len(pipeline.list_deployments()) == 1
    pipeline.rebuilds.start()
    alone = client.post("/v0/datasources/alone/delete", params=asked).json()
    pipeline.rebuilds.stop()
    assert (alone["deleted"], alone["rebuild"], alone["deployment"]) == (True, None, None)


def test_a_deletion_is_counted_and_carried_out(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.rows["flights"] = [b'{"a": 1}', b'{"a": 2}', b'{"a": 21}']
    path = "/v0/datasources/flights/delete"
    shown = client.post(path, params={"where": "2", "check": "true"}).json()
    assert (shown["rows"], shown["deleted"], shown["traces"]["rows"]) == (2, False, 3)
    assert len(pipeline.rows["flights"]) == 3
    done = client.post(path, data={"delete_condition": "2"})
    assert (done.status_code, done.json()["deleted"]) == (200, True)
    assert pipeline.rows["flights"] == [b'{"a": 1}']
    assert client.post(path).status_code == 400
    entry = next(each for each in pipeline.audit.recent(10) if each.action == "delete rows" and each.outcome == "ok")
    assert (entry.target, "where" in entry.details) == ("flights, 2 rows", False), "whose rows is not written down"


def test_files(client: TestClient, pipeline: MemoryPipeline) -> None:
    asked = {"name": "flights", "format": "csv", "dialect_delimiter": ";", "header": "false"}
    answer = client.post("/v0/datasources", params=asked, content=gzip.compress(b"1;2\n"))
    assert (answer.status_code, answer.json()) == (202, {"successful_rows": 1, "quarantined_rows": 0})
    content, form = pipeline.files_sent[-1]
    assert (content, form.delimiter, form.has_header, form.repeats_first) == (b"1;2\n", ";", False, False)
    asked = {"name": "flights", "format": "parquet", "mode": "replace", "wait": "true"}
    assert client.post("/v0/datasources", params=asked, content=b"PAR1").status_code == 200
    for wrong in ({"dialect_delimiter": ""}, {"dialect_delimiter": '"'}, {"header": "perhaps"}, {"mode": "upsert"}):
        asked = {"name": "flights", "format": "csv", **wrong}
        assert client.post("/v0/datasources", params=asked, content=b"1").status_code == 400, wrong
    assert len(pipeline.files_sent) == 2
