"""Templated endpoints and views on a real pipeline, over HTTP: parameters in, rows out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jwt
import pytest
from starlette.testclient import TestClient

from deploy.conftest import Running
from penstock.errors import InvalidProject
from penstock.serve.app import create_app
from penstock.serve.http.json_web_tokens import SignedTokens
from penstock.serve.http.pipeline_host import PipelineHost

HITS = """SCHEMA >
    `at` DateTime `json:$.at`,
    `path` String `json:$.path`,
    `n` Int32 `json:$.n`
ENGINE MergeTree
ENGINE_SORTING_KEY at
"""
SUMS = "SCHEMA >\n    `path` String,\n    `n` Int32\nENGINE MergeTree\nENGINE_SORTING_KEY path\n"
VIEW = """NODE n
SQL >
    %
    SELECT path, n FROM tt_hits WHERE n >= {{ Int32(least, 2) }}
TYPE materialized
DATASOURCE tt_big
"""
PARSED = """NODE n
SQL >
    %
    SELECT at, path, n FROM tt_hits WHERE 1
    {% if defined(since) %} AND at >= {{ DateTime(since) }} {% end %}
"""
TOP = """NODE chosen
SQL >
    %
    SELECT {{ column(by, 'path') }} AS k, n FROM tt_parsed
    WHERE path IN {{ Array(paths, 'String', '/,/a,it''s') }}
NODE top
SQL >
    %
    {% if not defined(user) %}{{ custom_error({'error': 'who are you?', 'error_id': 7}, 401) }}{% end %}
    {% if mode == 'all' %}
    SELECT {{ String(user) }} AS user, k, n FROM chosen ORDER BY n
    {% else %}
    SELECT {{ String(user) }} AS user, k, sum(n) AS n FROM chosen GROUP BY k ORDER BY k
    {% end %}
    LIMIT {{ Int32(limit, 10, enum=[1, 2, 10]) }} OFFSET {{ Int32(page, 0) * Int32(limit, 10) }}
TYPE endpoint
""".replace("''", "\\'")
KEPT = """NODE n
SQL >
    %
    {{ cache_ttl('1h') }}
    SELECT {{ String(user, '-') }} AS user, count() AS n FROM tt_counted
TYPE endpoint
"""
FILES = {
    "datasources/tt_counted.datasource": SUMS,
    "pipes/tt_kept.pipe": KEPT,
    "datasources/tt_hits.datasource": HITS,
    "datasources/tt_big.datasource": SUMS,
    "pipes/tt_view.pipe": VIEW,
    "pipes/tt_parsed.pipe": PARSED,
    "pipes/tt_top.pipe": TOP,
}
ROWS = [
    {"at": "2024-01-01 00:00:00", "path": "/", "n": 1},
    {"at": "2024-01-02 00:00:00", "path": "/a", "n": 2},
    {"at": "2024-01-03 00:00:00", "path": "it's", "n": 3},
    {"at": "2024-01-04 00:00:00", "path": "/", "n": 4},
    {"at": "2024-01-05 00:00:00", "path": "/b", "n": 5},
]


@pytest.fixture(scope="module")
def client(running: Running) -> TestClient:
    assert running.deploy(FILES).state == "live"
    running.post("tt_hits", ROWS)
    return running.over_http("templates")


def rows(client: TestClient, **parameters: str) -> list[tuple[object, ...]]:
    answer = client.get("/v0/pipes/tt_top.json", params={"user": "u", **parameters})
    assert answer.status_code == 200, answer.text
    return [tuple(row.values()) for row in answer.json()["data"]]


def test_each_call_gets_its_own_answer(client: TestClient) -> None:
    assert rows(client) == [("u", "/", 5), ("u", "/a", 2), ("u", "it's", 3)]
    assert rows(client, since="2024-01-02 00:00:00", other="x") == [("u", "/", 4), ("u", "/a", 2), ("u", "it's", 3)]
    assert rows(client, mode="all", limit="2", page="1") == [("u", "it's", 3), ("u", "/", 4)]
    assert rows(client, by="n", paths="/b") == [("u", 5, 5)]
    assert rows(client, user="'; DROP TABLE \\", paths="it's") == [("'; DROP TABLE \\", "it's", 3)]


def test_parameters_in_a_json_body(client: TestClient) -> None:
    answer = client.post("/v0/pipes/tt_top.json", json={"user": "u", "paths": ["/b", "it's"], "limit": 1, "page": 1})
    assert [tuple(row.values()) for row in answer.json()["data"]] == [("u", "it's", 3)]


def test_wrong_calls_are_refused_with_the_reason(client: TestClient) -> None:
    for given, code, said in (
        ({"limit": "1 OR 1"}, "invalid-parameter", "parameter `limit`: '1 OR 1' is no Int32"),
        ({"limit": "3"}, "invalid-parameter", "parameter `limit`: '3' is not one of its values"),
        (
            {"since": "2024-02-30 00:00:00"},
            "invalid-parameter",
            "parameter `since`: '2024-02-30 00:00:00' is no DateTime",
        ),
        ({"by": "a`b"}, "invalid-parameter", "parameter `by`: a name that is empty"),
        ({"by": "nope"}, "unknown-column", "unknown column `nope`"),
    ):
        answer = client.get("/v0/pipes/tt_top.json", params={"user": "u", **given})
        assert answer.status_code == 400, answer.text
        problem, *_ = [each for each in answer.json()["problems"] if each["code"] == code]
        assert problem["message"].startswith(said)
        assert problem["file"].startswith("pipes/tt_")
        assert problem["line"] > 3
    answer = client.get("/v0/pipes/tt_top.json")
    assert (answer.status_code, answer.json()["error"], answer.json()["error_id"]) == (401, "who are you?", 7)


def test_sql_may_be_a_template(client: TestClient) -> None:
    query = "% SELECT count() AS c FROM tt_hits WHERE path = {{ String(p) }} FORMAT JSON"
    answer = client.get("/v0/sql", params={"q": query, "p": "it's"})
    assert answer.json()["data"] == [{"c": 1}], answer.text
    assert client.get("/v0/sql", params={"q": query}).json()["problems"][0]["code"] == "missing-parameter"
    secret = client.get("/v0/sql", params={"q": "% SELECT {{ tb_secret('a') }} AS s"})
    assert secret.json()["problems"][0]["code"] == "template-secret"


Signed = Callable[..., TestClient]


@pytest.fixture(scope="module")
def signed(client: TestClient, running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signed]:
    """Makes a client whose token has these scopes."""
    file: Path = tmp_path_factory.mktemp("keys") / "admin_token"
    secret = running.pipeline.tokens.create("signer", ("admin",))
    file.write_text(secret)
    host = PipelineHost()
    host.opened(running.pipeline)
    host.signed_tokens = SignedTokens(file)
    server = TestClient(create_app(host))

    def make(*scopes: dict[str, object]) -> TestClient:
        token = jwt.encode({"exp": time.time() + 600, "scopes": scopes}, secret, "HS256")
        made = TestClient(server.app, headers={"Authorization": f"Bearer {token}"})
        made.portal = server.portal  # all calls in one event loop, as on a server
        return made

    with server:
        yield make


def test_a_signed_token_reads_its_rows_only(signed: Signed) -> None:
    hits = {"type": "DATASOURCES:READ", "resource": "tt_hits", "filter": "path = '/' -- its own"}
    one = signed(hits, {"type": "PIPES:READ", "resource": "tt_top"})
    for query in (
        "SELECT n FROM tt_hits ORDER BY n",
        "SELECT h.n FROM tt_hits AS h WHERE h.path = '/' OR 1 = 1 ORDER BY n",
        "SELECT n FROM (SELECT '/' AS path, n FROM tt_hits) ORDER BY n",
        "WITH c AS (SELECT * FROM tt_hits) SELECT n FROM c WHERE n IN (SELECT n FROM tt_hits) ORDER BY n",
        "SELECT n FROM tt_hits WHERE n <= (SELECT max(n) FROM tt_hits) ORDER BY n",
        "SELECT a.n AS n FROM tt_hits AS a JOIN tt_hits AS b ON a.n = b.n ORDER BY n",
        "SELECT n FROM (SELECT n FROM tt_hits UNION DISTINCT SELECT n FROM tt_hits) ORDER BY n",
    ):
        answer = one.get("/v0/sql", params={"q": query})
        assert [row["n"] for row in answer.json()["data"]] == [1, 4], (query, answer.text)
    assert rows(one) == [("u", "/", 5)]
    assert one.get("/v0/sql", params={"q": "EXPLAIN SELECT n FROM tt_hits"}).status_code == 403
    assert one.get("/v0/sql", params={"q": "SELECT n FROM tt_big"}).status_code == 403
    for condition, said in (
        ("pat = '/'", "unknown column `pat`"),
        ("n IN (SELECT n FROM tt_big)", "a SELECT is not allowed"),
        ("1, 1, 0)) = 1 OR (if(1", "expected"),
    ):
        answer = signed({**hits, "filter": condition}).get("/v0/sql", params={"q": "SELECT n FROM tt_hits"})
        assert (answer.status_code, said in answer.json()["error"]) == (403, True), answer.text
    wrong = signed({**hits, "resource": "tt_parsed"}).get("/v0/sql", params={"q": "SELECT n FROM tt_parsed"})
    assert (wrong.status_code, "which is a pipe" in wrong.json()["error"]) == (403, True), wrong.text


def test_callers_with_different_fixed_parameters_get_their_own_answers(signed: Signed) -> None:
    def call(user: int) -> tuple[int, list[object]]:
        fixed = {"user": user, "limit": 1, "mode": "all", "page": user % 4}
        one = signed({"type": "PIPES:READ", "resource": "tt_top", "fixed_params": fixed})
        answer = one.post("/v0/pipes/tt_top.json?user=0&page=0", json={"user": "other", "limit": "10"})
        assert answer.status_code == 200, answer.text
        return user, [tuple(row.values()) for row in answer.json()["data"]]

    paths = ["/", "/a", "it's", "/"]
    with ThreadPoolExecutor(10) as threads:
        for user, found in threads.map(call, range(10)):
            assert found == [(str(user), paths[user % 4], user % 4 + 1)]
    unread = signed({"type": "PIPES:READ", "resource": "tt_top", "fixed_params": {"org": 1}})
    answer = unread.get("/v0/pipes/tt_top.json?user=u&org=1")
    assert (answer.status_code, "fixes the parameter `org`" in answer.json()["error"]) == (403, True), answer.text


def test_an_answer_is_kept_for_its_call_version_and_token(client: TestClient, running: Running, signed: Signed) -> None:
    def count(of: TestClient, **given: str) -> tuple[str, int, bool]:
        answer = of.get("/v0/pipes/tt_kept.json", params=given)
        assert answer.status_code == 200, answer.text
        (row,), statistics = answer.json()["data"], answer.json()["statistics"]
        is_kept = "age" in answer.headers
        assert is_kept == (statistics["rows_read"] == 0) or not row["n"]
        return row["user"], row["n"], is_kept

    pipe = {"type": "PIPES:READ", "resource": "tt_kept"}
    rows_of_a = {"type": "DATASOURCES:READ", "resource": "tt_counted", "filter": "path = 'a'"}
    running.post("tt_counted", [{"path": "a", "n": 1}, {"path": "b", "n": 1}])
    assert [count(client), count(client, user="-"), count(client), count(client, nothing="x")] == [
        ("-", 2, False),
        ("-", 2, False),
        ("-", 2, True),
        ("-", 2, True),
    ]
    running.post("tt_counted", [{"path": "a", "n": 1}])
    assert count(client) == ("-", 2, True)
    assert count(client, user="u") == ("u", 3, False)
    fixed = signed({**pipe, "fixed_params": {"user": "v"}})
    assert [count(fixed), count(fixed, user="u")] == [("v", 3, False), ("v", 3, True)]
    filtered = signed(pipe, rows_of_a)
    assert [count(filtered), count(filtered), count(signed(pipe))] == [("-", 2, False), ("-", 2, True), ("-", 2, True)]
    assert count(signed(pipe, {**rows_of_a, "filter": "path = 'b'"})) == ("-", 1, False)
    running.deploy({"pipes/tt_more.pipe": "NODE n\nSQL >\n    SELECT 1 AS one\nTYPE endpoint\n"})
    assert [count(client), count(client, deployment="previous")] == [("-", 3, False), ("-", 2, True)]


def test_a_call_can_be_explained(client: TestClient, signed: Signed) -> None:
    def explain(of: TestClient) -> tuple[int, str]:
        answer = of.get("/v0/pipes/tt_top.json", params={"user": "u", "explain": "true"})
        return answer.status_code, answer.text

    status, text = explain(client)
    assert (status, "Spark SQL:" in text, "tt_hits: columns" in text) == (200, True, True), text
    top, hits = {"type": "PIPES:READ", "resource": "tt_top"}, {"type": "DATASOURCES:READ", "resource": "tt_hits"}
    assert explain(signed(top))[0] == 403
    assert explain(signed(top, {**hits, "filter": "n = 1"}))[0] == 403
    assert explain(signed(top, hits))[0] == 200


def test_a_templated_view_uses_its_defaults(client: TestClient, running: Running) -> None:
    assert sorted(running.ask("SELECT path, n FROM tt_big")) == [("/", 4), ("/a", 2), ("/b", 5), ("it's", 3)]


def test_openapi(client: TestClient) -> None:
    paths = client.get("/v0/pipes/openapi.json").json()["paths"]
    named = {each["name"] for each in paths["/v0/pipes/tt_top.json"]["get"]["parameters"]}
    assert named >= {"user", "mode", "limit", "page", "by", "paths", "since"}


def test_wrong_templates_are_refused_before_deployment(client: TestClient, running: Running) -> None:
    with pytest.raises(InvalidProject) as refused:
        running.deploy({"pipes/tt_parsed.pipe": PARSED.replace("AND at", "AND att")})
    assert "unknown column `att`" in " ".join(str(problem) for problem in refused.value.problems)
