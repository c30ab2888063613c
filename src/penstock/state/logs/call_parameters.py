"""What is kept of the parameters of a call.

In: the parameters as they were sent. Out: `KeptParameters`, redacted and cut. Invariants: no secret that this process
knows, and no value of a parameter that is named like one, is kept; the size does not depend on what callers send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union

from penstock.redaction import HIDDEN, redact, redact_start
from penstock.state.logs.stored_text import storable_text

MOST_PARAMETERS = 100
LONGEST_NAME = 200
LONGEST_VALUE = 4_000
MOST_CHARACTERS = 16_000
"""The most characters of all values of a call."""
READ_AHEAD = 8_192
"""Characters behind a cut that are looked at, so that a secret which the cut divides is found."""
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_.-])(?:token|secret|passw(?:or)?d|pwd|api_?key|access_?key|private_?key|credentials?|authorization)$"
)
ParameterValue: TypeAlias = Union[str, tuple[str, ...]]
"""A text, or the elements of a list."""


@dataclass(frozen=True, slots=True)
class KeptParameters:
    """The parameters of a call, and whether the same call can be made from them."""

    values: Mapping[str, str | list[str]]
    is_whole: bool
    """Whether nothing was cut, hidden or left out."""


def cut_parameters(sent: Mapping[str, ParameterValue]) -> dict[str, ParameterValue]:
    """The parameters without what can never be kept: for the time in which they wait to be written."""
    return {name: _cut(value) for name, value in list(sent.items())[: MOST_PARAMETERS + 1]}


def _cut(value: ParameterValue) -> ParameterValue:
    most = LONGEST_VALUE + READ_AHEAD
    if isinstance(value, str):
        return value[:most]
    found, left = [], most
    for each in value:
        found.append(each[:left])
        left -= len(each) + 1
        if left <= 0:
            break
    return tuple(found)


def keep_parameters(sent: Mapping[str, ParameterValue]) -> KeptParameters:
    """What is kept of the parameters of a call."""
    kept: dict[str, str | list[str]] = {}
    is_whole, left = len(sent) <= MOST_PARAMETERS, MOST_CHARACTERS
    for name, value in list(sent.items())[:MOST_PARAMETERS]:
        shown = HIDDEN if _SECRET_NAME.search(name) else _shown(value)
        left -= sum(map(len, _texts(shown))) + len(name)
        if left < 0:
            is_whole = False
            break
        is_whole &= tuple(_texts(shown)) == tuple(_texts(value)) and isinstance(shown, str) == isinstance(value, str)
        is_whole &= len(name) <= LONGEST_NAME
        kept[storable_text(name, LONGEST_NAME)] = shown
    return KeptParameters(kept, is_whole)


def _shown(value: ParameterValue) -> str | list[str]:
    if isinstance(value, str):
        return storable_text(redact_start(value, LONGEST_VALUE), LONGEST_VALUE + 1)
    if sum(map(len, value)) + len(value) > LONGEST_VALUE:
        return storable_text(redact_start(", ".join(value), LONGEST_VALUE), LONGEST_VALUE + 1)
    return [storable_text(redact(each), LONGEST_VALUE) for each in value]


def _texts(value: str | tuple[str, ...] | list[str]) -> Iterator[str]:
    yield from (value,) if isinstance(value, str) else value
