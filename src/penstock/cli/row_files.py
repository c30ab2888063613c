"""Files of rows as bodies for the Events API.

In: a file or standard input: NDJSON or JSON, packed by gzip, Zstandard, bzip2 or xz, or not. Out: bodies of whole rows.
Invariant: what a file is, its first bytes say, not its name; a file is never sent as rows that are none.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, Literal, cast

import zstandard

from penstock.errors import InvalidRequest

BYTES_A_BODY = 8 * 2**20
RowFormat = Literal["ndjson", "json"]


def _open_zstd(packed: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True))


OPENERS: Mapping[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda packed: cast(BinaryIO, gzip.GzipFile(fileobj=packed)),
    b"\x28\xb5\x2f\xfd": _open_zstd,
    b"BZh": lambda packed: cast(BinaryIO, bz2.BZ2File(packed)),
    b"\xfd7zXZ\x00": lambda packed: cast(BinaryIO, lzma.LZMAFile(packed)),  # noqa: SIM115 - the caller closes it
}
"""How a packed file is opened, by the bytes that it begins with."""
REFUSED: Mapping[bytes, str] = {b"PAR1": "a Parquet file", b"PK\x03\x04": "a zip archive", b"ORC": "an ORC file"}
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class RowFile:
    """An opened file of rows."""

    name: str
    format: RowFormat
    source: BufferedReader

    def bodies(self) -> Iterator[bytes]:
        """Whole lines, a call's worth at a time; JSON all at once. Raises InvalidRequest if the file is damaged."""
        try:
            if self.format == "json":
                yield self.source.read()
                return
            while lines := self.source.readlines(BYTES_A_BODY):
                yield b"".join(lines)
        except DAMAGE as error:
            raise InvalidRequest(f"{self.name} is damaged: {error}") from error


@contextmanager
def open_row_file(path: Path | None) -> Iterator[RowFile]:
    """The file, or standard input. Raises InvalidRequest if it cannot be read, or holds no rows."""
    name = str(path) if path is not None else "standard input"
    try:
        opened = path.open("rb") if path is not None else cast(BufferedReader, sys.stdin.buffer)
    except OSError as error:
        raise InvalidRequest(f"{name} cannot be read: {error.strerror}") from error
    try:
        yield _unpacked(name, opened)
    finally:
        if path is not None:
            opened.close()


def _unpacked(name: str, opened: BufferedReader) -> RowFile:
    try:
        first = opened.peek(8)
        opener = next((each for magic, each in OPENERS.items() if first.startswith(magic)), None)
        source = opened if opener is None else cast(BufferedReader, BufferedReader(cast(RawIOBase, opener(opened))))
        start = source.peek(64)
    except DAMAGE as error:
        raise InvalidRequest(f"{name} cannot be read: {error}") from error
    other = next((kind for magic, kind in REFUSED.items() if start.startswith(magic)), None)
    if other is not None:
        raise InvalidRequest(f"{name} is {other}", hint="rows are NDJSON or JSON, packed by gzip, zstd, bzip2 or xz")
    # A row is an object, so a text that begins with a list is one JSON document.
    is_document = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") or _bare_suffix(name) == ".json"
    return RowFile(name, "json" if is_document else "ndjson", source)


def _bare_suffix(name: str) -> str:
    """The suffix of a file's name, without that of its packing."""
    path = Path(name)
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst", ".zstd", ".bz2", ".xz") else path.suffix
