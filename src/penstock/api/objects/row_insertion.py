"""Rows that a program inserts: the options, the result, and `insert` of tables and streams.

In: rows and `InsertOptions`. Out: `InsertResult`. Invariant: an object that is only declared loads no client: the one
that sends rows is imported when the first are inserted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal, Protocol, TypeAlias, Union, cast

from penstock.api.objects.declarations import RowModel

Strategy = Literal["fail-fast", "discard", "isolate"]
STRATEGIES = ("fail-fast", "discard", "isolate")
LONGEST_KEY = 200
"""The server takes 256; a number of each batch is added."""


def is_key(text: str) -> bool:
    """Whether a text can be an idempotency key."""
    return 0 < len(text) <= LONGEST_KEY and text.isascii() and text.isprintable() and text.strip() == text


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertOptions:
    """What becomes of rows that do not fit, and of the others then.

    `fail-fast` ends with an error at the first of them, `discard` leaves them out and counts them, `isolate` also keeps
    them with their reasons ([the client](client.md)). Raises ValueError for options that contradict each other.

    >>> options = InsertOptions(strategy="discard", allow_errors_ratio=0.01)
    """

    strategy: Strategy = "fail-fast"
    allow_errors: int | None = None
    """With `discard` and `isolate`: the most rows that may not fit; more are an error."""
    allow_errors_ratio: float | None = None
    """The same as a part of all rows, from 0 to 1."""
    validate: bool = True
    """Whether rows are checked by the model of the table, if it is known, before they are sent. Of a table of Arrow or
    Spark, and of pandas without dicts, only the names of its columns are; the server checks its values."""
    wait: bool = False
    """Whether to return only once the rows can be queried, and not as soon as no crash can lose them."""
    idempotency_key: str | None = None
    """What names these rows: inserted again with the same key they are stored once."""

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is one of {', '.join(STRATEGIES)}, not {self.strategy!r}")
        if self.allow_errors is not None and self.allow_errors < 0:
            raise ValueError(f"allow_errors is 0 or more, not {self.allow_errors}")
        if self.allow_errors_ratio is not None and not 0 <= self.allow_errors_ratio <= 1:
            raise ValueError(f"allow_errors_ratio is from 0 to 1, not {self.allow_errors_ratio}")
        if self.idempotency_key is not None and not is_key(self.idempotency_key):
            raise ValueError(f"an idempotency_key has 1 to {LONGEST_KEY} printable characters of ASCII")
        limits = (self.allow_errors, self.allow_errors_ratio)
        if self.strategy == "fail-fast" and limits != (None, None):
            raise ValueError("fail-fast allows no errors: write strategy='discard' or strategy='isolate'")


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A row that was not sent, its place among the rows (from 0), and why.

    >>> FailedRecord({"id": None}, "id: Input should be a valid string", 0).index
    0
    """

    record: object
    error: str
    index: int


@dataclass(frozen=True, slots=True)
class InsertResult:
    """What became of rows. Those that the server acknowledged are stored, whatever happens to it.

    >>> InsertResult(successful=2, quarantined=1).total
    3
    """

    successful: int = 0
    """Rows that are in the table."""
    quarantined: int = 0
    """Rows that are in the table's quarantine, since a column could not hold their value."""
    failed: int = 0
    """Rows that were not sent."""
    failed_records: tuple[FailedRecord, ...] = field(default=(), repr=False)
    """With `isolate`: the rows that were not sent, at most the first 1,000 of them."""
    unconfirmed: int = 0
    """Rows of a batch that was sent and not acknowledged: nobody knows whether they are stored."""
    idempotency_key: str = ""
    """The same rows inserted again with this key are stored once."""

    @property
    def total(self) -> int:
        """The rows whose fate is known."""
        return self.successful + self.quarantined + self.failed


Rows: TypeAlias = Union[Iterable[Union[RowModel, Mapping[str, object]]], "ArrowTable", "SparkFrame"]
"""Rows of a model: models and dicts, or a table of another library."""


class ArrowTable(Protocol):
    """A table of Arrow, pandas or another library that gives a stream of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class SparkFrame(Protocol):
    """A DataFrame of Spark."""

    def toLocalIterator(self) -> object: ...  # noqa: N802


class RowTarget(Protocol):
    """Something with the name under which rows are posted."""

    @property
    def ref(self) -> str: ...


class _InsertRows(Protocol):
    def __call__(self, target: RowTarget, rows: object, options: InsertOptions | None) -> InsertResult: ...


def insert_rows(target: RowTarget, rows: object, options: InsertOptions | None) -> InsertResult:
    """Insert with the client that all objects of this process share."""
    return cast(_InsertRows, import_module("penstock.client.shared_client").insert_rows)(target, rows, options)
