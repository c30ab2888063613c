"""Files of rows as bodies for the Events API.

In: a file, one of the web, or standard input: NDJSON, JSON, CSV or Parquet, packed by gzip, Zstandard, bzip2 or xz, or
not. Out: bodies of whole rows, each small enough for a call. Invariant: what a file is, its first bytes say; its name
says only that it is CSV or one JSON document.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import importlib
import lzma
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, Literal, cast

import zstandard

from penstock.cli.row_files.json_lists import divide_list
from penstock.cli.row_files.web_file import fetched_file, is_address, shown_address
from penstock.client.rows import packed_frames
from penstock.errors import InvalidRequest

BYTES_A_BODY = 8 * 2**20
MOST_BYTES = 2**28
"""The most bytes of a JSON document, which is read as a whole."""
MOST_REPLACED = 2**25
"""The most bytes of a body, as the server has it."""
LONGEST_VALUE = 2**25
COPIED_BYTES = 2**20
RowFormat = Literal["ndjson", "json", "csv", "parquet"]


OPENERS: Mapping[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda packed: cast(BinaryIO, gzip.GzipFile(fileobj=packed)),
    packed_frames.MAGIC: packed_frames.open_zstd,
    b"BZh": lambda packed: cast(BinaryIO, bz2.BZ2File(packed)),
    b"\xfd7zXZ\x00": lambda packed: cast(BinaryIO, lzma.LZMAFile(packed)),  # noqa: SIM115 - the caller closes it
}
"""How a packed file is opened, by the bytes that it begins with."""
_PAGE = b"PAR1\x15"
"""What a Parquet file begins with, and no text: its mark, and a field of its first page."""
REFUSED: Mapping[bytes, str] = {b"PK\x03\x04": "a zip archive", b"ORC": "an ORC file"}
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class RowFile:
    """An opened file of rows."""

    name: str
    format: RowFormat
    source: BufferedReader
    delimiter: str = ","
    """What is between the values of CSV."""

    def bodies(self) -> Iterator[bytes]:
        """Whole rows, a call's worth at a time. Bodies of CSV after the first begin with its first record once more,
        those of a list of JSON are lists, those of Parquet files of Parquet. Raises InvalidRequest if the file is
        damaged, or too large."""
        try:
            match self.format:
                case "json":
                    yield from divide_list(self._whole(), BYTES_A_BODY)
                case "parquet":
                    yield from self._parquet_bodies()
                case "csv":
                    yield from self._csv_bodies()
                case "ndjson":
                    while lines := self.source.readlines(BYTES_A_BODY):
                        yield b"".join(lines)
        except DAMAGE as error:
            raise InvalidRequest(f"{self.name} is damaged: {error}") from error
        except csv.Error as error:  # Python adds for programmers how they might open the file
            raise InvalidRequest(f"{self.name} is no CSV: {str(error).partition(' - ')[0]}") from error

    def one_body(self) -> bytes:
        """All rows in one call. Raises InvalidRequest if the file is damaged, or larger than a call may be."""
        try:
            content = self.source.read(MOST_REPLACED + 1)
        except DAMAGE as error:
            raise InvalidRequest(f"{self.name} is damaged: {error}") from error
        if len(content) > MOST_REPLACED:
            hint = "let a copy with COPY_MODE replace read it: url(…), s3(…) and the like take files of any size"
            raise InvalidRequest(f"{self.name} has more than the {MOST_REPLACED // 2**20} MiB of one call", hint=hint)
        return content

    def _whole(self) -> bytes:
        content = self.source.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            message = f"{self.name} has more than {MOST_BYTES // 2**20} MiB, and a JSON document is read as a whole"
            raise InvalidRequest(message, hint="divide it into several files, or send its rows as NDJSON")
        return content

    def _parquet_bodies(self) -> Iterator[bytes]:
        """The file as it is if it is small. A larger one is kept in a temporary file: it is read from its end."""
        start = self.source.read(BYTES_A_BODY + 1)
        if len(start) <= BYTES_A_BODY:
            yield start
            return
        with tempfile.TemporaryFile() as kept:
            kept.write(start)
            shutil.copyfileobj(self.source, kept, COPIED_BYTES)
            # Arrow takes a fifth of a second to be imported, and few commands need it.
            parts = importlib.import_module("penstock.cli.row_files.parquet_parts")
            yield from parts.divide_parquet(kept, BYTES_A_BODY)

    def _csv_bodies(self) -> Iterator[bytes]:
        records = self._csv_records()
        first = next(records, b"")
        parts, size = [first], len(first)
        for record in records:
            if size + len(record) > BYTES_A_BODY:
                yield b"".join(parts)
                parts, size = [first if first.endswith(b"\n") else first + b"\n"], len(first)
            parts.append(record)
            size += len(record)
        yield b"".join(parts)

    def _csv_records(self) -> Iterator[bytes]:
        """The records as they are written, with their line breaks."""
        lines: list[bytes] = []

        def text() -> Iterator[str]:
            for line in self.source:
                lines.append(line)
                yield line.decode("latin-1")

        csv.field_size_limit(LONGEST_VALUE)
        for _ in csv.reader(text(), delimiter=self.delimiter):
            yield b"".join(lines)
            lines.clear()


@contextmanager
def open_rows(place: str | None, form: RowFormat | None = None, delimiter: str = ",") -> Iterator[RowFile]:
    """What `open_row_file` gives, of a path or of an address of the web. Raises InvalidRequest."""
    if place is None or not is_address(place):
        with open_row_file(Path(place) if place is not None else None, form, delimiter) as opened:
            yield opened
        return
    with fetched_file(place) as path, open_row_file(path, form, delimiter, shown_address(place)) as opened:
        yield opened


@contextmanager
def open_row_file(
    path: Path | None, form: RowFormat | None = None, delimiter: str = ",", shown: str | None = None
) -> Iterator[RowFile]:
    """The file, or standard input; without a format it says itself what it is. Messages call it `shown`. Raises
    InvalidRequest if it cannot be read, or holds no rows."""
    name = shown or (str(path) if path is not None else "standard input")
    try:
        opened = path.open("rb") if path is not None else cast(BufferedReader, sys.stdin.buffer)
    except OSError as error:
        raise InvalidRequest(f"{name} cannot be read: {error.strerror}") from error
    try:
        found = _unpacked(name, _bare_suffix(path.name) if path is not None else "", opened)
        if found.format == "parquet" and form not in (None, "parquet") and found.source.peek(5).startswith(_PAGE):
            raise InvalidRequest(f"{name} is a Parquet file, and no {form}", hint="leave --format out")
        yield replace(found, format=form or found.format, delimiter=delimiter)
    finally:
        if path is not None:
            opened.close()


def _unpacked(name: str, suffix: str, opened: BufferedReader) -> RowFile:
    """The file as it is unpacked; `suffix` is that of its name, without its packing."""
    try:
        first = opened.peek(8)
        opener = next((each for magic, each in OPENERS.items() if first.startswith(magic)), None)
        source = opened if opener is None else cast(BufferedReader, BufferedReader(cast(RawIOBase, opener(opened))))
        start = source.peek(64)
    except DAMAGE as error:
        raise InvalidRequest(f"{name} cannot be read: {error}") from error
    other = next((kind for magic, kind in REFUSED.items() if start.startswith(magic)), None)
    if other is not None:
        hint = "rows are NDJSON, JSON, CSV or Parquet, packed by gzip, zstd, bzip2 or xz, or not"
        raise InvalidRequest(f"{name} is {other}", hint=hint)
    if start.startswith(b"PAR1"):
        return RowFile(name, "parquet", source)
    if suffix == ".csv":
        return RowFile(name, "csv", source)
    # A row is an object, so a text that begins with a list is one JSON document.
    is_document = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") or suffix == ".json"
    return RowFile(name, "json" if is_document else "ndjson", source)


def _bare_suffix(name: str) -> str:
    """The suffix of a file's name, without that of its packing."""
    path = Path(name)
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst", ".zstd", ".bz2", ".xz") else path.suffix
