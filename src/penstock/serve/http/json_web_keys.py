"""The public keys by which others sign tokens, from the address at which they show them (JWKS, RFC 7517).

In: an address, and the audience and issuer that a token must name. Out: what a token says, once a key has verified it.
Invariants: keys are fetched by one thread at a time, within DEADLINE and at most once in RETRY_SECONDS, however many
tokens name unknown ones; no lock is held meanwhile, and at most MOST_WAITING calls wait for it. Known keys stay in use
while newer ones are fetched, and for STALE_SECONDS while the address does not answer; a token of another key is then
refused for now, and not for good, as nobody knows whether it is valid.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio
import httpx
import jwt

from penstock.errors import Unavailable
from penstock.serve.http.public_key_sets import NotKeys, read_key_set

RETRY_SECONDS = 30.0
"""Between two fetches, for keys that are not known or are old."""
FRESH_SECONDS = 300.0
"""Older keys are fetched again, while they are in use."""
STALE_SECONDS = 3_600.0
DEADLINE = 5.0
"""Seconds for all of a fetch."""
MOST_WAITING = 2
"""More calls than these do not wait for a fetch: they hold threads that other calls need."""
MOST_BYTES = 2**20
VERIFY_IAT = False
"""When a token was made says nothing about when it is valid (RFC 7519, 4.1.6): a maker whose clock is a second ahead
would be refused."""
VERIFY_NBF = False
"""It is `check_begin` that does."""
BEGIN_SECONDS = 30
"""How far the clock of a maker may be ahead that lets its tokens be valid from when it makes them."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
log = logging.getLogger("penstock.serve")


class UnknownPublicKey(jwt.InvalidSignatureError):
    """A token names a key that the address does not show."""


@dataclass(frozen=True, slots=True)
class FetchedKeys:
    """The keys of an address by their ids, and when they were fetched."""

    keys: Mapping[str, jwt.PyJWK]
    at: float


def check_begin(claims: Mapping[str, object]) -> None:
    """Raises jwt.InvalidTokenError for a token that is valid later only, by more than clocks differ."""
    if "nbf" not in claims:
        return
    begins = claims["nbf"]
    if isinstance(begins, bool) or not isinstance(begins, (int, float, str)):
        raise jwt.DecodeError
    if not float(begins) <= time.time() + BEGIN_SECONDS:
        raise jwt.ImmatureSignatureError


class PublicKeys:
    """The keys of one address. Thread-safe."""

    def __init__(self, url: str, audience: str | None = None, issuer: str | None = None):
        self._url = url
        self._audience = audience
        self._issuer = issuer
        self._found = FetchedKeys({}, float("-inf"))
        self._tried = float("-inf")
        self._fails = False
        """Whether the last fetch failed."""
        self._fetch: threading.Event | None = None
        """The fetch under way; set when that ends."""
        self._guard = threading.Lock()
        self._waiting = threading.Semaphore(MOST_WAITING)

    def decode(self, text: str) -> Mapping[str, object]:
        """What a token says. Raises jwt.InvalidTokenError, and Unavailable if there are no keys yet."""
        id = jwt.get_unverified_header(text).get("kid")
        if not isinstance(id, str) or not id:
            raise jwt.InvalidKeyError
        key = self._find(id)
        if key is None:
            raise UnknownPublicKey
        required = ["exp", *(["aud"] if self._audience else []), *(["iss"] if self._issuer else [])]
        found: Mapping[str, object] = jwt.decode(
            text,
            key,
            algorithms=["RS256"],
            audience=self._audience,
            issuer=self._issuer,
            options={"require": required, "verify_iat": VERIFY_IAT, "verify_nbf": VERIFY_NBF},
        )
        check_begin(found)
        return found

    def prefetch(self) -> None:
        """Begin to fetch the keys, so that the first token need not wait."""
        self._start_fetch()

    def _find(self, id: str) -> jwt.PyJWK | None:
        """The key of an id. One that is known is not waited for, however old others are."""
        found, now = self._found, time.monotonic()
        if id in found.keys and now - found.at <= FRESH_SECONDS:
            return found.keys[id]
        fetch = self._start_fetch()
        if id in found.keys and now - found.at <= STALE_SECONDS:
            return found.keys[id]
        if fetch is not None and not self._wait(fetch):
            raise Unavailable("the keys that sign tokens are being fetched", hint="try again in a few seconds")
        found = self._found
        if time.monotonic() - found.at > STALE_SECONDS or (id not in found.keys and self._fails):
            raise Unavailable("the keys that sign tokens cannot be fetched", hint="the server's log says why")
        return found.keys.get(id)

    def _start_fetch(self) -> threading.Event | None:
        """The fetch under way, or a new one; None if the last one was too short ago."""
        with self._guard:
            if self._fetch is None and time.monotonic() - self._tried > RETRY_SECONDS:
                self._tried, self._fetch = time.monotonic(), threading.Event()
                threading.Thread(target=self._run_fetch, args=(self._fetch,), name="public-keys", daemon=True).start()
            return self._fetch

    def _wait(self, fetch: threading.Event) -> bool:
        """Whether the fetch ended in time. Only so many calls wait."""
        if fetch.is_set():
            return True
        if not self._waiting.acquire(blocking=False):
            return False
        try:
            return fetch.wait(DEADLINE)
        finally:
            self._waiting.release()

    def _run_fetch(self, fetch: threading.Event) -> None:
        self._fails = True  # unless it ends well
        try:
            keys = read_key_set(anyio.run(_download, self._url))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError, NotKeys) as error:
            log.warning("the keys that sign tokens cannot be fetched: %s", _cause(error))
        except Exception:
            log.exception("the keys that sign tokens cannot be fetched")
        else:
            self._found, self._fails = FetchedKeys(keys, time.monotonic()), False
        finally:
            with self._guard:
                self._fetch = None
            fetch.set()


async def _download(url: str) -> object:
    """The JSON at an address. Raises httpx's errors, NotKeys, and TimeoutError if it takes longer than DEADLINE."""
    content = b""
    with anyio.fail_after(DEADLINE):
        client = httpx.AsyncClient(timeout=DEADLINE, trust_env=False)
        async with client, client.stream("GET", url, headers={"Accept": "application/json"}) as answer:
            answer.raise_for_status()
            async for part in answer.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise NotKeys(f"they are more than {MOST_BYTES:,} bytes")
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotKeys("they are no JSON") from error
    return found


def read_public_keys(environ: Mapping[str, str] = os.environ) -> PublicKeys | None:
    """The keys at the address in the variable `PENSTOCK_JWKS_URL`; None if it is not set, or cannot be used."""
    url = environ.get("PENSTOCK_JWKS_URL")
    if not url:
        return None
    if not jwt.algorithms.has_crypto:
        log.error("PENSTOCK_JWKS_URL is not used: it needs `pip install 'penstock[jwks]'`")
        return None
    try:
        parts = urlsplit(url)
        is_safe = bool(parts.hostname) and (parts.scheme == "https" or _is_loopback_http(parts.scheme, parts.hostname))
    except ValueError:
        is_safe = False
    if not is_safe:
        log.error("PENSTOCK_JWKS_URL is not used: it is no address by https, where nobody can replace the keys")
        return None
    return PublicKeys(url, environ.get("PENSTOCK_JWT_AUDIENCE") or None, environ.get("PENSTOCK_JWT_ISSUER") or None)


def _is_loopback_http(scheme: str, host: str | None) -> bool:
    return scheme == "http" and host in _LOOPBACK


def _cause(error: Exception) -> str:
    """Why fetching failed, without the address, which may have a password."""
    if isinstance(error, NotKeys):
        return str(error)
    if isinstance(error, httpx.HTTPStatusError):
        return f"the answer is {error.response.status_code}"
    if isinstance(error, TimeoutError):
        return f"no answer within {DEADLINE:g} s"
    return f"no answer ({type(error).__name__})"
