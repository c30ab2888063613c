"""Which values of the settings are secrets.

In: `Settings`. Out: texts. Called by serve and by every process that opens a lake. Invariant: a value is one
by the name it has, or by where it stands in an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from penstock.model.settings import Settings

_NAME = re.compile(r"(?i)passw|pwd|secret|token|credential|(access|account|api|private|sas)[._-]?key|[._-]key$")


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Passwords, keys and tokens, sorted."""
    found = {*_of_properties(settings.catalog), *_of_properties(settings.spark.conf)}
    found.update(_of_address(settings.state.url or ""))
    return tuple(sorted(found))


def _of_properties(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if _NAME.search(name) and value:
            yield value
        yield from _of_address(value)


def _of_address(text: str) -> Iterator[str]:
    """The password and the secret parameters of an address, also behind `jdbc:`."""
    try:
        parts = urlsplit(text.removeprefix("jdbc:"))
        password = parts.password
    except ValueError:
        return
    if password:
        yield password
    yield from (value for name, value in parse_qsl(parts.query) if _NAME.search(name))
