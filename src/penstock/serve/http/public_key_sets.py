"""A set of public keys (JWK Set, RFC 7517 section 5) as the keys that may verify tokens of RS256.

In: JSON. Out: keys by their ids. Invariant: what cannot be used here (another kind or purpose, no id, too short, not to
be read) is left out and spoils no other key; of two usable keys with one id none is taken, as it is not known which of
them a token means.
"""

from __future__ import annotations

from collections.abc import Mapping

import jwt

ALGORITHM = "RS256"
LEAST_BITS = 2_048
"""RFC 7518 section 3.3."""
MOST_KEYS = 1_000


class NotKeys(Exception):
    """What an address shows is no set of keys."""


def read_key_set(found: object) -> Mapping[str, jwt.PyJWK]:
    """The usable keys by their ids. Raises NotKeys."""
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise NotKeys("they are no object with a list of `keys`")
    if len(listed) > MOST_KEYS:
        raise NotKeys(f"they are more than {MOST_KEYS:,}")
    usable = [(each["kid"], key) for each in listed if (key := _usable_key(each)) is not None]
    ids = [id for id, _ in usable]
    return {id: key for id, key in usable if ids.count(id) == 1}


def _usable_key(given: object) -> jwt.PyJWK | None:
    if not isinstance(given, dict) or not isinstance(given.get("kid"), str) or not given["kid"]:
        return None
    is_for_this = given.get("kty") == "RSA" and given.get("use", "sig") == "sig"
    purposes = given.get("key_ops", ["verify"])
    if not is_for_this or given.get("alg", ALGORITHM) != ALGORITHM or "d" in given:
        return None
    if not isinstance(purposes, list) or "verify" not in purposes:
        return None
    try:
        key = jwt.PyJWK(given, ALGORITHM)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    return key if getattr(key.key, "key_size", 0) >= LEAST_BITS else None
