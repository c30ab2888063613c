"""Tokens that others sign: with which keys, how they are fetched, and how their tokens are forged."""

from __future__ import annotations

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from starlette.testclient import TestClient

from penstock.serve.app import create_app
from penstock.serve.http import json_web_keys
from penstock.serve.http.json_web_keys import PublicKeys, read_public_keys
from penstock.serve.http.json_web_tokens import SignedTokens
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.public_key_sets import NotKeys, read_key_set
from waiting import wait_until

TOP = {"type": "PIPES:READ", "resource": "top"}
PRIVATE = {id: rsa.generate_private_key(65537, 2048) for id in ("k1", "k2")}


def shown(id: str, **changes: object) -> dict:
    """The public half of a key, as an address shows it."""
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE[id].public_key()))
    return {k: v for k, v in {**public, "kid": id, "use": "sig", **changes}.items() if v is not None}


class Address:
    """An address that shows public keys."""

    def __init__(self) -> None:
        self.shown: list[dict] = [shown("k1")]
        self.status, self.asked = 200, 0
        self.answers = threading.Event()
        self.answers.set()
        address = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                address.asked += 1
                address.answers.wait(20)
                self.send_response(address.status)
                self.end_headers()
                self.wfile.write(json.dumps({"keys": address.shown}).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/keys"


@pytest.fixture
def address() -> Iterator[Address]:
    made = Address()
    yield made
    made.answers.set()
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found = [1000.0]
    monkeypatch.setattr(json_web_keys.time, "monotonic", lambda: found[0])
    return found


def sign(private: Any, id: str | None = "k1", algorithm: str = "RS256", **claims: object) -> str:
    payload = {"name": "app", "exp": time.time() + 60, "scopes": [TOP], "aud": "penstock", "iss": "us", **claims}
    headers = {"kid": id} if id is not None else None
    return jwt.encode({k: v for k, v in payload.items() if v is not None}, private, algorithm, headers)


def ask(host: PipelineHost, token: str) -> Any:
    return TestClient(create_app(host), headers={"Authorization": f"Bearer {token}"}).get("/v0/pipes/top.json")


def altered(token: str, **claims: object) -> str:
    """The token with other claims, and the signature of what it said."""
    head, _, signature = token.split(".")
    said = jwt.decode(token, options={"verify_signature": False})
    other = jwt.encode({**said, **claims}, "x" * 32, "HS256").split(".")[1]
    return f"{head}.{other}.{signature}"


def test_keys_of_others_sign_for_one_audience_and_issuer(host: PipelineHost, address: Address) -> None:
    private, stranger = PRIVATE["k1"], PRIVATE["k2"]
    host.signed_tokens = SignedTokens(None, PublicKeys(address.url, "penstock", "us"))
    good = sign(private)
    assert ask(host, good).status_code == 200
    ahead = sign(private, iat=time.time() + 20, nbf=time.time() + 20)
    assert ask(host, ahead).status_code == 200, "the clock of the provider may be ahead"
    pem = private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    # PyJWT itself refuses to sign so: a public key is known to everybody, and must not do as the secret of HS256.
    head = jwt.encode({}, "x" * 32, "HS256", {"kid": "k1"}).split(".")[0]
    body = good.split(".")[1]
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(f"{head}.{body}".encode(), pem)
    confused = f"{head}.{body}.{jwt.utils.base64url_encode(mac).decode()}"
    for token, cause in (
        (sign(stranger), "its signature"),
        (sign(stranger, "k2"), "its key (`kid`) is not among"),
        (sign(private, None), "no key (`kid`)"),
        (sign(private, "None"), "its key (`kid`) is not among"),
        (sign(private, aud="else"), "another audience"),
        (sign(private, aud=None), "it has no `aud`"),
        (sign(private, iss="else"), "another issuer"),
        (sign(private, iss=None), "it has no `iss`"),
        (sign(private, exp=1), "expired"),
        (sign(private, exp=None), "it has no `exp`"),
        (sign(private, nbf=2**33), "not valid yet"),
        (altered(good, scopes=[{"type": "PIPES:READ", "resource": "other"}]), "its signature"),
        (altered(good, exp=2**33), "its signature"),
        (confused, "no admin token"),
        (sign(private, algorithm="RS512"), "a way that this server does not take"),
        (sign(private, algorithm="PS256"), "a way that this server does not take"),
    ):
        answer = ask(host, token)
        assert (answer.status_code, cause in answer.json()["error"]) == (401, True), answer.text


def test_unknown_keys_do_not_make_the_server_ask_again_and_again(
    host: PipelineHost, address: Address, now: list[float]
) -> None:
    host.signed_tokens = SignedTokens(None, PublicKeys(address.url, "penstock", "us"))
    for id in ("k1", "k2", "k3", "k2"):
        ask(host, sign(PRIVATE["k1"], id))
    assert address.asked == 1
    address.shown.append(shown("k2"))
    now[0] += json_web_keys.RETRY_SECONDS + 1
    assert ask(host, sign(PRIVATE["k2"], "k2")).status_code == 200
    assert address.asked == 2
    address.status = 500
    now[0] += json_web_keys.STALE_SECONDS / 2
    assert ask(host, sign(PRIVATE["k2"], "k2")).status_code == 200
    now[0] += json_web_keys.STALE_SECONDS
    assert ask(host, sign(PRIVATE["k2"], "k2")).status_code == 503


@pytest.mark.parametrize("broken", [500, 302, 404])
def test_a_token_of_a_new_key_is_refused_for_now_while_keys_cannot_be_had(
    host: PipelineHost, address: Address, now: list[float], broken: int
) -> None:
    """A 401 would make a browser throw the token away, and the user log in again."""
    host.signed_tokens = SignedTokens(None, PublicKeys(address.url, "penstock", "us"))
    assert ask(host, sign(PRIVATE["k1"])).status_code == 200
    address.shown.append(shown("k2"))
    address.status = broken
    now[0] += json_web_keys.RETRY_SECONDS + 1
    for _ in range(2):
        answer = ask(host, sign(PRIVATE["k2"], "k2"))
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert ask(host, sign(PRIVATE["k1"])).status_code == 200
    address.status = 200
    now[0] += json_web_keys.RETRY_SECONDS + 1
    assert ask(host, sign(PRIVATE["k2"], "k2")).status_code == 200
    assert ask(host, sign(PRIVATE["k2"], "k3")).status_code == 401


def test_known_keys_are_used_while_newer_ones_are_fetched(
    host: PipelineHost, address: Address, now: list[float]
) -> None:
    keys = PublicKeys(address.url, "penstock", "us")
    host.signed_tokens = SignedTokens(None, keys)
    assert ask(host, sign(PRIVATE["k1"])).status_code == 200
    address.answers.clear()
    now[0] += json_web_keys.FRESH_SECONDS + 1
    for _ in range(3):
        assert ask(host, sign(PRIVATE["k1"])).status_code == 200
    fetch = keys._fetch
    assert fetch is not None
    address.shown = [shown("k2")]
    address.answers.set()
    assert fetch.wait(10)
    assert ask(host, sign(PRIVATE["k1"])).status_code == 401, "the address has taken the key back"
    assert address.asked == 2


def test_an_address_that_does_not_answer_holds_up_few_calls(
    host: PipelineHost, address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_web_keys, "DEADLINE", 60.0)
    address.answers.clear()
    host.signed_tokens = SignedTokens(None, PublicKeys(address.url, "penstock", "us"))
    statuses: list[int] = []
    token = sign(PRIVATE["k1"])
    callers = [threading.Thread(target=lambda: statuses.append(ask(host, token).status_code)) for _ in range(8)]
    for caller in callers:
        caller.start()
    wait_until(lambda: len(statuses) == 8 - json_web_keys.MOST_WAITING)
    assert set(statuses) == {503}
    address.answers.set()
    for caller in callers:
        caller.join()
    assert statuses[-json_web_keys.MOST_WAITING :] == [200] * json_web_keys.MOST_WAITING
    assert address.asked == 1


def test_an_answer_that_drips_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time; all of them would take a minute."""
    monkeypatch.setattr(json_web_keys, "DEADLINE", 0.3)
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            for letter in "HTTP/1.1 200 OK\r\nServer: " + "x" * 600:
                if ended.wait(0.1):
                    return
                try:
                    connection.send(letter.encode())
                except OSError:
                    return

    threading.Thread(target=drip, daemon=True).start()
    keys = PublicKeys(f"http://127.0.0.1:{listener.getsockname()[1]}/keys")
    fetch = keys._start_fetch()
    assert fetch is not None
    assert fetch.wait(30), "600 letters take a minute"
    assert keys._found.keys == {}
    ended.set()
    listener.close()


def test_odd_keys_are_left_out_and_spoil_no_other() -> None:
    short = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 1024).public_key()))
    secret = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE["k2"]))
    odd: list[object] = [
        shown("k2", use="enc"),
        shown("k2", kid=None),
        shown("k2", kid=7),
        shown("k2", kty="EC"),
        shown("k2", kty="unheard-of"),
        shown("k2", alg="RS512"),
        shown("k2", key_ops=["encrypt"]),
        shown("k2", n="!"),
        shown("k2", e=None),
        {"kty": "oct", "kid": "k2", "k": "c2VjcmV0"},
        {**short, "kid": "short"},
        {**secret, "kid": "private"},
        "key",
        None,
    ]
    assert list(read_key_set({"keys": [*odd, shown("k1"), shown("k2", key_ops=["verify"])]})) == ["k1", "k2"]
    assert list(read_key_set({"keys": [shown("k1"), shown("k2", kid="k1")]})) == [], "which one is meant?"
    for found in ([], {}, {"keys": {}}, None, {"keys": [{}] * 1001}):
        with pytest.raises(NotKeys):
            read_key_set(found)


@pytest.mark.parametrize(
    ("url", "is_used"),
    [
        ("", False),
        ("https://login.example.com/keys", True),
        ("http://127.0.0.1:9/keys", True),
        ("http://login.example.com/keys", False),
        ("https://", False),
        ("https://[::1", False),
        ("file:///etc/passwd", False),
    ],
)
def test_keys_come_by_https(url: str, is_used: bool) -> None:
    assert (read_public_keys({"PENSTOCK_JWKS_URL": url}) is not None) is is_used
