"""Append the rows of a CSV or Parquet file, or replace all rows by them.

In: the bytes of a file and an idempotency key. Out: a `Receipt` of all its rows. Invariant: rows are stored in parts of
limited size, each under a key of its own that is made of the file's; so a file that is sent again under its key, after
whatever happened midway, is stored once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.deploy.ingest.event_ingestion import EventIngestion, Receipt
from penstock.deploy.ingest.row_files.csv_rows import CsvForm, csv_rows
from penstock.deploy.ingest.row_files.parquet_rows import parquet_rows
from penstock.deploy.ingest.row_replacement import RowReplacement
from penstock.errors import InvalidRequest, TooLarge

PART_BYTES = 8 * 2**20
PART_ROWS = 100_000
MOST_REPLACED_BYTES = 128 * 2**20
"""The most bytes of the rows that replace others, which are stored at once."""


class ParquetForm:
    """A Parquet file says itself how it is written."""


@dataclass(frozen=True, slots=True)
class FileIngestion:
    """Takes files of rows."""

    ingestion: EventIngestion
    replacement: RowReplacement

    def append(self, name: str, content: bytes, form: CsvForm | ParquetForm, key: str) -> Receipt:
        """Store the rows of a file durably. Raises NotFound, InvalidRequest, and what storing raises; then some of its
        parts may be stored, and are not stored again under the same key."""
        found: Receipt | None = None
        for number, part in enumerate(parts_of_rows(self._rows(name, content, form)), 1):
            stored = self.ingestion.append(name, b"\n".join(part), f"{key} part {number}")
            found = stored if found is None else _both(found, stored)
        if found is None:
            raise InvalidRequest("the file has no rows")
        return found

    def replace(self, name: str, content: bytes, form: CsvForm | ParquetForm, key: str) -> Receipt:
        """Put the rows of a file in the place of all rows. Raises what `append` raises, TooLarge, and Conflict where
        views write the data source too; then nothing is replaced."""
        lines: list[bytes] = []
        size = 0
        for line in self._rows(name, content, form):
            size += len(line) + 1
            if size > MOST_REPLACED_BYTES:
                message = f"the rows take more than {MOST_REPLACED_BYTES // 2**20} MiB as JSON"
                raise TooLarge(message, hint="truncate the data source, then append the rows in parts")
            lines.append(line)
        if not lines:
            raise InvalidRequest("the file has no rows", hint="`penstock datasource truncate` removes all rows")
        return self.replacement.replace(name, b"\n".join(lines), key)

    def _rows(self, name: str, content: bytes, form: CsvForm | ParquetForm) -> Iterator[bytes]:
        landing, *others = self.ingestion.landings_of(name)
        if isinstance(form, CsvForm):
            return csv_rows(content, landing, name, form, others)
        return parquet_rows(content, landing, name, others)


def _both(before: Receipt, after: Receipt) -> Receipt:
    return replace(
        after,
        successful_rows=before.successful_rows + after.successful_rows,
        quarantined_rows=before.quarantined_rows + after.quarantined_rows,
    )


def is_within_part(rows: int, size: int) -> bool:
    """Whether so many rows, of so many bytes, can be stored at once."""
    return rows <= PART_ROWS and size <= PART_BYTES


def parts_of_rows(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The rows in parts, each of which is stored at once."""
    part: list[bytes] = []
    size = 0
    for line in lines:
        if part and (len(part) == PART_ROWS or size + len(line) > PART_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line) + 1
    if part:
        yield part
