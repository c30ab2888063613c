"""The rows of a file that is taken: whole and unpacked before the first of them is stored.

In: a file of this machine, and how it is written. Out: JSON rows in the order of the file. Invariants: the same file
gives the same number of rows in the same order, however its data source reads them; some megabytes are in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.deploy.external.packed_streams import PACKING_ERRORS, unpacked_parts
from penstock.deploy.ingest.imports.file_places import UnusableFile
from penstock.deploy.ingest.row_files.csv_rows import MARK, CsvForm, csv_rows, has_header
from penstock.deploy.ingest.row_files.parquet_rows import parquet_rows
from penstock.errors import InvalidRequest, StorageFull
from penstock.model.datasource import FILE_FORMATS, FileRowFormat
from penstock.model.external_tables import Packing
from penstock.model.manifest import Landing

LONGEST_LINE = 32 * 2**20
FIRST_LINES = 100
"""Of so many lines one must begin as an object, else the file is no NDJSON."""
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".lz4")


def format_of(address: str, given: FileRowFormat | None) -> FileRowFormat:
    """How a file is written: as its data source says, else as its name does. Raises UnusableFile."""
    if given is not None:
        return given
    name = address.rpartition("/")[2].lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    ending = name.rpartition(".")[2] if "." in name else ""
    if ending not in FILE_FORMATS:
        raise UnusableFile("its name does not say how it is written: write IMPORT_FORMAT csv, ndjson or parquet")
    return FILE_FORMATS[ending]


def unpack_file(opened: Path, packing: Packing, target: Path, check: Callable[[int], None]) -> Path:
    """A file with the contents of a packed one: `target`, or the file itself if it is not packed. `check` is called
    with how many bytes there are by then, and may raise. Raises UnusableFile if it is damaged, StorageFull."""
    if packing == "none":
        return opened
    try:
        with target.open("wb") as file:
            size = 0
            for part in unpacked_parts(opened, packing):
                size += len(part)
                check(size)
                file.write(part)
    except PACKING_ERRORS as error:
        if shutil.disk_usage(target.parent).free < 2**20:
            raise StorageFull("the disk of the inbox has too little room to unpack a file") from error
        raise UnusableFile(f"it cannot be unpacked as {packing}: {_reason(error)}") from None
    return target


def _reason(error: Exception) -> str:
    """The first line of an error of a library, some of which quote theirs."""
    return str(error).splitlines()[0].strip("'") if str(error) else repr(error)


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads a file of this machine for a data source."""

    path: Path
    format: FileRowFormat
    datasource: str
    has_header: bool | None = None
    """Of CSV, whether the first record has names; None: it is looked at."""

    def begins_with_names(self, landing: Landing) -> bool:
        """Whether the first record of a file of CSV has names. Raises UnusableFile."""
        with _as_unusable():
            return has_header(self.path, landing, CsvForm())

    def rows(self, landings: Sequence[Landing]) -> Iterator[bytes]:
        """The rows of the file, for the running versions, of which the first is live. Raises UnusableFile."""
        landing, *others = landings
        with _as_unusable():
            if self.format == "csv":
                yield from csv_rows(self.path, landing, self.datasource, CsvForm(has_header=self.has_header), others)
            elif self.format == "parquet":
                yield from parquet_rows(self.path, landing, self.datasource, others)
            else:
                yield from json_lines(self.path)


@contextmanager
def _as_unusable() -> Iterator[None]:
    try:
        yield
    except InvalidRequest as error:
        raise UnusableFile(error.with_hint()) from None


def json_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of JSON objects. Raises UnusableFile if it holds none."""
    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            file.seek(0)
        lines = _lines(file.readline)
        held: list[bytes] = []
        for line in lines:
            held.append(line)
            if line.startswith(b"{"):
                yield from held
                yield from lines
                return
            if line.startswith(b"[") and len(held) == 1:
                raise UnusableFile("it is a list of JSON: write one object a line (NDJSON)")
            if len(held) == FIRST_LINES or sum(map(len, held)) > LONGEST_LINE:
                break
        raise UnusableFile("it holds no JSON objects: write one a line (NDJSON)")


def _lines(read: Callable[[int], bytes]) -> Iterator[bytes]:
    number = 0
    while line := read(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise UnusableFile(f"line {number} has more than {LONGEST_LINE // 2**20} MiB")
        if stripped := line.strip():
            yield stripped
