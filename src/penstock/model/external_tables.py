"""Tables outside of this server that a copy reads: where one is, and what columns it has; and connections by name.

In: the arguments of a table function, and what the database or the file says. Out: `ExternalTable`, `ExternalColumns`.
Invariant: neither `repr` nor what is shown has a login in it, nor the part of an address that may hold one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal, TypeAlias, Union
from urllib.parse import urlsplit

from penstock.errors import Location
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type

DatabaseSystem: TypeAlias = Literal["postgresql", "mysql"]


@dataclass(frozen=True, slots=True)
class DatabaseTable:
    """A table of a database."""

    system: DatabaseSystem
    host: str
    port: int
    database: str
    schema: str
    """Empty: the first schema of the login's search path that has the table; MySQL has none."""
    name: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The table as messages name it."""
        table = f"{self.schema}.{self.name}" if self.schema else self.name
        return f"`{table}` of the database `{self.database}` at {self.host}:{self.port}"


FileFormat: TypeAlias = Literal[
    "CSV", "CSVWithNames", "TabSeparated", "TabSeparatedWithNames", "JSONEachRow", "Parquet"
]
Packing: TypeAlias = Literal["auto", "none", "gzip", "zstd", "xz", "bz2", "lz4"]
"""How a file is compressed; `auto`: as the end of its name says."""


@dataclass(frozen=True, slots=True)
class BucketLogin:
    """The keys with which requests to a bucket are signed."""

    key: str = field(repr=False)
    secret: str = field(repr=False)
    token: str = field(repr=False, default="")


@dataclass(frozen=True, slots=True)
class Bucket:
    """Where the objects of a bucket are, as S3's protocol addresses them."""

    endpoint: str
    """The scheme, the host and, if there is one, the port; without the bucket."""
    name: str
    region: str
    in_host: bool
    """Whether the bucket is a part of the host of its addresses, else it is the beginning of their paths."""
    login: BucketLogin | None = None
    """None: requests are not signed."""


@dataclass(frozen=True, slots=True)
class BlobContainer:
    """Where the blobs of a container of Azure are. Without a key or a signature requests do not log in."""

    endpoint: str
    """The address of the account: the scheme, the host and, if there are any, the port and the path."""
    name: str
    account: str = ""
    key: str = field(repr=False, default="")
    """Signs requests; in base64."""
    signature: str = field(repr=False, default="")
    """A shared access signature: what is added to the query of an address."""


ObjectStore: TypeAlias = Union[Bucket, BlobContainer]


@dataclass(frozen=True, slots=True)
class RemoteFiles:
    """Files at addresses of the web, in a bucket, or in a container."""

    function: str
    """The table function, which messages name."""
    place: str = field(repr=False)
    """An address, which may hold secrets, or the key of an object; both may stand for several by a pattern."""
    format: FileFormat
    columns: tuple[tuple[str, Type], ...] = ()
    """Those that the call names; none: a file says itself which it has."""
    packing: Packing = "auto"
    bucket: ObjectStore | None = None
    headers: tuple[tuple[str, str], ...] = field(repr=False, default=())
    is_secret: bool = False
    """Whether the place is a value of the template, such as a secret: then only its host is shown."""

    @property
    def name(self) -> str:
        return self.function


def show_place(files: RemoteFiles, place: str) -> str:
    """A file as messages name it: without what may be a secret in its address."""
    if files.bucket is not None:
        return f"{files.bucket.name}/{place} at {files.bucket.endpoint}"
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{'/…' if files.is_secret else parts.path}"


@dataclass(frozen=True, slots=True)
class IcebergTable:
    """An Iceberg table in a bucket, without a catalog."""

    function: str
    """The table function, which messages name."""
    place: str
    """The beginning of the keys of its files, without a slash at the end."""
    bucket: Bucket

    @property
    def name(self) -> str:
        return self.function


ExternalTable: TypeAlias = Union[DatabaseTable, RemoteFiles, IcebergTable]


@dataclass(frozen=True, slots=True)
class ExternalColumns:
    """The columns of a table, in its order."""

    types: Mapping[str, Type]
    """Those that can be read."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why the others cannot."""


class UnreadableTable(Exception):
    """The columns of a table cannot be told; what reads them says why, and the compiler where."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


ReadColumns: TypeAlias = Callable[[ExternalTable, frozenset[str]], ExternalColumns]
"""The columns of a table, of which a SELECT uses these names. Raises UnreadableTable."""


@dataclass(frozen=True, slots=True)
class NamedConnection:
    """One .connection file."""

    name: str
    kind: str
    """Its TYPE in lower case: `kafka`, `s3` …"""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Its other directives, by keyword in upper case."""
    location: Location = field(default=Location(""), compare=False)

    def option(self, keyword: str, default: str = "") -> str:
        return dict(self.options).get(keyword, default)
