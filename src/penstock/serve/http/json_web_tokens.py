"""Signed tokens (JSON Web Tokens, RFC 7519): whoever holds the key makes tokens for others, without a call.

In: the text of a token, and the keys: the project's admin token for HS256, those that a JWKS address shows for RS256.
Out: a `SignedToken` with the scopes of its `scopes`, or Unauthorized that says why not. Invariants: a token is valid
until its `exp` at most, and never without one; the algorithm decides the key, never the other way round; a token signed
by the admin token is valid as long as that is.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path

import jwt
from starlette.requests import Request

from penstock.deploy.queries.caller_rights import CallerRights
from penstock.errors import Forbidden, Overloaded
from penstock.serve.http.access import FindToken, may_read
from penstock.serve.http.json_web_keys import (
    VERIFY_IAT,
    VERIFY_NBF,
    PublicKeys,
    UnknownPublicKey,
    check_begin,
)
from penstock.serve.http.signed_claims import SignedToken, invalid_token, read_claims

LONGEST = 8_192
MOST_LIMITED = 10_000
"""So many tokens are counted at a time; the one that was used least recently is forgotten."""
_SHAPE = re.compile(r"eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_KEY_SECONDS = 1.0
_CAUSES: Mapping[type[Exception], str] = {
    UnknownPublicKey: "its key (`kid`) is not among those that the provider shows",
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "it is not valid yet",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is of another issuer",
    jwt.InvalidSignatureError: "its signature is not valid",
    jwt.InvalidKeyError: "its header names no key (`kid`)",
}


class SignedTokens:
    """Verifies signed tokens, and counts the calls of those with a limit. Thread-safe."""

    def __init__(self, admin_token: Path | None = None, keys: PublicKeys | None = None):
        self._admin_token = admin_token
        self._keys = keys
        self._secret: tuple[float, str] = (0.0, "")
        self._guard = threading.Lock()
        self._calls: OrderedDict[bytes, tuple[int, int]] = OrderedDict()
        """The second, and the calls in it, by the digest of the token."""

    def find(self, text: str, find: FindToken) -> SignedToken | None:
        """The token of a text; None if it is no signed token. Raises Unauthorized if it is one and not valid,
        Unavailable if the keys cannot be had."""
        if len(text) > LONGEST or not _SHAPE.fullmatch(text):
            return None
        try:
            claims = self._decode(text, find)
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError, LookupError) as error:
            raise invalid_token(_cause(error)) from None
        # Of what is signed: the signature itself can be spelt in several ways.
        return read_claims(claims, hashlib.sha256(text.rpartition(".")[0].encode()).digest())

    def count(self, request: Request) -> None:
        """Count a call, also one that its token does not grant. Raises Overloaded if the token allows no more of them
        in this second."""
        token = getattr(request.state, "token", None)
        if not isinstance(token, SignedToken) or token.calls_a_second is None:
            return
        second = int(time.monotonic())
        with self._guard:
            before, calls = self._calls.pop(token.digest, (second, 0))
            calls = calls + 1 if before == second else 1
            self._calls[token.digest] = (second, calls)
            if len(self._calls) > MOST_LIMITED:
                self._calls.popitem(last=False)
        if calls > token.calls_a_second:
            message = f"the token `{token.name}` allows {token.calls_a_second} calls a second"
            raise Overloaded(message, hint="try again in a second")

    def _decode(self, text: str, find: FindToken) -> Mapping[str, object]:
        algorithm = jwt.get_unverified_header(text).get("alg")
        if algorithm == "HS256":
            secret = self._read_secret()
            signer = find(secret) if secret else None
            if signer is None or not signer.allows("admin"):
                raise invalid_token("this server has no admin token that could have signed it")
            found: Mapping[str, object] = jwt.decode(
                text,
                secret,
                algorithms=["HS256"],
                options={"require": ["exp"], "verify_iat": VERIFY_IAT, "verify_nbf": VERIFY_NBF},
            )
            check_begin(found)
            return found
        if algorithm == "RS256" and self._keys is not None:
            return self._keys.decode(text)
        raise invalid_token("it is signed in a way that this server does not take")

    def _read_secret(self) -> str:
        """The admin token of the server's folder; empty if there is none. It is read once a second."""
        read_at, secret = self._secret
        if time.monotonic() - read_at > _KEY_SECONDS or not secret:
            try:
                secret = self._admin_token.read_text(encoding="utf-8").strip() if self._admin_token else ""
            except (OSError, UnicodeDecodeError):
                secret = ""
            self._secret = (time.monotonic(), secret)
        return secret


def rights_for_endpoint(request: Request, endpoint: str) -> CallerRights:
    """What the call's token may read of an endpoint."""
    token, reads = request.state.token, may_read(request)
    if not isinstance(token, SignedToken):
        return CallerRights(reads)
    return CallerRights(reads, token.fixed.get(endpoint, {}), token.filters)


def rights_for_sql(request: Request) -> CallerRights:
    """What SQL of the call's token may read. An endpoint with fixed parameters is none of it: SQL gives its parameters
    otherwise."""
    token, reads = request.state.token, may_read(request)
    if not isinstance(token, SignedToken):
        return CallerRights(reads)
    return CallerRights(lambda name: name not in token.fixed and reads(name), filters=token.filters)


def require_all_rows(request: Request, name: str) -> None:
    """Raises Forbidden if the call's token may read only some rows of a data source."""
    token = request.state.token
    if isinstance(token, SignedToken) and (name in token.filters or name in token.fixed):
        message = f"the token `{token.name}` may read only some rows of `{name}`, by SQL and endpoints"
        raise Forbidden(message, hint="a table as a whole needs a token without a filter")


def require_server_token(request: Request) -> None:
    """Raises Forbidden if the call's token is a signed one: the positions of a source are for the program that knows
    them, as rows before a position that was told once are never stored."""
    token = request.state.token
    if isinstance(token, SignedToken):
        message = f"the token `{token.name}` is signed, and positions of a source are not for signed tokens"
        raise Forbidden(message, hint="create a token with `penstock token create` for the program that sends them")


def _cause(error: Exception) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it has no `{error.claim}`"
    return next((said for kind, said in _CAUSES.items() if isinstance(error, kind)), "it cannot be read")
