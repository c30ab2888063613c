"""A deployment's project as queries are compiled against it, with what its endpoints compiled to.

In: a parsed project, and calls of its endpoints. Out: `QueryableProject`. Invariant: its memory does not depend on the
values that callers send: so many calls are kept, and so many characters of compiled SQL. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.errors import InvalidRequest, did_you_mean
from penstock.model.pipe import Dialect, Pipe
from penstock.model.project import Project
from penstock.sql.query import Query
from penstock.template.declared_parameters import CHOOSE_TABLES, names_in_templates, parameters_of
from penstock.template.render_frame import JOB_TIMESTAMP, Parameter

MOST_CALLS = 512
"""The most calls of endpoints whose compiled SQL is kept for each project."""
MOST_CHARACTERS = 4_000_000
"""The most characters of these calls' SQL and values."""
NOTHING_FIXED: Mapping[str, Parameter] = {}
EndpointCall: TypeAlias = tuple[str, tuple[tuple[str, Parameter], ...]]
"""The name of an endpoint, and the parameter values of a call."""


@dataclass(frozen=True, slots=True)
class CompiledCall:
    """What a call of an endpoint compiled to."""

    query: Query
    read: frozenset[str]
    """The parameters that its templates read for this call."""
    ttl: int = 0
    """For so many seconds its answer may be given again."""


class CompiledCalls:
    """The compiled queries of an endpoint's calls; the oldest go when there are too many."""

    def __init__(self) -> None:
        self._queries: dict[EndpointCall, CompiledCall] = {}
        self._characters = 0
        self._guard = threading.Lock()

    def get(self, call: EndpointCall) -> CompiledCall | None:
        return self._queries.get(call)

    def add(self, call: EndpointCall, compiled: CompiledCall) -> None:
        with self._guard:
            if call in self._queries:
                return
            self._queries[call] = compiled
            self._characters += _size(call, compiled.query)
            while len(self._queries) > MOST_CALLS or self._characters > MOST_CHARACTERS:
                oldest = next(iter(self._queries))
                self._characters -= _size(oldest, self._queries.pop(oldest).query)


def _size(call: EndpointCall, query: Query) -> int:
    values = sum(len(name) + len(str(value)) for name, value in call[1])
    return len(query.sql) + len(query.with_totals) + values


@dataclass(frozen=True, slots=True)
class QueryableProject:
    """A deployment's project, with caches of what its endpoints compile to."""

    project: Project
    dialect: Dialect
    calls: CompiledCalls = field(default_factory=CompiledCalls)
    parameters: dict[str, frozenset[str]] = field(default_factory=dict)
    """The names in the templates, by pipe."""

    def parameters_read(
        self, pipe: Pipe, given: Mapping[str, Parameter], fixed: Mapping[str, Parameter] = NOTHING_FIXED
    ) -> dict[str, Parameter]:
        """Those of a call's parameters that can make a difference to an endpoint, in the order of their names. All that
        are `fixed` are among them: a template can name by a parameter (`table(x)`) the pipe that reads them."""
        known = self._names(pipe)
        return {key: value for key, value in sorted({**given, **fixed}.items()) if key in known or key in fixed}

    def check_names(self, pipe: Pipe, given: Mapping[str, Parameter]) -> None:
        """Raises InvalidRequest for a parameter that no template of a pipe reads: where a run writes rows, a misspelt
        one would write others than those that were meant. A pipe that chooses by a parameter what it reads may read
        any."""
        names = self._names(pipe)
        unread = next((each for each in given if each not in names and each != JOB_TIMESTAMP), None)
        if unread is None or names & CHOOSE_TABLES:
            return
        declared = [each.name for each in parameters_of(self.project, pipe)]
        hint = did_you_mean(unread, declared) if declared else "no template of it reads any"
        raise InvalidRequest(f"`{pipe.name}` has no parameter `{unread}`", hint=hint)

    def _names(self, pipe: Pipe) -> frozenset[str]:
        known = self.parameters.get(pipe.name)
        if known is None:
            known = self.parameters[pipe.name] = names_in_templates(self.project, pipe)
        return known
