from __future__ import annotations

from starlette.testclient import TestClient

from unit.serve.memory import MemoryPipeline
from unit.serve.sample_parity import DIFFERENT, SAME
from unit.serve.test_deployments import deploy


def test_the_report(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.comparison.report = DIFFERENT
    found = client.get("/v0/diff").json()
    assert (found["same"], found["cut"]) == (False, {"at": "2026-01-02T00:00:00+00:00", "batches": {"sales": 4}})
    assert [problem["code"] for problem in found["differences"]] == ["versions-differ"]
    assert found["tables"][0]["rows"]["sample"][1]["row"] == {"id": 7, "amount": 71}
    assert pipeline.comparison.asked == [("live", "staging", pipeline.comparison.asked[0][2])]


def test_wrong_parameters(client: TestClient, pipeline: MemoryPipeline) -> None:
    for parameters, said in (({"rows": "0"}, "rows"), ({"rows": "1001"}, "1,000"), ({"calls": "101"}, "100")):
        answer = client.get("/v0/diff", params=parameters)
        assert (answer.status_code, said in answer.text) == (400, True)
    answer = client.post("/v0/diff", content=b"\xff")
    assert (answer.status_code, "UTF-8" in answer.text) == (400, True)
    assert pipeline.comparison.asked == []


def test_who_may_not_read_gets_no_rows(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.comparison.report = SAME
    for scopes, sample in ((["deploy"], 0), (["deploy", "read"], 10), (["admin"], 10)):
        secret = pipeline.tokens.create(f"parity-{len(scopes)}-{scopes[0]}", scopes)
        answer = client.get("/v0/diff", headers={"Authorization": f"Bearer {secret}"})
        assert (answer.status_code, pipeline.comparison.asked[-1][2].sample) == (200, sample)
        assert pipeline.comparison.asked[-1][2].shows_parameters == bool(sample)


def test_two_tables_of_one_version(client: TestClient, pipeline: MemoryPipeline) -> None:
    pair = {"left": "sales_1", "right": "sales_2"}
    found = client.get("/v0/diff/tables", params=pair).json()
    assert (found["deployment"]["state"], found["cut"]["batches"]) == ("live", {"sales": 4})
    assert (found["table"]["name"], found["table"]["rows"]["sample"][0]["row"]) == ("sales_2", {"id": 7, "amount": 70})
    assert (
        client.get("/v0/diff/tables", params={**pair, "deployment": "staging"}).json()["deployment"]["state"]
        == "staging"
    )
    assert [each[:2] for each in pipeline.comparison.asked] == [("sales_1", "sales_2")] * 2
    for missing in pair:
        answer = client.get("/v0/diff/tables", params={name: each for name, each in pair.items() if name != missing})
        assert (answer.status_code, f"`{missing}`" in answer.text) == (400, True)


def test_how_many_recorded_calls(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.comparison.report = SAME
    for parameters, most in (({}, 10), ({"calls": "0"}, 0), ({"calls": "25"}, 25)):
        assert client.get("/v0/diff", params=parameters).status_code == 200
        assert pipeline.comparison.asked[-1][2].recorded == most


def test_promote_with_parity_refuses_each_difference(client: TestClient, pipeline: MemoryPipeline) -> None:
    deploy(client, auto_promote="false")
    pipeline.comparison.report = DIFFERENT
    calls = b'{"endpoint": "top"}'
    answer = client.post("/v1/deployments/staging/set-live?require_parity=true&expect=a,%20b.c", content=calls)
    assert (answer.status_code, [each["code"] for each in answer.json()["problems"]]) == (409, ["versions-differ"])
    scope = pipeline.comparison.asked[0][2]
    assert (scope.declared, scope.calls) == (("a", "b.c"), calls.decode())
    assert client.get("/v1/deployments/staging").json()["state"] == "ready"
    pipeline.comparison.report = SAME
    answer = client.post("/v1/deployments/staging/set-live?require_parity=true")
    assert answer.json()["state"] == "live"
