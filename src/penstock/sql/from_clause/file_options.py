"""Format, structure and compression of files that a copy reads, as table functions take them.

In: the arguments that say them. Out: `RemoteFiles` with what they say. Invariant: what could only be found out by
guessing as ClickHouse guesses (the columns of a text file, a format without a name) must be written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from sqlglot import exp

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Text
from penstock.model.external_tables import FileFormat, Packing, RemoteFiles
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import AggregateFunction, Type
from penstock.parse.schema import parse_schema
from penstock.sql.from_clause.call_arguments import CallArguments

VIRTUAL_COLUMNS = ("_path", "_file")
_FORMATS: Mapping[str, FileFormat] = {
    "csv": "CSV",
    "csvwithnames": "CSVWithNames",
    **dict.fromkeys(("tsv", "tabseparated"), "TabSeparated"),
    **dict.fromkeys(("tsvwithnames", "tabseparatedwithnames"), "TabSeparatedWithNames"),
    **dict.fromkeys(("jsoneachrow", "jsonlines", "ndjson"), "JSONEachRow"),
    "parquet": "Parquet",
}
_OTHER_FORMATS = frozenset(
    """
    arrow arrowstream avro bsoneachrow capnproto csvwithnamesandtypes customseparated dwarf form json jsonasobject
    jsonasstring jsoncolumns jsoncompact jsoncompactcolumns jsoncompacteachrow jsoncompacteachrowwithnames
    jsoncompacteachrowwithnamesandtypes jsonobjecteachrow jsonstringseachrow lineasstring markdown msgpack mysqldump
    native npy one orc pretty protobuf protobuflist protobufsingle rawblob regexp rowbinary rowbinarywithnames
    rowbinarywithnamesandtypes template tskv tsvraw tabseparatedraw tsvwithnamesandtypes tabseparatedwithnamesandtypes
    values xml
    """.split()  # noqa: SIM905 - so many in quotes would take a page
)
"""Formats of ClickHouse that are not read here."""
_ENDINGS: Mapping[str, FileFormat] = {
    "csv": "CSV",
    "tsv": "TabSeparated",
    "jsonl": "JSONEachRow",
    "ndjson": "JSONEachRow",
    "parquet": "Parquet",
}
_PACKED_ENDING = re.compile(r"\.(gz|zst|xz|bz2|lz4)$")
_PACKINGS: Mapping[str, Packing] = {
    "auto": "auto",
    "none": "none",
    **dict.fromkeys(("gzip", "gz"), "gzip"),
    **dict.fromkeys(("zstd", "zst"), "zstd"),
    **dict.fromkeys(("xz", "lzma"), "xz"),
    "bz2": "bz2",
    "lz4": "lz4",
}


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The arguments that say how to read files; None: it is told by the end of a name, or by the file."""

    format: exp.Expr | None = None
    structure: exp.Expr | None = None
    compression: exp.Expr | None = None


def is_format(node: exp.Expr) -> bool:
    """Whether an argument names a format of ClickHouse."""
    name = node.name.lower() if isinstance(node, (exp.Column, exp.Literal)) else ""
    return name == "auto" or name in _FORMATS or name in _OTHER_FORMATS


def with_options(read: CallArguments, files: RemoteFiles, at: exp.Expr, options: FileOptions) -> RemoteFiles:
    """The files with what their options say. Raises Refused."""
    file_format = _read_format(read, files, at, options.format)
    columns = _read_structure(read, options.structure) if options.structure is not None else ()
    packing = _read_packing(read, options.compression) if options.compression is not None else "auto"
    if not columns and file_format != "Parquet":
        message = f"the columns of a file of the format {file_format} must be written: they are not guessed"
        hint = f"write them in the structure, such as 'id Int64, name String': {read.form}"
        raise read.unsupported(at, message, hint)
    return replace(files, format=file_format, columns=columns, packing=packing)


def _read_format(read: CallArguments, files: RemoteFiles, at: exp.Expr, node: exp.Expr | None) -> FileFormat:
    given = read.word(node, "format") if node is not None else "auto"
    if given.lower() != "auto":
        found = _FORMATS.get(given.lower())
        if found is not None:
            return found
        hint = did_you_mean(given, sorted(set(_FORMATS.values()))) if given.lower() not in _OTHER_FORMATS else None
        known = f"{', '.join(sorted(set(_FORMATS.values())))} can be read"
        shown = "" if read.is_unknown(given) or read.is_value(node or at) else f" {given}"
        raise read.unsupported(node or at, f"files of the format{shown} are not read here", hint or known)
    path = files.place if files.bucket is not None else urlsplit(files.place).path
    ending = _PACKED_ENDING.sub("", path.lower()).rpartition(".")[2]
    if ending not in _ENDINGS:
        message = "the format cannot be told from the end of the address"
        raise read.unsupported(node or at, message, f"write it: {read.form}")
    return _ENDINGS[ending]


def _read_structure(read: CallArguments, node: exp.Expr) -> tuple[tuple[str, Type], ...]:
    given = read.word(node, "structure")
    if given.lower() == "auto":
        return ()
    problems: list[Problem] = []
    columns = parse_schema(Text(given, Location("structure")), problems)
    if problems:
        raise read.refuse(node, f"the structure is wrong: {problems[0].message}", problems[0].hint)
    for each in columns:
        if each.json_path or each.default or each.codec or isinstance(each.type, AggregateFunction):
            message = f"the structure has more than a name and a type of values for the column `{each.name}`"
            raise read.refuse(node, message, "such as 'id Int64, name String'")
        if each.name in VIRTUAL_COLUMNS:
            raise read.refuse(node, f"`{each.name}` is the place of the file and no column of it")
    return tuple((each.name, each.type) for each in columns)


def _read_packing(read: CallArguments, node: exp.Expr) -> Packing:
    given = read.word(node, "compression")
    found = _PACKINGS.get(given.lower())
    if found is None:
        known = ", ".join(sorted(set(_PACKINGS.values())))
        raise read.unsupported(node, "this compression is not in this version", f"one of {known}")
    return found
