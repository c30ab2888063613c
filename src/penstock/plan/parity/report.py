"""What the comparison of two versions found.

In: the outcome of each table and of each call of an endpoint. Out: `ParityReport`: as JSON, and the differences that
nobody declared. Invariant: what was not compared is never called the same; it is named with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from datetime import datetime
from typing import Literal, TypeAlias

from penstock.errors import Problem
from penstock.model.quick_dataclass import dataclass

Outcome: TypeAlias = Literal["same", "differs", "not_compared", "failed", "only_left", "only_right"]
"""`only_left` and `only_right`: one version alone has it, by its datafiles; that is no difference.
`not_compared`: a comparison would prove nothing. `failed`: it was tried."""


@dataclass(frozen=True, slots=True)
class DifferingRow:
    """A row that one side has more often."""

    side: Literal["left", "right"]
    times: int
    """How many times more often."""
    row: str
    """Its values as a JSON object."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """How many rows one side has more often than the other."""

    only_left: int = 0
    only_right: int = 0
    close: int = 0
    """Rows that differ in nothing but floats, by no more than an addition in another order explains."""
    sample: tuple[DifferingRow, ...] = ()

    @property
    def is_same(self) -> bool:
        return self.only_left == 0 and self.only_right == 0


@dataclass(frozen=True, slots=True)
class ColumnChecksums:
    """Checksums of the values of a column on both sides."""

    name: str
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class TableReport:
    """A data source, or a quarantine."""

    name: str
    outcome: Outcome
    reason: str | None = None
    """Why it was not compared, or why its difference proves nothing."""
    left_rows: int | None = None
    right_rows: int | None = None
    rows: RowDifference = RowDifference()
    columns: tuple[ColumnChecksums, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The columns that were not compared, each with the reason."""
    notes: tuple[str, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class EndpointReport:
    """One call of an endpoint."""

    name: str
    parameters: Mapping[str, str]
    outcome: Outcome
    reason: str | None = None
    left_rows: int | None = None
    right_rows: int | None = None
    rows: RowDifference = RowDifference()
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    declared: bool = False

    @property
    def call(self) -> str:
        """The call for people: `top(country=DE)`."""
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.parameters.items())})"


@dataclass(frozen=True, slots=True)
class VersionName:
    """One of the two versions."""

    id: int
    name: str
    state: str


@dataclass(frozen=True, slots=True)
class TablePairReport:
    """The comparison of two data sources of one deployment at one cut."""

    deployment: VersionName
    left: str
    right: str
    at: datetime
    batches: Mapping[str, int]
    """By stream, the last batch that both had processed."""
    table: TableReport

    def as_json(self) -> dict[str, object]:
        """The report as a JSON document; each row as a text of JSON."""
        return {
            "deployment": asdict(self.deployment),
            "left": self.left,
            "right": self.right,
            "cut": {"at": self.at.isoformat(), "batches": dict(sorted(self.batches.items()))},
            "table": asdict(self.table),
        }


@dataclass(frozen=True, slots=True)
class ParityReport:
    """The comparison of two versions at one cut."""

    left: VersionName
    right: VersionName
    at: datetime
    """The moment of the cut, which is `now()` in all that was read."""
    batches: Mapping[str, int]
    """By stream, the last batch that both had processed."""
    tables: tuple[TableReport, ...]
    endpoints: tuple[EndpointReport, ...]

    @property
    def differences(self) -> tuple[Problem, ...]:
        """Each difference that is not declared, and what could not be compared."""
        return tuple(self._differences())

    def _differences(self) -> Iterator[Problem]:
        hint = "`penstock diff` shows the rows; `--expect {}` declares it"
        found: tuple[TableReport | EndpointReport, ...] = (*self.tables, *self.endpoints)
        for each in found:
            if each.outcome == "failed" and not each.declared:
                message = f"`{each.name}` could not be compared: {each.reason}"
                yield Problem("not-compared", message, hint=f"`--expect {each.name}` goes on without")
        for table in self.tables:
            if table.outcome == "differs" and not table.declared:
                message = f"the rows of `{table.name}` differ: {self.describe(table)}"
                yield Problem("versions-differ", message, hint=hint.format(table.name))
        for call in self.endpoints:
            if call.outcome == "differs" and not call.declared:
                message = f"the answers of {call.call} differ: {call.reason or self.describe(call)}"
                yield Problem("versions-differ", message, hint=hint.format(call.name))

    def describe(self, found: TableReport | EndpointReport) -> str:
        """How many rows each side has alone."""
        rows, left, right = found.rows, self.left, self.right
        one = f"{rows.only_left:,} only in {left.state} ({left.id})"
        return f"{one}, {rows.only_right:,} only in {right.state} ({right.id})"

    def as_json(self) -> dict[str, object]:
        """The report as a JSON document; each row as a text of JSON."""
        return {
            "left": asdict(self.left),
            "right": asdict(self.right),
            "cut": {"at": self.at.isoformat(), "batches": dict(sorted(self.batches.items()))},
            "same": not self.differences,
            "differences": [problem.as_json() for problem in self.differences],
            "tables": [asdict(each) for each in self.tables],
            "endpoints": [asdict(each) for each in self.endpoints],
        }
