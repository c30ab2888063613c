"""Texts that look like what a column of this name holds: countries, browsers, addresses of pages.

In: the name of a column and a source of random numbers. Out: a text. Invariant: the same numbers give the same text,
and the addresses are of networks and domains that are reserved for examples (RFC 2606, RFC 5737).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random

VALUES_OF_A_WORD: Mapping[str, tuple[str, ...]] = {
    "action": ("page_view", "click", "search", "signup", "purchase"),
    "browser": ("Chrome", "Firefox", "Safari", "Edge"),
    "category": ("books", "games", "garden", "music", "sports"),
    "channel": ("web", "email", "mobile", "partner"),
    "city": ("Madrid", "London", "Berlin", "New York", "Tokyo"),
    "country": ("ES", "GB", "DE", "US", "JP"),
    "currency": ("EUR", "USD", "GBP", "JPY"),
    "device": ("desktop", "mobile", "tablet"),
    "environment": ("production", "staging", "development"),
    "event": ("page_view", "click", "search", "signup", "purchase"),
    "language": ("en", "es", "de", "fr", "ja"),
    "level": ("debug", "info", "warning", "error"),
    "locale": ("en-US", "en-GB", "es-ES", "de-DE"),
    "method": ("GET", "POST", "PUT", "DELETE"),
    "name": ("Ada", "Alan", "Barbara", "Edsger", "Grace"),
    "os": ("Linux", "macOS", "Windows", "Android", "iOS"),
    "plan": ("free", "pro", "enterprise"),
    "platform": ("web", "android", "ios"),
    "region": ("eu-west", "eu-central", "us-east", "us-west"),
    "severity": ("debug", "info", "warning", "error"),
    "source": ("direct", "search", "newsletter", "social"),
    "state": ("open", "active", "closed"),
    "status": ("pending", "active", "done", "failed"),
    "title": ("Welcome", "Pricing", "Documentation", "About us"),
    "type": ("standard", "premium", "trial"),
    "unit": ("kg", "m", "s"),
    "version": ("1.0.0", "1.1.0", "2.0.0"),
}
"""The values by a word of the column's name."""
PATHS = ("/", "/pricing", "/docs", "/docs/start", "/blog/news", "/about")
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15",
)
DOCUMENTS = ("payload", "properties", "attributes", "metadata", "data", "json", "body")
IDENTITIES = ("id", "uid", "uuid", "guid", "key", "hash", "token")
POOL = 100
"""How many different things the columns of identities name."""


def words_of_column(name: str) -> tuple[str, ...]:
    """The words of a column's name in lower case: `userId` and `user_id` have the same."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return tuple(part.lower() for part in parts)


def is_identity(words: tuple[str, ...]) -> bool:
    """Whether a column of these words names something."""
    return bool(words) and words[-1] in IDENTITIES


def plausible_text(name: str, random: Random) -> str:
    """A text for a column of this name, among few."""
    words = words_of_column(name)
    if is_identity(words):
        thing = "_".join(words[:-1]) or "item"
        return f"{thing}_{random.randrange(POOL):04d}"
    maker = next((_MAKERS[word] for word in reversed(words) if word in _MAKERS), None)
    if maker is not None:
        return maker(random)
    values = next((VALUES_OF_A_WORD[word] for word in reversed(words) if word in VALUES_OF_A_WORD), None)
    if values is not None:
        return random.choice(values)
    return f"{name}_{random.randrange(10)}"


def plausible_document(random: Random) -> dict[str, object]:
    """What a column of JSON holds."""
    return {
        "path": random.choice(PATHS),
        "country": random.choice(VALUES_OF_A_WORD["country"]),
        "items": random.randint(1, 5),
        "price": random.randint(100, 99_999) / 100,
    }


def example_ipv4(random: Random) -> str:
    return f"203.0.113.{random.randrange(1, 255)}"


def example_ipv6(random: Random) -> str:
    return f"2001:db8::{random.randrange(1, 0xFFFF):x}"


def _email(random: Random) -> str:
    return f"user{random.randrange(POOL)}@example.com"


def _address(random: Random) -> str:
    return "https://www.example.com" + random.choice(PATHS)


_MAKERS: Mapping[str, Callable[[Random], str]] = {
    "agent": lambda random: random.choice(AGENTS),
    "domain": lambda random: random.choice(("example.com", "example.org", "example.net")),
    "email": _email,
    "host": lambda random: f"host{random.randrange(5)}.example.com",
    "hostname": lambda random: f"host{random.randrange(5)}.example.com",
    "href": _address,
    "ip": example_ipv4,
    "path": lambda random: random.choice(PATHS),
    "pathname": lambda random: random.choice(PATHS),
    "referer": _address,
    "referrer": _address,
    "uri": _address,
    "url": _address,
}
