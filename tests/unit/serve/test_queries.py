from __future__ import annotations

import csv
import datetime
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.model.types import Array, Bool, Date, Dynamic, Float, Int, Json, Map, Nullable, String, Tuple
from unit.serve.memory import MemoryPipeline, Result


def test_an_answer_has_the_shape_of_the_interface(client: TestClient) -> None:
    answer = client.get("/v0/sql", params={"q": "SELECT 1 AS a, 'x' AS b"})
    assert answer.json() == {
        "meta": [{"name": "a", "type": "Int64"}, {"name": "b", "type": "String"}],
        "data": [{"a": 1, "b": "x"}],
        "rows": 1,
        "rows_before_limit_at_least": 1,
        "statistics": {"elapsed": 0.01, "rows_read": 3, "bytes_read": 42},
    }


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", "SELECT 1 AS a"),
        ("", "SELECT 1 AS a"),
        ("application/json", '{"q": "SELECT 1 AS a"}'),
        ("application/x-www-form-urlencoded", "q=SELECT+1+AS+a"),
        ("application/x-www-form-urlencoded", "x=2&q=SELECT%201%20AS%20a"),
        ("application/x-www-form-urlencoded", "SELECT 1 AS a"),  # what curl --data sends
        ("application/x-www-form-urlencoded", "SELECT\n1 AS a WHERE 1=1 AND '&q=' != '%20'"),
    ],
)
def test_a_query_may_be_posted(client: TestClient, kind: str, body: str) -> None:
    answer = client.post("/v0/sql?deployment=staging", content=body, headers={"Content-Type": kind})
    assert answer.json()["data"] == [{"a": 1}]


@pytest.mark.parametrize("body", ["limit=5", "limit", "limit=5&q="])
def test_a_form_without_a_query_says_that_it_is_missing(client: TestClient, body: str) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = client.post("/v0/sql", content=body, headers=kind)
    assert (answer.status_code, answer.json()["error"]) == (400, "the parameter `q` is missing")


@pytest.mark.parametrize("name", ["deployment", "__tb__deployment"])
def test_any_read_may_ask_another_deployment(client: TestClient, pipeline: MemoryPipeline, name: str) -> None:
    client.get("/v0/sql", params={"q": "SELECT 1", name: "staging"})
    client.get("/v0/sql", params={"q": "SELECT 1"})
    assert [deployment for _, deployment in pipeline.asked] == ["staging", "live"]
    assert client.get("/v0/pipes/top.json", params={name: "7"}).json()["data"][0]["deployment"] == "7"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_answer_says_which_version_gave_it(client: TestClient, version: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await client.app({**scope, "http_version": version}, receive, send)

    old = TestClient(app, headers=client.headers)
    for path in ("/v0/pipes/top.json", "/v0/sql?q=SELECT+1+AS+a"):
        assert old.get(path).headers["Penstock-Deployment"] == "4"
    assert old.get("/v0/pipes/top.json?old=1").headers["Age"] == "2"


def test_formats(client: TestClient) -> None:
    query = "SELECT 1 AS a, 'x\"y' AS b, NULL AS c"
    assert client.get("/v0/sql", params={"q": f"{query} FORMAT CSVWithNames"}).text == '"a","b","c"\n1,"x""y",\\N\n'
    assert json.loads(client.get("/v0/sql", params={"q": f"{query} FORMAT JSONEachRow"}).text)["b"] == 'x"y'
    wrong = client.get("/v0/sql", params={"q": f"{query} FORMAT JSONEachRows"})
    assert wrong.status_code == 400
    assert wrong.json()["problems"][0]["hint"] == "did you mean `JSONEachRow`?"


def test_documents_are_one_value_of_csv() -> None:
    columns = (("j", Json()), ("d", Dynamic()))
    answer = Result(columns, [('{"a":"x,y","n":1}', ("", "", '"p,q"')), (None, ("", "", "7"))])
    lines = list(csv.reader(b"".join(answer_format("CSVWithNames").write(answer)).decode().splitlines()))
    assert lines == [["j", "d"], ['{"a":"x,y","n":1}', "p,q"], ["\\N", "7"]]


def test_arrays_tuples_and_maps_are_texts_of_clickhouse_in_csv() -> None:
    """Equal to those of ClickHouse, but for a tuple, which has one cell (`test_csv_cells.py`)."""
    columns = (
        ("a", Array(Nullable(String()))),
        ("t", Tuple(((None, Int(8)), (None, Array(Float(64)))))),
        ("m", Map(String(), Tuple((("x", Date()), (None, Bool()))))),
        ("n", Nullable(Tuple(((None, Int(8)),)))),
    )
    values = (["it's", None, 'a "b"\n'], (1, [0.5, float("inf")]), {"k": (datetime.date(2024, 5, 1), True)}, None)
    lines = list(
        csv.reader(b"".join(answer_format("CSVWithNames").write(Result(columns, [values]))).decode().splitlines())
    )
    assert lines[1] == [r"""['it\'s',NULL,'a "b"\n']""", "(1,[0.5,inf])", "{'k':('2024-05-01',true)}", "\\N"]


def test_values_that_an_expression_made_are_shown_by_their_type() -> None:
    columns = (("d", Dynamic()),)
    made = [
        ("UInt8", "0"),
        ("Float64", "1.5"),
        ("Bool", "true"),
        ("String", "7"),
        ("Date", "2020-01-02"),
        ("Float64", "nan"),
    ]
    answer = Result(columns, [((kind, text, None),) for kind, text in made])
    document = json.loads(b"".join(answer_format("JSON").write(answer)))
    assert [row["d"] for row in document["data"]] == [0, 1.5, True, "7", "2020-01-02", None]


def test_totals_are_beside_the_rows() -> None:
    columns = (("k", String()), ("c", Int(64)))
    answer = Result(columns, [("a", 2), ("b", 1)], totals=("", 3))
    document = json.loads(b"".join(answer_format("JSON").write(answer)))
    assert (list(document)[:4], document["totals"]) == (["meta", "data", "totals", "rows"], {"k": "", "c": 3})
    assert (document["data"], document["rows"]) == ([{"k": "a", "c": 2}, {"k": "b", "c": 1}], 2)
    assert b"".join(answer_format("CSVWithNames").write(answer)) == b'"k","c"\n"a",2\n"b",1\n\n"",3\n'
    assert b"".join(answer_format("JSONEachRow").write(answer)) == b'{"k":"a","c":2}\n{"k":"b","c":1}\n'


def test_an_endpoint_gets_its_parameters_and_not_ours(client: TestClient, secrets: dict[str, str]) -> None:
    query = {"token": secrets["read"], "limit": "3", "deployment": "live"}
    answer = client.post("/v0/pipes/top.json", params=query, json={"limit": 4, "day": "x"})
    assert json.loads(answer.json()["data"][0]["parameters"]) == {"limit": "4", "day": "x"}


@pytest.mark.parametrize(
    ("path", "status", "hint"),
    [
        ("/v0/pipes/topp.json", 404, "did you mean `top`?"),
        ("/v0/pipes/top.jsn", 404, "did you mean `top.json`?"),
        ("/v0/pipes/top", 404, "did you mean `top.json`?"),
        ("/v0/sql", 400, None),
        ("/v0/sql?q=SELEC", 400, None),
    ],
)
def test_wrong_calls(client: TestClient, path: str, status: int, hint: str | None) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.json()["problems"][0]["hint"] == hint


def test_a_query_has_a_longest_length(client: TestClient) -> None:
    answer = client.post("/v0/sql", content=b"SELECT 1 AS a" + b" " * 1_000_000)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    assert client.post("/v0/sql", content=b" " * (2**20 + 1)).status_code == 413


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=100),
    st.sampled_from(["", "text/plain", "application/json", "application/x-www-form-urlencoded", "multipart/form-data"]),
    st.sampled_from(["/v0/sql", "/v0/pipes/top.json", "/v0/tokens"]),
)
def test_no_body_is_ever_a_500(client: TestClient, body: bytes, kind: str, path: str) -> None:
    answer = client.post(path, content=body, headers={"Content-Type": kind})
    assert answer.status_code < 500, answer.text


def test_a_large_answer_is_sent_in_pieces_and_whole(client: TestClient, pipeline: MemoryPipeline) -> None:
    """Its rows and the parts around them are those of one document."""
    columns = (("n", Int(64)), ("s", String()))
    rows: list[tuple[object, ...]] = [(at, f"é{at}") for at in range(20_000)]
    answer = Result(columns, rows, totals=(7, ""))
    pieces = list(answer_format("JSON").write(answer))
    assert len(pieces) > 20
    document = json.loads(b"".join(pieces))
    assert [(each["n"], each["s"]) for each in document["data"]] == rows
    assert (document["rows"], document["totals"]) == (20_000, {"n": 7, "s": ""})
    count = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000) SELECT n FROM c"
    for form in ("JSON", "JSONEachRow", "CSVWithNames"):
        sent = client.get("/v0/sql", params={"q": f"{count} FORMAT {form}"})
        assert sent.status_code == 200
        assert "content-length" not in sent.headers
        assert sent.text.count("20000") >= 1
    assert "content-length" in client.get("/v0/sql", params={"q": "SELECT 1"}).headers


def test_an_answer_that_was_kept_says_its_age(client: TestClient) -> None:
    assert client.get("/v0/pipes/top.json?old=1").headers["age"] == "2"
    assert "age" not in client.get("/v0/pipes/top.json").headers


def test_a_call_is_explained_unless_the_endpoint_has_that_parameter(
    client: TestClient, pipeline: MemoryPipeline
) -> None:
    def columns(query: str) -> list[str]:
        answer = client.get(f"/v0/pipes/top.json?{query}")
        return [each["name"] for each in answer.json()["meta"]] if answer.status_code == 200 else [answer.text]

    assert columns("explain=true") == columns("explain") == ["explain"]
    assert columns("explain=false") == ["deployment", "parameters"]
    assert "neither true nor false" in columns("explain=perhaps")[0]
    pipeline.read.add("explain")
    assert columns("explain=perhaps") == ["deployment", "parameters"]


def test_endpoints_are_counted_and_names_that_are_none_are_not(client: TestClient) -> None:
    client.get("/v0/pipes/top.json")
    client.get("/v0/pipes/made_up.json")
    text = client.get("/metrics").text
    assert 'penstock_endpoint_seconds_count{code="ok",endpoint="top"}' in text
    assert "made_up" not in text
