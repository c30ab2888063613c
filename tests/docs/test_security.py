"""The matrix of calls and scopes in docs/security.md is that of the table of calls, and the application keeps to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from penstock.serve.app import CALLS, ApiCall, create_app
from penstock.serve.http.access import PER_NAME, no_name
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline

PAGE = Path(__file__).parents[2] / "docs/security.md"
SCOPES = ("none", "admin", "deploy", "append", "append:NAME", "read", "read:NAME")
YES, NO, OWN, PART = "yes", "no", "NAME", "part"
FILES = [("files", ("flights.datasource", b"SCHEMA >\n    a UInt8 `json:$.a`\n"))]


def entry(call: ApiCall, scope: str) -> str:
    """What a token of a scope may do with a call, by the table of calls."""
    if call.scope is None:
        return YES
    kind, colon, _ = scope.partition(":")
    if kind == "admin" or (kind == call.scope and not colon):
        return YES
    if kind != call.scope or kind not in PER_NAME or call.name is no_name:
        return NO
    return PART if call.name is None else OWN


def matrix() -> str:
    head = f"| call | {' | '.join(f'`{scope}`' if scope != 'none' else 'no token' for scope in SCOPES)} |"
    rows = [
        f"| `{method} {call.path}` | {' | '.join(entry(call, scope) for scope in SCOPES)} |"
        for call in CALLS
        for method in call.methods
    ]
    return "\n".join((head, "|---" * (len(SCOPES) + 1) + "|", *rows))


def listed() -> Iterator[tuple[str, str, str]]:
    """Each cell of the page's matrix: the call, the scope, what is allowed."""
    for call, cells in re.findall(r"^\| `((?:GET|POST|DELETE) \S+)` \| (.*) \|$", PAGE.read_text("utf-8"), re.M):
        for scope, allowed in zip(SCOPES, cells.split(" | "), strict=True):
            yield call, scope, allowed


def test_the_page_has_the_matrix_of_the_table_of_calls() -> None:
    assert matrix() in PAGE.read_text("utf-8"), f"docs/security.md is to have:\n{matrix()}"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('state') / 'state.db'}")
    tokens = ApiTokens(database)
    host = PipelineHost()
    host.opened(MemoryPipeline(tokens))  # type: ignore[arg-type]
    with TestClient(create_app(host)) as opened:
        opened.tokens = tokens  # type: ignore[attr-defined]
        yield opened
    database.close()


def status(client: TestClient, call: str, secret: str | None, name: str = "flights") -> int:
    method, path = call.split(" ")
    address = path.replace("{file}", f"{name}.json").replace("{name}", name).replace("{ref}", "1").replace("{id}", "1")
    address = address.replace("{warehouse}", "live")
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    files = FILES if path == "/v1/deploy" else None
    return client.request(method, address, params={"name": name}, headers=headers, files=files).status_code


@pytest.mark.parametrize("call", sorted({call for call, _, _ in listed()}))
def test_every_call_keeps_to_the_matrix(client: TestClient, call: str) -> None:
    tokens: ApiTokens = client.tokens  # type: ignore[attr-defined]
    for _, scope, allowed in [each for each in listed() if each[0] == call]:
        if scope == "none":
            assert (status(client, call, None) == 401) == (allowed == NO), scope
            assert (status(client, call, "p.wrong") == 401) == (allowed == NO), "a wrong token"
            continue
        name = f"{scope.replace(':', '.')}-{abs(hash(call))}"
        secret = tokens.create(name, (scope.replace("NAME", "flights"),))
        own, other = status(client, call, secret), status(client, call, secret, "others")
        assert 401 not in (own, other), scope
        assert (own == 403) == (allowed == NO), scope
        assert (other == 403) == (allowed in (NO, OWN)), scope


@pytest.mark.parametrize(
    "call", sorted({call for call, scope, allowed in listed() if (scope, allowed) == ("none", NO)})
)
def test_a_token_that_was_removed_opens_nothing(client: TestClient, call: str) -> None:
    tokens: ApiTokens = client.tokens  # type: ignore[attr-defined]
    secret = tokens.create("gone", ("admin",))
    tokens.remove("gone")
    assert status(client, call, secret) == 401
