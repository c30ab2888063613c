"""The calls of endpoints that are compared: those that a file gives or that were recorded, else one without parameters.

In: lines of JSON, `{"endpoint": "top", "parameters": {"country": "DE"}}`, or recorded parameters. Out: `EndpointCall`s.
Invariant: a wrong line is named with its number, and no line is passed over; no call is compared twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field

import orjson

from penstock.errors import InvalidRequest, Location, Problem, did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.template.render_frame import ListParameter, Parameter

MOST_CALLS = 1_000
RECORDED_CALLS, MOST_RECORDED = 10, 100
"""How many recorded calls of an endpoint are compared, and the most that can be asked for."""


@dataclass(frozen=True, slots=True)
class EndpointCall:
    """An endpoint with the parameters of one call."""

    endpoint: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """The parameters as texts; a list as JSON."""
        return {
            name: value if isinstance(value, str) else value.json for name, value in sorted(self.parameters.items())
        }


def parse_calls(text: str, known: Collection[str]) -> tuple[EndpointCall, ...]:
    """The calls, one a line; empty lines are left out. Raises InvalidRequest with every wrong line; `known` are the
    endpoints of either version."""
    problems: list[Problem] = []
    calls: list[EndpointCall] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _parse_line(line, known)
        if isinstance(found, EndpointCall):
            calls.append(found)
        else:
            problems.append(Problem("invalid-parameter", found[0], Location("params", number), found[1]))
    if len(calls) > MOST_CALLS:
        problems.append(Problem("invalid-parameter", f"there are {len(calls):,} calls; at most {MOST_CALLS:,} are run"))
    if problems:
        raise InvalidRequest("the calls of endpoints have problems", problems[:20])
    return tuple(calls)


_SHAPE = 'one JSON object a line: {"endpoint": "top", "parameters": {"country": "DE"}}'


def _parse_line(line: str, known: Collection[str]) -> EndpointCall | tuple[str, str | None]:
    """The call, or what is wrong and a hint."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return f"the line is not JSON: {error}", _SHAPE
    name = found.get("endpoint") if isinstance(found, dict) else None
    if not isinstance(name, str):
        return "the line names no endpoint", _SHAPE
    if name not in known:
        return f"neither version has an endpoint `{name[:100]}`", did_you_mean(name, known)
    given = found.get("parameters", {})
    if not isinstance(given, dict):
        return "`parameters` is not an object", _SHAPE
    more = sorted(found.keys() - {"endpoint", "parameters"})
    if more:
        return f"`{more[0][:100]}` is neither `endpoint` nor `parameters`", _SHAPE
    return EndpointCall(name, {key: _parameter(value) for key, value in given.items() if value is not None})


def _parameter(value: object) -> Parameter:
    if isinstance(value, list):
        return ListParameter(orjson.dumps(value).decode(), tuple(map(_text, value)))
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def recorded_calls(
    name: str, recorded: Iterable[Mapping[str, object]], read: Collection[str], most: int
) -> tuple[EndpointCall, ...]:
    """The latest recorded calls of an endpoint that can have different answers: only the parameters in `read` make a
    difference. `recorded` are the parameters of calls, newest first."""
    found: dict[bytes, EndpointCall] = {}
    for given in recorded:
        own = {key: value for key, value in sorted(given.items()) if key in read}
        if len(found) >= most:
            break
        call = EndpointCall(name, {key: _parameter(value) for key, value in own.items()})
        found.setdefault(orjson.dumps(own), call)
    return tuple(found.values())


def calls_of(name: str, given: Sequence[EndpointCall]) -> tuple[EndpointCall, ...]:
    """The calls of one endpoint; one by its declared defaults if none is given."""
    return tuple(call for call in given if call.endpoint == name) or (EndpointCall(name),)
