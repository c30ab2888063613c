"""`url(…)`, `s3(…)` and `gcs(…)`: the files that calls mean.

In: the arguments of a call, in the orders in which ClickHouse takes them. Out: `RemoteFiles`. Invariants: what could
only be found out by guessing as ClickHouse guesses (the columns of a text file, a format without a name) must be
written; keys and headers that log in come from secrets of the server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from sqlglot import exp

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Text
from penstock.model.external_tables import Bucket, BucketLogin, FileFormat, Packing, RemoteFiles
from penstock.model.types import AggregateFunction, Type
from penstock.parse.schema import parse_schema
from penstock.sql.compiler.environment import Environment
from penstock.sql.from_clause.bucket_addresses import InvalidAddress, read_bucket_address
from penstock.sql.from_clause.call_arguments import CallArguments
from penstock.sql.syntax.tree import call_name, call_parts

_OPTIONS = "[, 'format'][, 'structure'][, 'compression']"
_KEYS = "[, NOSIGN | {{ tb_secret('key') }}, {{ tb_secret('secret') }}]"
_FORMS = {
    "url": f"url('https://…'{_OPTIONS}[, headers('name'='value')])",
    "s3": f"s3('https://BUCKET.s3.REGION.amazonaws.com/KEY'{_KEYS}{_OPTIONS})",
    "gcs": f"gcs('https://storage.googleapis.com/BUCKET/KEY'{_KEYS}{_OPTIONS})",
}
FILE_FUNCTIONS = tuple(_FORMS)
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
_SECRET_HEADER = re.compile(r"auth|cookie|token|secret|key|passw", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_OWN_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "range", "upgrade")


def remote_files(environment: Environment, call: exp.Expr, function: str) -> RemoteFiles:
    """The files that a call means. Raises Refused."""
    read, (_, arguments) = CallArguments(environment, call, function, _FORMS[function]), call_parts(call)
    if not arguments:
        raise read.refuse(call, f"`{function}` needs an address")
    named = next((each for each in arguments if isinstance(each, exp.EQ)), None)
    if named is not None:
        raise read.unsupported(named, f"arguments of `{function}` are taken by their position, not by a name")
    if isinstance(arguments[0], exp.Column):
        raise read.unsupported(arguments[0], "named collections are not in this version")
    if function == "url":
        return _address_files(read, arguments)
    return _bucket_files(read, arguments)


def _address_files(read: CallArguments, arguments: Sequence[exp.Expr]) -> RemoteFiles:
    headers = [each for each in arguments[1:] if call_name(each) == "headers"]
    others = [each for each in arguments[1:] if call_name(each) != "headers"]
    address = read.text(arguments[0], "address")
    if not read.is_unknown(address):
        _check_address(read, arguments[0], address)
    found = _with_options(
        read, RemoteFiles("url", address, "Parquet", is_secret=read.is_value(arguments[0])), arguments[0], others
    )
    return replace(found, headers=tuple(pair for each in headers for pair in _read_headers(read, each)))


def _check_address(read: CallArguments, node: exp.Expr, address: str) -> None:
    """Raises Refused for what is no address of the web, or has a login in it."""
    try:
        parts = urlsplit(address)
        well_formed = (
            parts.hostname and (parts.port is None or parts.port > 0) and not re.search(r"[\s\x00-\x1f]", address)
        )
    except ValueError:
        well_formed = ""
    if not well_formed or parts.scheme.lower() not in ("http", "https"):
        message = "the address of `url` must begin with https:// or http:// and name a host"
        raise read.refuse(node, message, "files of this machine are loaded with `penstock datasource append`")
    if "@" in parts.netloc:
        hint = "write headers('Authorization'={{ tb_secret('NAME') }}); the secret is `Basic …` or `Bearer …`"
        raise read.refuse(node, "the address of `url` has a login in it", hint)
    if "|" in address:
        raise read.unsupported(
            node, "`|` between addresses is not supported", "write one address, or {a,b} to read both"
        )


def _read_headers(read: CallArguments, call: exp.Expr) -> list[tuple[str, str]]:
    """The headers of `headers('name'='value', …)`. Raises Refused."""
    found: list[tuple[str, str]] = []
    for each in call.expressions:
        if not isinstance(each, exp.EQ):
            raise read.refuse(each, "headers are written as headers('name'='value')")
        name, value = read.text(each.this, "name of a header"), read.text(each.expression, "header")
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS or not _HEADER_VALUE.fullmatch(value):
            message = "this header cannot be set, or its value has characters that none has"
            raise read.refuse(each, message)
        if _SECRET_HEADER.search(name):
            read.check_secret(each.expression, "header")
        found.append((name, value))
    return found


def _bucket_files(read: CallArguments, arguments: Sequence[exp.Expr]) -> RemoteFiles:
    address, others = read.text(arguments[0], "address"), list(arguments[1:])
    login, others = _read_login(read, others)
    if read.is_unknown(address):
        bucket, key = Bucket("https://unknown.invalid", "unknown", "", in_host=False), address
    else:
        try:
            bucket, key = read_bucket_address(address)
        except InvalidAddress as error:
            message = f"the address of `{read.function}` is none of an object in a bucket"
            raise read.refuse(arguments[0], message, str(error)) from error
    found = RemoteFiles(read.function, key, "Parquet", bucket=replace(bucket, login=login))
    return _with_options(read, found, arguments[0], others)


def _read_login(read: CallArguments, others: list[exp.Expr]) -> tuple[BucketLogin | None, list[exp.Expr]]:
    """The keys, if there are any, and the arguments after them."""
    if not others or _is_format(others[0]):
        return None, others
    if isinstance(others[0], exp.Column) and others[0].name.upper() == "NOSIGN":
        return None, others[1:]
    if len(others) < 2:
        raise read.unsupported(
            others[0], f"this is neither a format that `{read.function}` reads, nor NOSIGN, nor two keys"
        )
    signed = 3 if len(others) > 2 and not _is_format(others[2]) else 2
    parts = ("key", "secret", "session token")[:signed]
    for node, part in zip(others, parts, strict=False):
        read.text(node, part)
        read.check_secret(node, part)
    return BucketLogin(*(read.text(node, part) for node, part in zip(others, parts, strict=False))), others[signed:]


def _is_format(node: exp.Expr) -> bool:
    """Whether an argument names a format of ClickHouse."""
    name = node.name.lower() if isinstance(node, (exp.Column, exp.Literal)) else ""
    return name == "auto" or name in _FORMATS or name in _OTHER_FORMATS


def _with_options(read: CallArguments, files: RemoteFiles, at: exp.Expr, options: Sequence[exp.Expr]) -> RemoteFiles:
    """The files with what format, structure and compression say. Raises Refused."""
    if len(options) > 3:
        raise read.refuse(options[3], f"`{read.function}` has too many arguments")
    file_format = _read_format(read, files, at, options[0] if options else None)
    columns = _read_structure(read, options[1]) if len(options) > 1 else ()
    packing = _read_packing(read, options[2]) if len(options) > 2 else "auto"
    if not columns and file_format != "Parquet":
        message = f"the columns of a file of the format {file_format} must be written: they are not guessed"
        hint = f"write them behind the format: {read.function}(…, '{file_format}', 'id Int64, name String')"
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
