"""API tokens: their secrets, and the scopes that they grant.

In: names and scopes. Out: a secret (shown once) and `ApiToken` values. Invariant: the store holds only digests of
the secrets; a secret cannot be read back.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from penstock.errors import Conflict, NotFound, did_you_mean
from penstock.state.database import Database
from penstock.state.schema import tokens

DECLARED = "declared"


@dataclass(frozen=True, slots=True)
class ApiToken:
    """A token. Its scopes are `read`, or `read:NAME` for one pipe or data source; `append` likewise; `deploy`; `admin`,
    which includes all others; `declared`, which stands for the TOKEN lines of the live version."""

    name: str
    scopes: tuple[str, ...]

    def allows(self, scope: str, name: str | None = None) -> bool:
        """Whether the token has this scope for the name, or for everything if no name is given."""
        wanted = ("admin", scope) if name is None else ("admin", scope, f"{scope}:{name}")
        return any(each in wanted for each in self.scopes)

    def allows_any(self, scope: str) -> bool:
        """Whether the token has this scope for at least one name."""
        return self.allows(scope) or any(each.startswith(f"{scope}:") for each in self.scopes)

    def with_grants(self, grants: Mapping[str, tuple[str, ...]]) -> ApiToken:
        """The token with the scopes that TOKEN lines declare for its name, if it has the scope `declared`."""
        if DECLARED not in self.scopes:
            return self
        return replace(self, scopes=(*self.scopes, *grants.get(self.name, ())))


class ApiTokens:
    """All API tokens. They are few and needed at every call, so they are cached in memory; only the server that owns
    the store changes them."""

    def __init__(self, database: Database):
        self._database = database
        self._guard = threading.Lock()
        self._by_digest: Mapping[str, tuple[str, ApiToken]] = self._load()

    def create(self, name: str, scopes: tuple[str, ...]) -> str:
        """Create a token and return its secret, which cannot be read again. Raises Conflict if the name is in use."""
        secret = f"p.{secrets.token_urlsafe(32)}"
        values = {
            "name": name,
            "digest": _hash_secret(secret),
            "scopes": list(scopes),
            "created_at": datetime.now(timezone.utc),
        }
        with self._guard:
            try:
                with self._database.write() as connection:
                    connection.execute(sa.insert(tokens).values(values))
            except IntegrityError as error:
                raise Conflict(
                    f"there is a token `{name}`",
                    hint=f"`penstock token rotate {name}` gives it a new secret; for other scopes, remove it first",
                ) from error
            self._by_digest = self._load()
        return secret

    def rotate(self, name: str) -> tuple[ApiToken, str]:
        """Give a token a new secret; the old one stops working. Returns the token and the secret, which cannot be read
        again. Raises NotFound."""
        secret = f"p.{secrets.token_urlsafe(32)}"
        changed = sa.update(tokens).where(tokens.c.name == name).values(digest=_hash_secret(secret))
        with self._guard:
            with self._database.write() as connection:
                if not connection.execute(changed).rowcount:
                    raise self._unknown(name)
            self._by_digest = self._load()
        return next(token for token in self.list() if token.name == name), secret

    def _unknown(self, name: str) -> NotFound:
        return NotFound(f"there is no token `{name}`", hint=did_you_mean(name, [token.name for token in self.list()]))

    def find(self, secret: str) -> ApiToken | None:
        """The token of a secret, None if there is none. The digest of the secret is looked up, so the time this takes
        tells nothing about existing secrets; the match is compared in constant time as well."""
        digest = _hash_secret(secret)
        found = self._by_digest.get(digest)
        return found[1] if found is not None and hmac.compare_digest(found[0], digest) else None

    def list(self) -> tuple[ApiToken, ...]:
        """All tokens, sorted by name."""
        return tuple(sorted((token for _, token in self._by_digest.values()), key=lambda token: token.name))

    def remove(self, name: str) -> None:
        """Delete a token. Raises NotFound."""
        with self._guard:
            with self._database.write() as connection:
                removed = connection.execute(sa.delete(tokens).where(tokens.c.name == name)).rowcount
            if not removed:
                raise self._unknown(name)
            self._by_digest = self._load()

    def _load(self) -> Mapping[str, tuple[str, ApiToken]]:
        with self._database.read() as connection:
            rows = connection.execute(sa.select(tokens.c.digest, tokens.c.name, tokens.c.scopes)).all()
        return {digest: (digest, ApiToken(name, tuple(scopes))) for digest, name, scopes in rows}


def _hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
