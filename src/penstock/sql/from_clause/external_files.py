"""`url(…)`, `s3(…)`, `gcs(…)` and `azureBlobStorage(…)`: the files that calls mean.

In: the arguments of a call, in the orders in which ClickHouse takes them. Out: `RemoteFiles`. Invariant: keys and
headers that log in come from secrets of the server.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from sqlglot import exp

from penstock.model.external_tables import Bucket, BucketLogin, RemoteFiles
from penstock.sql.compiler.environment import Environment
from penstock.sql.from_clause.azure_files import AZURE_FORM, azure_files
from penstock.sql.from_clause.bucket_addresses import InvalidAddress, read_bucket_address
from penstock.sql.from_clause.call_arguments import CallArguments
from penstock.sql.from_clause.file_options import FileOptions, is_format, with_options
from penstock.sql.syntax.tree import call_name, call_parts

_OPTIONS = "[, 'format'][, 'structure'][, 'compression']"
KEYS_FORM = "[, NOSIGN | {{ tb_secret('key') }}, {{ tb_secret('secret') }}]"
_FORMS = {
    "url": f"url('https://…'{_OPTIONS}[, headers('name'='value')])",
    "s3": f"s3('https://BUCKET.s3.REGION.amazonaws.com/KEY'{KEYS_FORM}{_OPTIONS})",
    "gcs": f"gcs('https://storage.googleapis.com/BUCKET/KEY'{KEYS_FORM}{_OPTIONS})",
    "azureBlobStorage": AZURE_FORM,
}
FILE_FUNCTIONS = tuple(_FORMS)
_SECRET_HEADER = re.compile(r"auth|cookie|token|secret|key|passw", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_OWN_HEADERS = ("host", "content-length", "transfer-encoding", "connection", "accept-encoding", "range", "upgrade")


def remote_files(environment: Environment, call: exp.Expr, function: str) -> RemoteFiles:
    """The files that a call means. Raises Refused."""
    read, (_, arguments) = CallArguments(environment, call, function, _FORMS[function]), call_parts(call)
    check_positions(read, arguments)
    if function == "url":
        return _address_files(read, arguments)
    if function == "azureBlobStorage":
        return azure_files(read, arguments)
    return _bucket_files(read, arguments)


def check_positions(read: CallArguments, arguments: Sequence[exp.Expr]) -> None:
    """Raises Refused for arguments that are not told by their positions."""
    if not arguments:
        raise read.refuse(read.call, f"`{read.function}` needs an address")
    named = next((each for each in arguments if isinstance(each, exp.EQ)), None)
    if named is not None:
        raise read.unsupported(named, f"arguments of `{read.function}` are taken by their position, not by a name")
    if isinstance(arguments[0], exp.Column):
        raise read.unsupported(arguments[0], "named collections are not in this version")


def _address_files(read: CallArguments, arguments: Sequence[exp.Expr]) -> RemoteFiles:
    headers = [each for each in arguments[1:] if call_name(each) == "headers"]
    others = [each for each in arguments[1:] if call_name(each) != "headers"]
    address = read.text(arguments[0], "address")
    if not read.is_unknown(address):
        _check_address(read, arguments[0], address)
    files = RemoteFiles("url", address, "Parquet", is_secret=read.is_value(arguments[0]))
    found = with_options(read, files, arguments[0], _options(read, others))
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
    bucket, key, others = read_bucket(read, arguments)
    files = RemoteFiles(read.function, key, "Parquet", bucket=bucket)
    return with_options(read, files, arguments[0], _options(read, others))


def read_bucket(read: CallArguments, arguments: Sequence[exp.Expr]) -> tuple[Bucket, str, list[exp.Expr]]:
    """The bucket with its login, the key, and the arguments after them. Raises Refused."""
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
    return replace(bucket, login=login), key, others


def _options(read: CallArguments, options: Sequence[exp.Expr]) -> FileOptions:
    """Format, structure and compression, in this order. Raises Refused."""
    if len(options) > 3:
        raise read.refuse(options[3], f"`{read.function}` has too many arguments")
    return FileOptions(*options)


def _read_login(read: CallArguments, others: list[exp.Expr]) -> tuple[BucketLogin | None, list[exp.Expr]]:
    """The keys, if there are any, and the arguments after them."""
    if not others or is_format(others[0]):
        return None, others
    if isinstance(others[0], exp.Column) and others[0].name.upper() == "NOSIGN":
        return None, others[1:]
    if len(others) < 2:
        raise read.unsupported(
            others[0], f"this is neither a format that `{read.function}` reads, nor NOSIGN, nor two keys"
        )
    signed = 3 if len(others) > 2 and not is_format(others[2]) else 2
    parts = ("key", "secret", "session token")[:signed]
    for node, part in zip(others, parts, strict=False):
        read.text(node, part)
        read.check_secret(node, part)
    return BucketLogin(*(read.text(node, part) for node, part in zip(others, parts, strict=False))), others[signed:]
