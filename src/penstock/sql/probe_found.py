"""What one column's expression was found to hold: conversions, and for which rows they are bad.

In: filled in by probe_expressions. Out: `Probe` values. Called by probes and probe_expressions. Invariant:
no SQL of a probe raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from penstock.sql.let import let
from penstock.sql.probe_conversions import Faults, Kind
from penstock.sql.typed import Typed


@dataclass(frozen=True, slots=True)
class Probe:
    """`value` is what is converted, `bad` a boolean that is never NULL; `conversion` is shown to the user."""

    column: str
    kind: Kind
    value: str
    bad: str
    conversion: str


@dataclass(frozen=True, slots=True)
class _Entry:
    probe: Probe
    guards: tuple[str, ...]

    @property
    def bad(self) -> str:
        return " AND ".join((*self.guards, f"({self.probe.bad})"))


@dataclass(slots=True)
class Found:
    """What one column's expression holds. A conversion that was looked at stands in the SQL around it as a
    column of its own, whose SQL (one that never raises) is put back at the end."""

    entries: list[_Entry] = field(default_factory=list)
    safe: list[str] = field(default_factory=list)
    unsure: bool = False

    def stand_in(self, sql: str) -> str:
        if sql not in self.safe:
            self.safe.append(sql)
        return f"`\ue000{self.safe.index(sql)}`"

    def whole(self, sql: str) -> str:
        """What stands in holds only what stood in before it."""
        for place in reversed(range(len(self.safe))):
            name = f"`\ue000{place}`"
            if name in sql:
                sql = let(self.safe[place], partial(sql.replace, name))
        return sql

    def add(self, kind: Kind, value: Typed, bad: str, conversion: str, guards: tuple[str, ...] = ()) -> None:
        self.entries.append(_Entry(Probe("", kind, value.sql, bad, conversion), guards))

    def convicts(self, value: Typed, faults: Faults, conversion: str, guards: tuple[str, ...] = ()) -> None:
        """Notes the faults of a conversion."""
        for kind, bad in faults:
            self.add(kind, value, bad, conversion, guards)

    def probes(self, column: str) -> list[Probe]:
        """One for each conversion, though its alias may be used under several conditions."""
        conditions: dict[Probe, list[str]] = {}
        for each in self.entries:
            conditions.setdefault(each.probe, []).append(each.bad)
        return [
            replace(each, column=column, value=self.whole(each.value), bad=self.whole(" OR ".join(dict.fromkeys(bads))))
            for each, bads in conditions.items()
        ]


def null_of(value: Typed, counted: list[str]) -> str:
    """A value is NULL, and not because of something that is counted already."""
    others = f" AND NOT ({' OR '.join(counted)})" if counted else ""
    return f"{value.sql} IS NULL{others}"
