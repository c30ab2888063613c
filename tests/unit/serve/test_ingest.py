from __future__ import annotations

import gzip
import json

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from penstock.model.cursor import PostTerms, SourceSpan
from unit.serve.memory import MemoryPipeline

LINES = b'{"a": 1}\n{"a": 2}\n'
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_acknowledged_means_202_and_wait_means_200(client: TestClient, pipeline: MemoryPipeline) -> None:
    answer = client.post("/v0/events?name=flights", content=LINES + b"nonsense\n")
    assert (answer.status_code, answer.json()) == (202, {"successful_rows": 2, "quarantined_rows": 1})
    assert client.post("/v0/events?name=flights&wait=true", content=LINES).status_code == 200
    assert len(pipeline.rows["flights"]) == 5


def test_what_is_not_queryable_in_time_is_a_408(client: TestClient, pipeline: MemoryPipeline) -> None:
    pipeline.patience = False
    assert client.post("/v0/events?name=flights&wait=true", content=LINES).status_code == 408
    assert len(pipeline.rows["flights"]) == 2


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(LINES)),
        ("GZIP", gzip.compress(LINES[:9]) + gzip.compress(LINES[9:])),
        ("zstd", zstandard.compress(LINES)),
        ("zstd", zstandard.compress(LINES[:9]) + zstandard.compress(LINES[9:])),
        ("identity", LINES),
        ("", gzip.compress(LINES)),
        ("", zstandard.compress(LINES)),
    ],
)
def test_packed_bodies(client: TestClient, pipeline: MemoryPipeline, encoding: str, body: bytes) -> None:
    answer = client.post("/v0/events?name=flights", content=body, headers={"Content-Encoding": encoding})
    assert answer.status_code == 202
    assert pipeline.rows["flights"] == LINES.splitlines()


@pytest.mark.parametrize(
    ("encoding", "body", "status"),
    [
        ("gzip", LINES, 400),
        ("gzip", gzip.compress(LINES)[:-9], 400),
        ("zstd", LINES, 400),
        ("zstd", zstandard.compress(LINES * 20_000)[:-4], 400),
        ("", zstandard.compress(LINES) + zstandard.compress(LINES)[:-1], 400),
        ("br", LINES, 400),
        ("gzip", gzip.compress(b" " * (33 * 2**20)), 413),
        ("zstd", zstandard.compress(b" " * (33 * 2**20)), 413),
        ("identity", b" " * (33 * 2**20), 413),
    ],
)
def test_wrong_and_too_large_bodies(client: TestClient, encoding: str, body: bytes, status: int) -> None:
    answer = client.post("/v0/events?name=flights", content=body, headers={"Content-Encoding": encoding})
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "code", "documentation", "problems", "request_id"}


@pytest.mark.parametrize(
    ("body", "said"), [(LINES, "the body is not gzip"), (gzip.compress(LINES)[:-9], "the body's gzip is damaged")]
)
def test_a_packed_body_that_is_cut_off_is_not_called_unpacked(client: TestClient, body: bytes, said: str) -> None:
    answer = client.post("/v0/events?name=flights", content=body, headers={"Content-Encoding": "gzip"})
    assert answer.json()["error"].startswith(said)


def test_the_same_key_is_one_ingestion(client: TestClient, pipeline: MemoryPipeline) -> None:
    for _ in range(2):
        client.post("/v0/events?name=flights", content=LINES, headers={"Idempotency-Key": "k"})
    assert len(pipeline.rows["flights"]) == 2
    answer = client.post("/v0/events?name=flights", content=LINES, headers={"Idempotency-Key": "k" * 257})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("", 400, "invalid-parameter"),
        ("name=flight", 404, "not-found"),
        ("name=flights&wait=perhaps", 400, "invalid-parameter"),
        ("name=flights&format=xml", 400, "unknown-format"),
    ],
)
def test_wrong_parameters_are_named(client: TestClient, query: str, status: int, code: str) -> None:
    answer = client.post(f"/v0/events?{query}", content=LINES)
    assert answer.status_code == status
    assert answer.json()["problems"][0]["code"] == code


def test_an_unknown_data_source_gets_the_nearest(client: TestClient) -> None:
    answer = client.post("/v0/events?name=flihts", content=LINES)
    assert answer.json()["problems"][0]["hint"] == "did you mean `flights`?"


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        (b'[{"a": 1}, {"a": 2}]', [b'{"a": 1}', b'{"a": 2}']),
        (b'\xef\xbb\xbf\n [\n{"a":\n1}\n]\n', [b'{"a": 1}']),
        (b'{\n  "a": 1\n}', [b'{   "a": 1 }']),
        (b'{"a": 1}\n[broken\n', [b'{"a": 1}', b"[broken"]),
        (b'[broken\n{"a": 1}', [b"[broken", b'{"a": 1}']),
    ],
)
def test_a_document_needs_no_format(
    client: TestClient, pipeline: MemoryPipeline, body: bytes, rows: list[bytes]
) -> None:
    assert client.post("/v0/events?name=flights", content=body).status_code == 202
    assert pipeline.rows["flights"] == rows


@pytest.mark.parametrize("parameters", ["", "&format=ndjson", "&format=json"])
def test_a_mark_before_the_rows_is_no_part_of_the_first(
    client: TestClient, pipeline: MemoryPipeline, parameters: str
) -> None:
    """Some programs begin a text of UTF-8 with it."""
    answer = client.post(f"/v0/events?name=flights{parameters}", content=b"\xef\xbb\xbf" + LINES)
    assert answer.json() == {"successful_rows": 2, "quarantined_rows": 0}
    assert pipeline.rows["flights"] == LINES.splitlines()


def test_a_format_that_is_named_is_kept(client: TestClient, pipeline: MemoryPipeline) -> None:
    assert client.post("/v0/events?name=flights&format=ndjson", content=b'[{"a": 1}]').json()["quarantined_rows"] == 1


def test_an_integer_of_any_length_is_json(client: TestClient, pipeline: MemoryPipeline) -> None:
    long = b'{"a": ' + b"9" * 5000 + b"}"
    assert client.post("/v0/events?name=flights&format=json", content=b"[" + long + b"]").status_code == 202
    assert pipeline.rows["flights"] == [long]


def test_json_keeps_every_digit(client: TestClient, pipeline: MemoryPipeline) -> None:
    body = b'[{"a":\n 18446744073709551615,\r\n"b": 0.10000000000000000001}, {"a": "x\\ny"}]'
    assert client.post("/v0/events?name=flights&format=json", content=body).json()["successful_rows"] == 2
    assert [json.loads(line) for line in pipeline.rows["flights"]] == json.loads(body)
    assert b"18446744073709551615" in pipeline.rows["flights"][0]
    assert b"0.10000000000000000001" in pipeline.rows["flights"][0]


@pytest.mark.parametrize("body", [b"[{}", b"[{},]", b"[1 2]", b"{", b"\xff", b"[" * 100_000, b"", b"[]"])
def test_what_is_no_json_is_a_400(client: TestClient, body: bytes) -> None:
    assert client.post("/v0/events?name=flights&format=json", content=body).status_code == 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@RELAXED
@given(st.lists(json_values, max_size=5), st.sampled_from([None, 2]))
def test_an_array_is_its_elements(
    client: TestClient, pipeline: MemoryPipeline, values: list[object], indent: int | None
) -> None:
    pipeline.rows["flights"].clear()
    client.post("/v0/events?name=flights&format=json", content=json.dumps([{"v": 0}, *values], indent=indent).encode())
    assert [json.loads(line) for line in pipeline.rows["flights"]] == [{"v": 0}, *values]


@RELAXED
@given(
    st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(["ndjson", "json", "JSON", "x"]),
    st.sampled_from(["", "gzip", "zstd", "identity", "x"]),
)
def test_no_body_is_ever_a_500(client: TestClient, body: bytes, form: str, encoding: str) -> None:
    query = {"name": "flights", "format": form}
    answer = client.post("/v0/events", params=query, content=body, headers={"Content-Encoding": encoding})
    assert answer.status_code < 500, answer.text
    assert answer.json()


def test_rows_of_a_source_with_positions(client: TestClient, pipeline: MemoryPipeline) -> None:
    headers = {"Penstock-Source": "shop/orders", "Penstock-Positions": "17.2..19.0"}
    assert client.post("/v0/events?name=flights&columns=a,b", content=LINES, headers=headers).status_code == 202
    assert pipeline.terms == [PostTerms(None, SourceSpan("shop/orders", (17, 2), (19, 0)), ("a", "b"))]
    answer = client.get("/v0/datasources/flights/positions")
    assert answer.json() == {"positions": {"shop/orders": "19.0"}}
    assert client.get("/v0/datasources/flight/positions").status_code == 404
    headers["Penstock-Positions"] = "19.0..20.0"
    assert client.post("/v0/datasources/flights/truncate", headers=headers).status_code == 200
    assert pipeline.terms[1].span == SourceSpan("shop/orders", (19, 0), (20, 0))


@pytest.mark.parametrize(
    "headers",
    [
        {"Penstock-Source": "a"},
        {"Penstock-Positions": "..1"},
        {"Penstock-Source": "", "Penstock-Positions": "..1"},
        {"Penstock-Source": "a" * 257, "Penstock-Positions": "..1"},
        {"Penstock-Source": "a", "Penstock-Positions": "1"},
        {"Penstock-Source": "a", "Penstock-Positions": "1.."},
        {"Penstock-Source": "a", "Penstock-Positions": "2..1"},
        {"Penstock-Source": "a", "Penstock-Positions": "1..1"},
        {"Penstock-Source": "a", "Penstock-Positions": "x..1"},
        {"Penstock-Source": "a", "Penstock-Positions": "..1", "Idempotency-Key": "k"},
    ],
)
def test_wrong_positions(client: TestClient, pipeline: MemoryPipeline, headers: dict[str, str]) -> None:
    answer = client.post("/v0/events?name=flights", content=LINES, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-request")
    assert pipeline.rows["flights"] == []


@pytest.mark.parametrize(
    "call",
    [
        "/v0/events?name=flights",
        "/v0/datasources?name=flights&mode=append",
        "/v0/datasources?name=flights&mode=append&format=csv",
        "/v0/datasources?name=flights&mode=replace&format=ndjson",
    ],
)
def test_a_form_with_a_file_is_no_rows(client: TestClient, call: str) -> None:
    """As `curl -F csv=@rows.csv` sends it; its lines are not of the file alone."""
    answer = client.post(call, files={"csv": ("rows.csv", b"a\n1\n")})
    assert (answer.status_code, answer.json()["error"]) == (400, "the body is a form, in which a file is a part")
    assert "--data-binary" in answer.json()["problems"][0]["hint"]
