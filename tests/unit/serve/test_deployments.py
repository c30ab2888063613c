from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from penstock.serve.calls import deployments
from unit.serve.memory import Event, MemoryPipeline

SOURCE = "SCHEMA >\n    a UInt8 `json:$.a`,\n    t DateTime `json:$.t`\n"
ENDPOINT = "NODE n\nSQL >\n    SELECT a FROM flights\nTYPE endpoint\n"
FILES = {"datasources/flights.datasource": SOURCE, "endpoints/top.pipe": ENDPOINT}


def upload(files: dict[str, str | bytes]) -> list[tuple[str, tuple[str, bytes]]]:
    pairs = [(path, text.encode() if isinstance(text, str) else text) for path, text in files.items()]
    return [("files", pair) for pair in pairs]


def deploy(client: TestClient, **parameters: str) -> dict[str, object]:
    answer = client.post("/v1/deploy", params=parameters, files=upload(dict(FILES)))
    assert answer.is_success, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_deployment_comes_back_with_its_plan(client: TestClient) -> None:
    made = deploy(client, auto_promote="false", name="first", allow_destructive_operations="true")
    assert (made["id"], made["name"], made["state"], made["problems"]) == (1, "first", "ready", [])
    assert made["files"] == sorted(FILES)
    assert isinstance(made["plan"], dict)
    assert made["plan"]["allowed"] is True
    assert client.get("/v1/deployments/staging").json() == made


def test_a_check_keeps_nothing(client: TestClient) -> None:
    assert deploy(client, check="true")["id"] == 0
    assert client.get("/v1/deployments").json() == {"deployments": []}


def test_problems_of_the_project_have_their_place(client: TestClient) -> None:
    answer = client.post("/v1/deploy", files=upload({"a.datasource": "SCHEMA >\n    a UInt7\n", "b.pipe": "NOD n\n"}))
    assert answer.status_code == 400
    places = {(each["file"], each["line"], each["column"]) for each in answer.json()["problems"]}
    assert {("a.datasource", 2, 7), ("b.pipe", 1, 1)} <= places


def test_the_moves(client: TestClient) -> None:
    deploy(client)
    assert client.post("/v1/deployments/rollback").status_code == 409
    deploy(client, auto_promote="false")
    assert client.post("/v1/deployments/2/set-live").json()["state"] == "live"
    assert client.post("/v1/deployments/rollback").json()["id"] == 1
    assert client.post("/v1/deployments/2/retire").status_code == 409
    deploy(client, auto_promote="false", name="third")
    assert client.delete("/v1/deployments/third").json()["state"] == "discarded"
    states = [each["state"] for each in client.get("/v1/deployments").json()["deployments"]]
    assert states[0] == "discarded"
    assert client.post("/v1/deployments/9/set-live").status_code == 404


def test_a_call_that_says_so_goes_on_with_the_candidate_of_the_same_call(client: TestClient) -> None:
    first = deploy(client, auto_promote="false")
    assert deploy(client, auto_promote="false")["id"] == 2
    again = deploy(client, auto_promote="false", continue_candidate="true")
    assert (again["id"], again["continued"]) == (2, True)
    assert "continued" not in first
    assert deploy(client, auto_promote="true", continue_candidate="true")["id"] == 3


def test_events_are_a_stream_that_ends(client: TestClient) -> None:
    deploy(client)
    answer = client.get("/v1/deployments/live/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    first, second, _ = answer.text.split("\n\n")
    assert first.startswith("event: progress\ndata: ")
    assert json.loads(second.partition("data: ")[2])["state"] == "live"
    assert client.get("/v1/deployments/9/events").status_code == 404


def test_a_stream_in_which_nothing_happens_shows_that_it_lives(
    client: TestClient, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployments, "KEEP_ALIVE_SECONDS", 0.01)
    pause = threading.Event()

    def slow(number: int) -> Iterator[Event]:
        threading.Timer(0.2, pause.set).start()
        pause.wait(30)
        yield Event("state", 0.0, {"state": "live"})

    monkeypatch.setattr(pipeline, "events", slow)
    deploy(client)
    text = client.get("/v1/deployments/live/events").text
    assert text.startswith(": still here\n\n")
    assert text.endswith('data: {"at":0.0,"state":"live"}\n\n')


def test_rows_are_looked_at_unless_the_call_says_otherwise(client: TestClient) -> None:
    assert deploy(client)["plan"]["check_rows"] is True  # type: ignore[index]
    assert deploy(client, check_rows="false")["plan"]["check_rows"] is False  # type: ignore[index]


def test_a_deployment_that_another_one_has_overtaken_is_stale(client: TestClient) -> None:
    deploy(client, auto_promote="false")
    deploy(client)
    found = {each["id"]: each["stale"] for each in client.get("/v1/deployments").json()["deployments"]}
    assert found == {1: True, 2: False}


def test_what_a_deployment_has(client: TestClient) -> None:
    deploy(client)
    listed = client.get("/v0/datasources").json()["datasources"]
    assert listed == [{"name": "flights", "table": "flights", "rows": 0}]
    shown = client.get("/v0/datasources/flights?deployment=1").json()
    assert shown["columns"] == [{"name": "a", "type": "UInt8"}, {"name": "t", "type": "DateTime"}]
    assert client.get("/v0/datasources/flight").json()["problems"][0]["hint"] == "did you mean `flights`?"
    assert client.get("/v0/pipes").json() == {"pipes": [{"name": "top", "description": ""}]}


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"a.datasource": b"\xff"}, "not-utf-8"),
        ({"../a.datasource": b"x"}, "path-outside"),
        ({"/etc/a.datasource": b"x"}, "path-outside"),
        ({"..\\a.datasource": b"x"}, "path-outside"),
        ({"a/../../b.datasource": b"x"}, "path-outside"),
        ({"c:a.datasource": b"x"}, "path-outside"),
        ({"a\u202e.datasource": b"x"}, "invalid-path"),
        ({".": b"x"}, "invalid-path"),
        ({"a" * 1001: b"x"}, "path-too-long"),
    ],
)
def test_wrong_files(client: TestClient, files: dict[str, str | bytes], code: str) -> None:
    answer = client.post("/v1/deploy", files=upload(files))
    assert answer.status_code == 400
    assert answer.json()["problems"][0]["code"] == code


def test_a_file_twice_and_one_without_a_name(client: TestClient) -> None:
    twice = upload(dict(FILES)) + upload(dict(FILES))
    assert client.post("/v1/deploy", files=twice).json()["problems"][0]["code"] == "file-twice"
    answer = client.post("/v1/deploy", files={"x": (None, b"SCHEMA")})
    assert answer.json()["problems"][0]["code"] == "nameless-file"


def test_too_many_files_are_a_400(client: TestClient) -> None:
    answer = client.post("/v1/deploy?check=1", files=upload({f"{each}.txt": b"" for each in range(10_001)}))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-request")


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data", "multipart/form-data; boundary="])
def test_what_is_no_form_is_a_400(client: TestClient, kind: str) -> None:
    assert client.post("/v1/deploy", content=b"x", headers={"Content-Type": kind}).status_code == 400


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(
            [
                b"--b",
                b"--",
                b"\r\n",
                b"\n",
                b"Content-Disposition: form-data; name=x; filename=",
                b"a.pipe",
                b'"a.pipe"',
                b"Content-Disposition: ",
                b"NODE n\r\nSQL >\r\n  SELECT 1",
                b"\xff",
                b"\x00",
                b";",
                b"charset=x",
            ]
        ),
        max_size=14,
    ),
    st.sampled_from(["boundary=b", "boundary=b; charset=utf-16", "boundary=b; charset=nope", "boundary=\xff", "x"]),
)
def test_no_body_is_ever_a_500(client: TestClient, parts: list[bytes], rest: str) -> None:
    kind = f"multipart/form-data; {rest}".encode("latin-1")
    answer = client.post("/v1/deploy?check=1", content=b"".join(parts), headers={b"Content-Type": kind})
    assert answer.status_code < 500, answer.text
