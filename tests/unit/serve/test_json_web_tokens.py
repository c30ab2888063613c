"""Tokens that the admin token signed: what they allow, what they fix, when they end, and every way to forge one."""

from __future__ import annotations

import base64
import hmac
import json
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from starlette.testclient import TestClient

from penstock.deploy.queries.caller_rights import CallerRights
from penstock.serve.app import create_app
from penstock.serve.http.json_web_tokens import SignedTokens
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.signed_claims import read_claims
from penstock.state.tokens import ApiTokens
from penstock.template.render_frame import ListParameter
from unit.serve.memory import MemoryPipeline

TOP = {"type": "PIPES:READ", "resource": "top"}
ROWS = b'{"a": 1}\n'
ROWS_OF_FLIGHTS = {"type": "DATASOURCES:READ", "resource": "flights"}


@pytest.fixture
def key(tokens: ApiTokens, host: PipelineHost, tmp_path: Path) -> Iterator[str]:
    """The admin token of the server's folder."""
    secret = tokens.create("signer", ("admin",))
    (tmp_path / "admin_token").write_text(f"{secret}\n")
    host.signed_tokens = SignedTokens(tmp_path / "admin_token")
    yield secret
    if any(token.name == "signer" for token in tokens.list()):
        tokens.remove("signer")


def sign(key: Any, *scopes: object, algorithm: str = "HS256", headers: dict | None = None, **claims: object) -> str:
    payload = {"name": "app", "exp": time.time() + 60, "scopes": list(scopes), **claims}
    return jwt.encode({k: v for k, v in payload.items() if v is not None}, key, algorithm, headers)


def of(host: PipelineHost, token: str) -> TestClient:
    return TestClient(create_app(host), headers={"Authorization": f"Bearer {token}"})


def parameters(answer: Any) -> dict:
    assert answer.status_code == 200, answer.text
    return json.loads(answer.json()["data"][0]["parameters"])


def test_a_signed_token_reads_and_appends_what_it_names(host: PipelineHost, key: str, pipeline: MemoryPipeline) -> None:
    one = of(host, sign(key, TOP, {"type": "DATASOURCES:APPEND", "resource": "flights"}))
    assert one.get("/v0/pipes/top.json").status_code == 200
    assert one.get(f"/v0/pipes/top.json?token={sign(key, TOP)}").status_code == 200
    assert one.post("/v0/events?name=flights", content=ROWS).status_code == 202
    assert one.post("/v0/events?name=planes", content=ROWS).status_code == 403
    for path in (
        "/v0/pipes/other.json",
        "/v0/sql?q=SELECT+1+FROM+flights",
        "/metrics",
        "/v0/tokens",
        "/v1/deployments",
    ):
        assert one.get(path).status_code == 403, path
    reader = of(host, sign(key, {"type": "DATASOURCES:READ", "resource": "flights"}))
    assert reader.post("/v0/events?name=flights", content=ROWS).status_code == 403
    assert "jwt:app" in one.get("/metrics").json()["error"]


def test_a_signed_token_sends_no_positions_of_a_source(host: PipelineHost, key: str) -> None:
    """Whoever sent a far position would have the rows of the source itself left out from then on."""
    one = of(host, sign(key, {"type": "DATASOURCES:APPEND", "resource": "flights"}))
    headers = {"Penstock-Source": "shop/orders", "Penstock-Positions": "..9999999999"}
    answer = one.post("/v0/events?name=flights", content=ROWS, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert one.get("/v0/datasources/flights/positions").status_code == 403
    by_server = TestClient(create_app(host), headers={"Authorization": f"Bearer {key}"})
    assert by_server.post("/v0/events?name=flights", content=ROWS, headers=headers).status_code == 202


def test_fixed_parameters_win_however_a_call_sends_its_own(host: PipelineHost, key: str) -> None:
    one = of(host, sign(key, {**TOP, "fixed_params": {"org": 7, "paid": True}}))
    wanted = {"org": "7", "paid": "true"}
    assert parameters(one.get("/v0/pipes/top.json?org=8&x=1")) == {**wanted, "x": "1"}
    assert parameters(one.post("/v0/pipes/top.json?org=9", json={"org": 8})) == wanted
    assert parameters(one.post("/v0/pipes/top.json", data={"org": ["1", "2"], "paid": "no"})) == wanted
    assert parameters(one.get("/v0/pipes/top.json?org=8&org=9")) == wanted


def test_a_fixed_list_is_one_parameter_whose_elements_may_have_commas(host: PipelineHost, key: str) -> None:
    one = of(host, sign(key, {**TOP, "fixed_params": {"org": ["a,b", 2**70, 1.5, True]}}))
    sent = f'["a,b", {2**70}, 1.5, true]'
    assert parameters(one.post("/v0/pipes/top.json", json={"org": ["c"]})) == {"org": sent}
    token = read_claims({"scopes": [{**TOP, "fixed_params": {"org": json.loads(sent)}}]}, b"")
    assert token.fixed == {"top": {"org": ListParameter(sent, ("a,b", str(2**70), "1.5", "true"))}}


def test_a_fixed_parameter_that_the_endpoint_does_not_read_forbids_the_call(
    host: PipelineHost, key: str, pipeline: MemoryPipeline
) -> None:
    one = of(host, sign(key, {**TOP, "fixed_params": {"org": 7}}))
    assert one.get("/v0/pipes/top.json").status_code == 200
    pipeline.read.remove("org")
    answer = one.get("/v0/pipes/top.json?org=7")
    assert answer.status_code == 403
    assert "fixes the parameter `org`, which `top` does not read" in answer.json()["error"]


def test_sql_does_not_read_an_endpoint_with_fixed_parameters(
    host: PipelineHost, key: str, pipeline: MemoryPipeline
) -> None:
    asked: list[CallerRights] = []
    answer = pipeline.sql
    pipeline.sql = lambda *given: asked.append(given[2]) or answer(*given)  # type: ignore[method-assign, func-returns-value]
    rows = {"type": "DATASOURCES:READ", "resource": "hits", "filter": "org = 7"}
    of(host, sign(key, {**TOP, "fixed_params": {"org": 7}})).get("/v0/sql?q=SELECT+1")
    of(host, sign(key, TOP, rows)).get("/v0/sql?q=SELECT+1")
    assert [each.may("top") for each in asked] == [False, True]
    assert [dict(each.filters) for each in asked] == [{}, {"hits": "org = 7"}]
    assert [each.may("hits") for each in asked] == [False, True]


def test_a_table_with_a_filter_is_not_open_as_a_whole(host: PipelineHost, key: str) -> None:
    rows = {"type": "DATASOURCES:READ", "resource": "flights", "filter": "a = 7"}
    for method in ("GET", "HEAD"):
        answer = of(host, sign(key, rows)).request(method, "/iceberg/v1/namespaces/live/tables/flights")
        assert answer.status_code == 403
    assert "only some rows" in of(host, sign(key, rows)).get("/iceberg/v1/namespaces/live/tables/flights").text


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({"exp": 1.0}, "it has expired"),
        ({"exp": None}, "it has no `exp`"),
        ({"nbf": 2**33}, "it is not valid yet"),
        ({"nbf": time.time() + 7 * 86_400}, "it is not valid yet"),
        ({"nbf": float("nan")}, "it is not valid yet"),
        ({"nbf": [1]}, "it cannot be read"),
        ({"nbf": "soon"}, "it cannot be read"),
        ({"aud": "others"}, "it is for another audience"),
        ({"exp": "soon"}, "it cannot be read"),
        ({"exp": [1]}, "it cannot be read"),
        ({"exp": float("inf")}, "it cannot be read"),
        ({"filter": "a = 1"}, "`filter` stands beside its scopes"),
        ({"fixed_params": {"a": 1}}, "`fixed_params` stands beside its scopes"),
        ({"scopes": None}, "no list of `scopes`"),
        ({"scopes": []}, "no list of `scopes`"),
        ({"scopes": ["PIPES:READ"]}, "a scope is an object"),
        ({"scopes": [{"type": "ADMIN"}]}, "not `ADMIN`"),
        ({"scopes": [{"type": "PIPES:READ"}]}, "names one pipe or data source"),
        ({"scopes": [{"type": "PIPES:READ", "resource": "*"}]}, "names one pipe or data source"),
        ({"scopes": [{"type": "DATASOURCES:READ", "resource": "penstock__audit_log"}]}, "records of the server"),
        ({"scopes": [{"type": "DATASOURCES:READ", "resource": "tinybird.jobs_log"}]}, "records of the server"),
        ({"scopes": [{**TOP, "filter": "a = 1"}]}, "DATASOURCES:READ has a filter"),
        ({"scopes": [{**TOP, "until": 1}]}, "says `until`, which this server cannot keep to"),
        ({"scopes": [{**TOP, "until": None}]}, "says `until`"),
        ({"scopes": [{**ROWS_OF_FLIGHTS, "filter": ""}]}, "no text of 1 to"),
        ({"scopes": [{**ROWS_OF_FLIGHTS, "filter": {"a": 1}}]}, "no text of 1 to"),
        ({"scopes": [{**ROWS_OF_FLIGHTS, "filter": "a"}, ROWS_OF_FLIGHTS]}, "with limits and without"),
        ({"scopes": [{**ROWS_OF_FLIGHTS, "filter": "a"}, {**TOP, "resource": "flights"}]}, "with limits and without"),
        ({"scopes": [{**TOP, "fixed_params": ["a"]}]}, "no object"),
        ({"scopes": [{**TOP, "fixed_params": []}]}, "no object"),
        ({"scopes": [{**TOP, "fixed_params": False}]}, "no object"),
        ({"scopes": [{**TOP, "fixed_params": None}]}, "no object"),
        ({"scopes": [{**TOP, "fixed_params": {"a": float("nan")}}]}, "cannot be fixed"),
        ({"scopes": [{**TOP, "fixed_params": {"a b": 1}}]}, "cannot be fixed"),
        ({"scopes": [{**TOP, "fixed_params": {"a": []}}]}, "cannot be fixed"),
        ({"scopes": [{**TOP, "fixed_params": {"a": [[1]]}}]}, "cannot be fixed"),
        ({"scopes": [{**TOP, "fixed_params": {"a": [1, None]}}]}, "cannot be fixed"),
        ({"scopes": [{**TOP, "fixed_params": {"a": {"b": 1}}}]}, "write a text, a number or a list of them"),
        ({"scopes": [{**TOP, "fixed_params": {"token": "x"}}]}, "cannot be fixed"),
        ({"scopes": [TOP, {**TOP, "fixed_params": {"a": 1}}]}, "with limits and without"),
        ({"scopes": [{**TOP, "fixed_params": {"a": 1}}, {**TOP, "fixed_params": {"a": 2}}]}, "different limits"),
        ({"scopes": [{"type": "DATASOURCES:READ", "resource": "top", "fixed_params": {"a": 1}}]}, "only a scope"),
        ({"limits": {"rps": 0}}, "not a number of at least 1"),
        ({"limits": {"rps": True}}, "not a number of at least 1"),
        ({"limits": {"rpm": 5}}, "with `rps` alone"),
        ({"limits": {}}, "with `rps` alone"),
        ({"limits": []}, "with `rps` alone"),
        ({"rps": 5}, "`rps` stands beside its scopes"),
    ],
)
def test_what_cannot_be_kept_makes_a_token_invalid(host: PipelineHost, key: str, claims: dict, cause: str) -> None:
    answer = of(host, sign(key, TOP, **claims)).get("/v0/pipes/top.json")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
    assert cause in answer.json()["error"]


@pytest.mark.parametrize("ahead", [-60.0, 0.0, 20.0])
def test_the_clock_of_the_maker_may_be_some_seconds_ahead(host: PipelineHost, key: str, ahead: float) -> None:
    token = sign(key, TOP, nbf=time.time() + ahead, iat=time.time() + ahead)
    assert of(host, token).get("/v0/pipes/top.json").status_code == 200


def unsigned(payload: dict, **header: object) -> str:
    parts = ({"typ": "JWT", **header}, payload)
    return ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts) + ".x"


def deep_header() -> str:
    """A header in which nobody finds the end before the interpreter gives up."""
    return base64.urlsafe_b64encode(b'{"alg":' + b"[" * 5000).decode().rstrip("=") + ".x.y"


def signed_by_nothing(payload: dict) -> str:
    head, body, _ = unsigned(payload, alg="HS256").split(".")
    signature = hmac.digest(b"", f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64.urlsafe_b64encode(signature).decode().rstrip('=')}"


def test_forged_tokens_are_refused(host: PipelineHost, key: str, tokens: ApiTokens) -> None:
    payload = {"exp": time.time() + 60, "scopes": [TOP]}
    good = sign(key, TOP)
    head, body, signature = good.split(".")
    other = tokens.create("reader-who-signs", ("read",))
    forged = [
        sign("another key that is long enough to be one", TOP),
        sign(other, TOP),
        signed_by_nothing(payload),
        unsigned(payload, alg="none"),
        unsigned(payload, alg="none")[:-1],
        jwt.encode(payload, None, "none"),
        unsigned(payload, alg="nOnE"),
        sign(key, TOP, headers={"b64": False, "crit": ["b64"]}),
        sign(key, TOP, headers={"crit": ["unheard-of"]}),
        unsigned(payload, alg="HS256"),
        unsigned(payload, alg=["HS256"]),
        unsigned(payload),
        sign(key + key, TOP, algorithm="HS512"),
        f"{head}.{sign(key, {'type': 'PIPES:READ', 'resource': 'other'}).split('.')[1]}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-2]}",
        good + "x" * 9000,
        deep_header(),
        "eyJ.x.y",
    ]
    for token in forged:
        assert of(host, token).get("/v0/pipes/top.json").status_code == 401, token[:60]
    assert of(host, good).get("/v0/pipes/top.json").status_code == 200
    tokens.remove("reader-who-signs")


def test_a_token_ends_with_the_admin_token_that_signed_it(host: PipelineHost, key: str, tokens: ApiTokens) -> None:
    one = of(host, sign(key, TOP))
    assert one.get("/v0/pipes/top.json").status_code == 200
    tokens.rotate("signer")
    assert one.get("/v0/pipes/top.json").status_code == 401


def test_a_server_without_an_admin_token_takes_none(host: PipelineHost) -> None:
    for tokens in (SignedTokens(), SignedTokens(Path("/nowhere/admin_token"))):
        host.signed_tokens = tokens
        for token in (sign("None", TOP), signed_by_nothing({"exp": time.time() + 60, "scopes": [TOP]})):
            assert of(host, token).get("/v0/pipes/top.json").status_code == 401


EXP = 2**33
ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"


def spelt_otherwise(token: str) -> str:
    """The token with another last letter, of which two bits belong to no byte of the signature."""
    return token[:-1] + ALPHABET[ALPHABET.index(token[-1]) ^ 1]


def test_calls_a_second_are_limited_for_each_token(
    host: PipelineHost, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.2]
    monkeypatch.setattr("penstock.serve.http.json_web_tokens.time.monotonic", lambda: now[0])
    one, other = (of(host, sign(key, TOP, limits={"rps": 2}, jti=each, exp=EXP)) for each in ("1", "2"))
    assert [one.get("/v0/pipes/top.json").status_code for _ in range(4)] == [200, 200, 429, 429]
    assert other.get("/v0/pipes/top.json").status_code == 200
    assert one.get("/v0/pipes/top.json").headers["retry-after"] == "1"
    again = of(host, spelt_otherwise(sign(key, TOP, limits={"rps": 2}, jti="1", exp=EXP)))
    assert again.get("/v0/pipes/top.json").status_code in (401, 429), "it is no token, or the same one"
    now[0] = 101.0
    assert one.get("/v0/pipes/top.json").status_code == 200
    now[0] = 102.0
    assert [one.get("/v0/pipes/other.json").status_code for _ in range(4)] == [403, 403, 429, 429]
