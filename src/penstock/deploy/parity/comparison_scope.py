"""What is asked of a comparison, and what may differ.

In: the options of a call. Out: `ComparisonScope`. Invariant: a declared name exists in one of the two versions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.errors import InvalidRequest, Problem, did_you_mean
from penstock.plan.parity.endpoint_calls import RECORDED_CALLS

SAMPLE, MOST_SAMPLE = 10, 1_000


@dataclass(frozen=True, slots=True)
class ComparisonScope:
    """The options of a comparison."""

    calls: str = ""
    """The calls of endpoints, one JSON object a line (`plan/parity/endpoint_calls.py`); empty: recorded ones."""
    declared: tuple[str, ...] = ()
    """What may differ: `table`, `endpoint`, or `table.column`, `endpoint.column`."""
    sample: int = SAMPLE
    """The most rows of each side that are shown of a table, or of an endpoint."""
    recorded: int = RECORDED_CALLS
    """The most recorded calls of each endpoint that are compared."""
    shows_parameters: bool = True
    """Whether the parameters of recorded calls are shown."""

    def declares(self, names: Iterable[str]) -> bool:
        """Whether all of a table or endpoint may differ."""
        return not frozenset(self.declared).isdisjoint(names)

    def columns(self, names: Iterable[str]) -> frozenset[str]:
        """The columns of a table or endpoint that may differ."""
        found = (each.partition(".") for each in self.declared)
        owners = frozenset(names)
        return frozenset(column for owner, dot, column in found if dot and owner in owners)

    def check_names(self, known: Iterable[str]) -> None:
        """Raises InvalidRequest for a declared name of which neither version has the table or endpoint."""
        names = frozenset(known)
        wrong = [each for each in self.declared if each.partition(".")[0] not in names]
        if wrong:
            problems = [
                Problem("invalid-parameter", f"neither version has `{each[:100]}`", hint=did_you_mean(each, names))
                for each in wrong
            ]
            raise InvalidRequest(f"neither version has `{wrong[0][:100]}`, which is declared to differ", problems)
