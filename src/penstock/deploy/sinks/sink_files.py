"""The files of a run of a sink, as they wait on this machine to be published.

In: the rows of a sink, and how its files are named and written. Out: files in the folder of the run, with a list of
them. Invariant: the list is on disk after all files are, and names each file as it will be named; so what is published
after a crash is what would have been published before it.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import zstandard

from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.deploy.queries.answers.arrow_answers import write_parquet
from penstock.deploy.queries.answers.json_values import json_converter
from penstock.errors import Failed, InvalidRequest, did_you_mean
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.lake.storage.durable_writes import replace_file, sync_folder
from penstock.model.pipe import Exported, FileCompression, FileFormat, FileTarget
from penstock.model.types import Type
from penstock.parse.connectors.file_names import InvalidTemplate, columns_of, file_name, parse_template

LIST = "files.json"
ROWS_BETWEEN_PACKING = 50_000
"""The rows that wait unpacked, of all files together, at most about."""
GZIP = zlib.MAX_WBITS | 16
"""Source: zlib's manual, `deflateInit2`."""
MOST_FILES = 10_000
"""The most files of a run: a template that names a time to the second would make one a row."""
_ENDINGS: dict[FileFormat, str] = {"csv": ".csv", "ndjson": ".ndjson", "parquet": ".parquet"}
_PACKED: dict[FileCompression, str] = {"none": "", "gzip": ".gz", "zstd": ".zst", "snappy": ""}
_FORMATS = {"csv": "CSVWithNames", "ndjson": "JSONEachRow"}


@dataclass(frozen=True, slots=True)
class SpooledFile:
    """A file that waits."""

    name: str
    """Where it will be, below the place of the sink."""
    file: str
    """Its name in the folder of the run."""
    rows: int
    bytes: int = 0
    """Of a list that a former release wrote, 0."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one file, as the formats take an answer."""

    columns: tuple[tuple[str, Type], ...]
    rows: Sequence[Sequence[object]]
    elapsed: float = 0.0
    rows_read: int = 0
    bytes_read: int = 0
    totals: Sequence[object] | None = None
    is_cut: bool = False
    size: int = 0


def spool_files(folder: Path, target: FileTarget, answer: QueryResult) -> tuple[SpooledFile, ...]:
    """Write the files of a run into an empty folder. Raises InvalidRequest, OSError."""
    made = []
    for number, (name, rows) in enumerate(sorted(_rows_by_name(target, answer).items())):
        path = folder / f"{number}.part"
        part = _Part(answer.columns, rows)
        with replace_file(path) as file:
            for piece in _packed(target, _pieces(target, part)):
                file.write(piece)
        made.append(SpooledFile(name, path.name, len(rows), path.stat().st_size))
    return tuple(made)


def write_list(folder: Path, kind: Exported, files: Iterable[SpooledFile], place: str = "") -> None:
    """Write the list of the files of a run of this sink; `place` is the folder of this machine where they will be."""
    listed = {"sink": _digest(kind), "place": place, "files": [asdict(each) for each in files]}
    with replace_file(folder / LIST) as file:
        file.write(json.dumps(listed).encode())
    sync_folder(folder)


def read_place(folder: Path) -> tuple[str, Mapping[str, Path]]:
    """The folder of this machine where a run writes its files, and these by the names that they have there; nothing
    where it writes elsewhere, or had no list yet."""
    try:
        found = json.loads((folder / LIST).read_bytes())
    except (OSError, ValueError):
        return "", {}
    place = found.get("place", "")  # a list of a former release has none
    return place, {each["name"]: folder / each["file"] for each in found["files"]} if place else {}


def read_list(folder: Path, kind: Exported) -> tuple[SpooledFile, ...]:
    """The files of a run of this sink. Raises Failed if there is no list, or it was one of a sink that wrote
    elsewhere."""
    path, hint = folder / LIST, "look at the place of the sink before you run it again"
    if not path.exists():
        message = "the files of this run are missing in the inbox; some of them may have been published"
        raise Failed(message, hint=hint)
    found = json.loads(path.read_bytes())
    if found["sink"] != _digest(kind):
        message = "the sink was changed to write elsewhere while it ran; some files may have been published before"
        raise Failed(message, hint=hint)
    return tuple(SpooledFile(**each) for each in found["files"])


def _digest(kind: Exported) -> str:
    """What tells places of sinks apart, without what a connection may keep secret."""
    said = repr((kind.connection, kind.target, kind.reached_by))
    return hashlib.sha256(said.encode()).hexdigest()


def file_ending(target: FileTarget) -> str:
    """What the names of a sink's files end in."""
    packed = "" if target.format == "parquet" else _PACKED[target.compression]
    return f"{_ENDINGS[target.format]}{packed}"


def _rows_by_name(target: FileTarget, answer: QueryResult) -> dict[str, PackedRows]:
    """The rows of each file. A template without columns names a file also if there is no row."""
    parts, ending = parse_template(target.template), file_ending(target)
    names = [name for name, _ in answer.columns]
    unknown = next((each for each in columns_of(parts) if each not in names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, names)
        raise InvalidRequest(f"EXPORT_FILE_TEMPLATE names `{unknown}`, which is no column of the sink", hint=hint)
    used = [(names.index(each), each, json_converter(dict(answer.columns)[each])) for each in columns_of(parts)]
    found: dict[str, PackedRows] = {}
    for position, row in enumerate(answer.rows):
        values = {name: convert(row[at]) if row[at] is not None else None for at, name, convert in used}
        try:
            name = file_name(parts, values, position)
        except InvalidTemplate as error:
            raise InvalidRequest(str(error)) from None
        found.setdefault(name if name.endswith(ending) else name + ending, PackedRows()).append(row)
        if position % ROWS_BETWEEN_PACKING == 0:
            for rows in found.values():
                rows.pack()
        if len(found) > MOST_FILES:
            raise InvalidRequest(
                f"EXPORT_FILE_TEMPLATE makes more than {MOST_FILES:,} files of these rows",
                hint="give a time a format such as {day, '%Y-%m-%d'}",
            )
    if not found and not used:
        name = file_name(parts, {}, 0)
        found[name if name.endswith(ending) else name + ending] = PackedRows()
    return found


def _pieces(target: FileTarget, part: _Part) -> Iterator[bytes]:
    if target.format == "parquet":
        return write_parquet(part.columns, part.rows, target.compression)
    return answer_format(_FORMATS[target.format]).write(part)


def _packed(target: FileTarget, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if target.format == "parquet" or target.compression in ("none", "snappy"):
        yield from pieces
        return
    packer = zlib.compressobj(wbits=GZIP) if target.compression == "gzip" else zstandard.ZstdCompressor().compressobj()
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()  # also where there is no piece: a file of no bytes is none of these formats


def remove_folder(folder: Path) -> None:
    """Remove the folder of a run."""
    if folder.is_dir():
        with os.scandir(folder) as entries:
            for entry in entries:
                os.unlink(entry.path)
        folder.rmdir()
