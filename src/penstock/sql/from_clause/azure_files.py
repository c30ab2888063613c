"""`azureBlobStorage(…)`: the blobs that a call means.

In: the arguments of a call, in the orders in which ClickHouse takes them. Out: `RemoteFiles`. Invariants: a key, and a
connection string, come from secrets of the server; no message has a part of one. Sources: ClickHouse's documentation of
the table function; https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from sqlglot import exp

from penstock.model.external_tables import BlobContainer, RemoteFiles
from penstock.sql.from_clause.call_arguments import CallArguments
from penstock.sql.from_clause.file_options import FileOptions, is_format, with_options

AZURE_FORM = (
    "azureBlobStorage({{ tb_secret('connection_string') }}, 'container', 'path'[, 'format'][, 'compression']"
    "[, 'structure']), or azureBlobStorage('https://ACCOUNT.blob.core.windows.net', 'container', 'path', 'account', "
    "{{ tb_secret('key') }}[, 'format'][, 'compression'][, 'structure'])"
)
_ENDPOINT = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._-]+)*", re.IGNORECASE
)
_ACCOUNT = re.compile(r"[A-Za-z0-9_-]{1,100}")
_SUFFIX = re.compile(r"[A-Za-z0-9.-]{1,200}")
_CONTAINER = re.compile(r"\$?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SIGNATURE = re.compile(r"[A-Za-z0-9%&=._~:/+*,!()@;-]+")
_KNOWN_PARTS = frozenset(
    ("defaultendpointsprotocol", "accountname", "accountkey", "blobendpoint", "endpointsuffix", "sharedaccesssignature")
)
_OTHER_SERVICES = frozenset(
    f"{service}{each}"
    for service in ("queue", "table", "file", "blobsecondary")
    for each in ("endpoint", "secondaryendpoint")
)


class InvalidConnection(ValueError):
    """A connection string that says no account; the message has nothing of it."""


def azure_files(read: CallArguments, arguments: Sequence[exp.Expr]) -> RemoteFiles:
    """The blobs that a call means. Raises Refused."""
    if len(arguments) < 3:
        raise read.refuse(read.call, "`azureBlobStorage` needs an account, a container and a path")
    container, path = read.text(arguments[1], "container"), read.text(arguments[2], "path")
    login, options = _split(read, arguments[3:])
    store = _container(read, arguments[0], login)
    if not read.is_unknown(container) and not _CONTAINER.fullmatch(container):
        raise read.refuse(arguments[1], "this is no name of a container: small letters, digits and dashes")
    store = BlobContainer(store.endpoint, container, store.account, store.key, store.signature)
    return with_options(read, RemoteFiles(read.function, path, "Parquet", bucket=store), arguments[2], options)


def _split(read: CallArguments, others: Sequence[exp.Expr]) -> tuple[Sequence[exp.Expr], FileOptions]:
    """The account and its key, if they are given, and the options. Raises Refused."""
    if len(others) > 5:
        raise read.refuse(others[5], "`azureBlobStorage` has too many arguments")
    signed = len(others) > 1 and not is_format(others[0])
    login, options = (others[:2], others[2:]) if signed else ((), others)
    if len(options) == 1 and not is_format(options[0]):
        return login, FileOptions(structure=options[0])  # told apart from a format as ClickHouse does
    if len(options) > 3:
        raise read.refuse(options[3], "`azureBlobStorage` has too many arguments")
    file_format, compression, structure = (*options, None, None, None)[:3]
    return login, FileOptions(file_format, structure, compression)


def _container(read: CallArguments, node: exp.Expr, login: Sequence[exp.Expr]) -> BlobContainer:
    """The account, as a container without a name. Raises Refused."""
    given = read.text(node, "connection string or address")
    account, key = _read_login(read, login) if login else ("", "")
    if read.is_unknown(given):
        return BlobContainer("https://unknown.invalid", "", account, key)
    if given.lower().startswith(("http://", "https://")):
        endpoint = given.rstrip("/")
        if "?" in endpoint:
            hint = "write a connection string: BlobEndpoint=https://…;SharedAccessSignature=…, as a secret"
            raise read.unsupported(node, "the address of the account has a signature in it", hint)
        if not _ENDPOINT.fullmatch(endpoint):
            raise read.refuse(node, "this is no address of an account of Azure")
        return BlobContainer(endpoint, "", account, key)
    read.check_secret(node, "connection string")
    if login:
        raise read.refuse(login[0], "a connection string has its login in it, and another one is given")
    try:
        return read_connection(given)
    except InvalidConnection as error:
        raise read.refuse(node, f"the connection string of `azureBlobStorage` {error}") from None


def _read_login(read: CallArguments, login: Sequence[exp.Expr]) -> tuple[str, str]:
    account, key = read.text(login[0], "account name"), read.text(login[1], "account key")
    read.check_secret(login[1], "account key")
    if not read.is_unknown(account) and not _ACCOUNT.fullmatch(account):
        raise read.refuse(login[0], "this is no name of an account of Azure")
    if not read.is_unknown(key) and not _is_key(key):
        raise read.refuse(login[1], "the account key of `azureBlobStorage` is no text in base64")
    return account, key


def read_connection(text: str) -> BlobContainer:
    """The account that a connection string says, as a container without a name. Raises InvalidConnection."""
    parts = _read_parts(text)
    account, key = parts.get("accountname", ""), parts.get("accountkey", "")
    signature = parts.get("sharedaccesssignature", "").removeprefix("?")
    if key and signature:
        raise InvalidConnection("has a key and a signature, and only one of them can log in")
    if account and not _ACCOUNT.fullmatch(account):
        raise InvalidConnection("has an AccountName that no account has")
    if key and not (account and _is_key(key)):
        raise InvalidConnection("has an AccountKey without an AccountName, or one that is no text in base64")
    if signature and not _SIGNATURE.fullmatch(signature):
        raise InvalidConnection("has a SharedAccessSignature that is none")
    return BlobContainer(_endpoint(parts, account), "", account, key, signature)


def _read_parts(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(";"))):
        name, equals, value = part.partition("=")
        folded = name.strip().lower()
        if not equals or folded not in _KNOWN_PARTS | _OTHER_SERVICES or folded in found:
            raise InvalidConnection("is none: it is written as Name=value;Name=value, each of Azure's names once")
        found[folded] = value.strip()
    return found


def _endpoint(parts: dict[str, str], account: str) -> str:
    given = parts.get("blobendpoint", "").rstrip("/")
    if given:
        if not _ENDPOINT.fullmatch(given):
            raise InvalidConnection("has a BlobEndpoint that is no address")
        return given
    scheme, suffix = parts.get("defaultendpointsprotocol", "https"), parts.get("endpointsuffix", "core.windows.net")
    if not account or scheme not in ("http", "https") or not _SUFFIX.fullmatch(suffix):
        raise InvalidConnection("says no account: it needs a BlobEndpoint, or an AccountName")
    return f"{scheme}://{account}.blob.{suffix}"


def _is_key(text: str) -> bool:
    try:
        return bool(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return False
