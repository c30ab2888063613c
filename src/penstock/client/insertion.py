"""One insertion: which rows are sent in which batches, and what became of them.

In: rows and options, and the server's answers. Out: batches, requests and an `InsertResult`. Invariants: no input and
output happens here, so that it is the same with and without asyncio; what is known of the rows is told in every case,
also by an error.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import NoReturn

import orjson
from pydantic import BaseModel

from penstock.api.objects.row_insertion import FailedRecord, InsertOptions, InsertResult
from penstock.client.client_error import ClientError, server_error
from penstock.client.requests import Request, insert_request
from penstock.client.rows.frames import check_columns, record_batches, refuse_durations, rows_with_dicts
from penstock.client.rows.row_batches import BatchLimits, FrameCollector, LineCollector, RowBatch
from penstock.client.rows.row_lines import RowWriter, row_check, shape_of
from penstock.client.rows.sendable_values import UnsendableValue
from penstock.errors import Problem

MOST_RECORDS = 1_000
"""The rows that did not fit and are kept; all are counted."""


@dataclass(frozen=True, slots=True)
class InsertTarget:
    """The data source by the name under which rows are posted, with the model of its rows if that is known."""

    name: str
    model: type[BaseModel] | None = None


@dataclass(slots=True)
class _Counts:
    """Of rows that were read from their source."""

    read: int = 0
    failed: int = 0
    records: list[FailedRecord] = field(default_factory=list)


class Insertion:
    """Rows of one call of `insert`. The caller sends what `request` gives for each batch, in their order."""

    def __init__(self, target: InsertTarget, options: InsertOptions, limits: BatchLimits):
        self._target, self._options, self._limits = target, options, limits
        self._key = options.idempotency_key or uuid.uuid4().hex
        self._writer = RowWriter(target.model, row_check(target.model, validates=options.validate))
        self._counts = _Counts()
        self._lines = LineCollector(limits)
        self._successful = self._quarantined = self._pending = 0

    def batches(self, rows: object) -> Iterator[RowBatch]:
        """The batches of what blocks while it is read. A list is checked whole before the first batch is made: it is
        sent whole, or not at all. Raises ClientError."""
        model = self._target.model if self._options.validate else None
        with_dicts = rows_with_dicts(rows, shape_of(model) if model is not None else None)
        if with_dicts is not None:
            return self._list_batches(with_dicts)
        found = record_batches(rows)
        if found is not None:
            return self._frame_batches(found)
        if isinstance(rows, (list, tuple)):
            return self._list_batches(rows)
        return self._row_batches(_rows_of(rows))

    def add(self, row: object) -> RowBatch | None:
        """Take a row of what is awaited; gives a batch that is full. Raises ClientError."""
        self._counts.read += 1
        try:
            return self._lines.add(self._writer.line(row))
        except UnsendableValue as fault:
            self._leave_out(row, fault)
        return None

    def finish_batches(self) -> RowBatch | None:
        """The last batch. Raises ClientError if too many rows do not fit."""
        self._check_errors(is_over=True)
        return self._lines.finish()

    def request(self, batch: RowBatch) -> Request:
        """The call that stores a batch; its answer goes to `confirm`."""
        self._pending = batch.rows
        return insert_request(self._target.name, batch, self._key, waits=self._options.wait)

    def confirm(self, status: int, answer: bytes) -> None:
        """Count the rows of the batch. Raises ClientError if too many rows do not fit."""
        try:
            counts = orjson.loads(answer)
            successful, quarantined = int(counts["successful_rows"]), int(counts["quarantined_rows"])
        except (ValueError, KeyError, TypeError):
            error = server_error(status, b"what answers is not a Penstock server")
            error.maybe_stored = True
            raise error from None
        self._pending = 0
        self._successful += successful
        self._quarantined += quarantined
        if self._quarantined and self._options.strategy == "fail-fast":
            message = f"{self._quarantined} rows do not fit: they are in `{self._target.name}_quarantine`"
            hint = (
                f"`penstock datasource quarantine {self._target.name}` has the reasons; with strategy='discard' they "
                "are counted and no error"
            )
            problem = Problem("quarantined-rows", message, hint=hint)
            raise ClientError(message, [problem], hint=hint, code=problem.code)
        self._check_errors(is_over=False)

    @property
    def result(self) -> InsertResult:
        """What is known by now."""
        counts = self._counts
        return InsertResult(
            self._successful, self._quarantined, counts.failed, tuple(counts.records), self._pending, self._key
        )

    def finish(self) -> InsertResult:
        """The result, once all batches are confirmed. Raises ClientError if too many rows do not fit."""
        self._check_errors(is_over=True)
        return self.result

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Every error of the block has the result so far, also what interrupts or cancels it."""
        try:
            yield
        except ClientError as error:
            if not (error.may_pass or error.maybe_stored):
                self._pending = 0  # the server refused the batch, or it was not sent
            elif self._pending:
                more = (
                    f"{self._pending} rows may be stored: insert the same rows with "
                    f"InsertOptions(idempotency_key={self._key!r}), and none is stored twice"
                )
                error.hint = more if error.may_pass or not error.hint else f"{error.hint}; {more}"
            error.result = self.result
            raise
        except BaseException as error:
            vars(error)["result"] = self.result
            raise

    def _list_batches(self, rows: Iterable[object]) -> Iterator[RowBatch]:
        ahead = self._row_batches(rows)
        first = list(islice(ahead, 2))
        if len(first) < 2:
            return iter(first)
        deque(ahead, maxlen=0)
        self._counts, self._lines = _Counts(), LineCollector(self._limits)
        return self._row_batches(rows)

    def _row_batches(self, rows: Iterable[object]) -> Iterator[RowBatch]:
        for row in _reported(rows):
            done = self.add(row)
            if done is not None:
                yield done
        last = self.finish_batches()
        if last is not None:
            yield last

    def _frame_batches(self, found: Iterator[object]) -> Iterator[RowBatch]:
        collector, names = FrameCollector(self._limits), list[str]()
        model = self._target.model if self._options.validate else None
        for batch in _reported(found):
            if not names:
                names = list(batch.schema.names)  # type: ignore[attr-defined]
                check_columns(names, shape_of(model) if model is not None else None)
                refuse_durations(batch.schema)  # type: ignore[attr-defined]
            self._counts.read += batch.num_rows  # type: ignore[attr-defined]
            yield from collector.add(batch)
        yield from collector.finish()

    def _leave_out(self, row: object, fault: UnsendableValue) -> None:
        counts, index = self._counts, self._counts.read - 1
        if self._options.strategy == "fail-fast":
            _refuse_row(index, fault)
        counts.failed += 1
        if self._options.strategy == "isolate" and len(counts.records) < MOST_RECORDS:
            counts.records.append(FailedRecord(row, str(fault), index))
        self._check_errors(is_over=False)

    def _check_errors(self, *, is_over: bool) -> None:
        """Raises ClientError if more rows do not fit than the options allow; a ratio is known at the end only."""
        options, errors, rows = self._options, self._counts.failed + self._quarantined, self._counts.read
        too_many = options.allow_errors is not None and errors > options.allow_errors
        if is_over and options.allow_errors_ratio is not None and rows:
            too_many = too_many or errors > options.allow_errors_ratio * rows
        if too_many:
            message = f"{errors} of {rows} rows do not fit, more than the options allow"
            raise ClientError(message, [Problem("too-many-errors", message)], code="too-many-errors")


def _refuse_row(index: int, fault: UnsendableValue) -> NoReturn:
    message = f"row {index} (from 0) cannot be sent: {fault}"
    raise ClientError(message, [Problem("invalid-row", message)], code="invalid-row")


def _rows_of(rows: object) -> Iterable[object]:
    """One row, or several. Raises ClientError."""
    if isinstance(rows, BaseModel) or hasattr(rows, "keys"):
        return (rows,)
    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        kinds = "models, dicts, or a table of Arrow, pandas or Spark"
        raise ClientError(f"a {type(rows).__name__} has no rows", hint=f"rows are {kinds}", code="wrong-usage")
    return rows


def _reported(rows: Iterable[object]) -> Iterator[object]:
    """The rows. Raises ClientError for whatever their iterator raises."""
    found = iter(rows)
    while True:
        try:
            row = next(found)
        except StopIteration:
            return
        except Exception as error:
            raise interrupted_rows(error) from error
        yield row


def interrupted_rows(error: Exception) -> ClientError:
    """The error for an iterator of rows that raised one."""
    if isinstance(error, ClientError):
        return error
    message = f"the rows ended in an error of their own: {type(error).__name__}: {error}"
    hint = "what was acknowledged before is stored; `error.result` counts it"
    return ClientError(message, [Problem("interrupted-rows", message, hint=hint)], hint=hint, code="interrupted-rows")
