"""Blobs of containers of Azure: what is signed, what lists say, and what a server that checks logins lets be read."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from azurite_server import ACCOUNT, KEY, Azurite, azurite_or_skip
from penstock.deploy.external.buckets.azure_blobs import shared_key
from penstock.deploy.external.remote_files import RemoteFileTables
from penstock.deploy.external.web_client import WebClient
from penstock.errors import Failed
from penstock.model.external_tables import BlobContainer, RemoteFiles
from penstock.model.settings import CopySettings
from penstock.model.types import Int, String, Type
from penstock.sql.query import ExternalRead
from web_server import WebServer

COLUMNS: tuple[tuple[str, Type], ...] = (("id", Int(64)), ("name", String()))
OWN = CopySettings(private_hosts=("127.0.0.1",))
SENT = {"x-ms-version": "2021-12-02", "x-ms-date": "Fri, 26 Jun 2015 23:39:12 GMT"}


def read(
    folder: Path, container: BlobContainer, pattern: str, used: tuple[str, ...] = ("id",), settings: CopySettings = OWN
) -> list[dict[str, object]]:
    """The rows, as a copy reads them. Nothing is left of it."""
    files = RemoteFiles("azureBlobStorage", pattern, "CSVWithNames", COLUMNS, bucket=container)
    client = closing(WebClient(settings, lambda: False))
    with client as web, closing(RemoteFileTables(folder / "7.ndjson", lambda: False, settings, web)) as tables:
        found = tables.read(ExternalRead("x", files, frozenset(used)))
        rows: list[dict[str, object]] = pq.read_table(found.path).to_pylist()
    assert not [*folder.iterdir()], "no file of it is left"
    return rows


def refusal(folder: Path, container: BlobContainer, pattern: str = "a.csv", settings: CopySettings = OWN) -> str:
    with pytest.raises(Failed) as refused:
        read(folder, container, pattern, settings=settings)
    told = str(refused.value)
    for secret in filter(None, (container.key, container.signature)):
        assert secret not in told + repr(container)
    return told


@pytest.mark.parametrize(
    ("account", "url", "headers", "signature"),
    [
        (
            "devstoreaccount1",
            "http://127.0.0.1:10000/devstoreaccount1/data/odd%20name%2B%C3%BC%26%3D%2541.csv",
            {"If-Match": '"0x8D1"'},
            "xafwFcwhTVWaxq63Lq3p9A99n+sdiqNtT2ZbGcV0joE=",
        ),
        (
            "shop",
            "https://shop.blob.core.windows.net/data?restype=container&comp=list&prefix=year%3D2024%2F%C3%BC%2B"
            "&marker=2%2192%21x%3D",
            {},
            "ntxwPYW/2gGGea37fpxZVeDyYOvC7XONKyRkxmDTRMw=",
        ),
        (
            "shop",
            "https://shop.blob.core.windows.net/$web/index.csv",
            {},
            "O8Dq2OpT5Ww/RYWY5Ou5gzytO95uYbgJLfqYy5tQU5o=",
        ),
    ],
)
def test_requests_are_signed_as_azures_own_library_signs_them(
    account: str, url: str, headers: dict[str, str], signature: str
) -> None:
    """The signatures were made by azure-storage-blob 12.31.1."""
    container = BlobContainer("https://any", "any", account, KEY)
    assert shared_key(container, url, {**headers, **SENT}) == signature


def blob(name: str, size: int, etag: str = "0x8D1") -> str:
    properties = f"<Content-Length>{size}</Content-Length><Etag>{etag}</Etag>"
    return f"<Blob>{name}<Properties>{properties}</Properties></Blob>"


def blobs(*entries: str, following: str = "") -> bytes:
    listed = f"<Blobs>{''.join(entries)}</Blobs><NextMarker>{following}</NextMarker>"
    return f'\ufeff<?xml version="1.0" encoding="utf-8"?><EnumerationResults>{listed}</EnumerationResults>'.encode()


def test_lists_go_on_and_blobs_are_read_as_they_were_listed(web: WebServer, tmp_path: Path) -> None:
    asked = "/c?restype=container&comp=list&prefix=d%2F"
    first, empty = blob("<Name>d/a+b.csv</Name>", 9), blob("<Name>d/empty.csv</Name>", 0)
    encoded = blob('<Name Encoded="true">d%2F%EF%BF%BE.csv</Name>', 9, '"0x8D2"')
    web.page(f"{asked}&sig=geheim%3D", blobs(first, empty, following="2!92!x="))
    web.page(f"{asked}&marker=2%2192%21x%3D&sig=geheim%3D", blobs(encoded))
    web.page("/c/d/a%2Bb.csv?sig=geheim%3D", b"id,name\n1,a\n")
    web.page("/c/d/%EF%BF%BE.csv?sig=geheim%3D", b"id,name\n2,b\n")
    container = BlobContainer(web.url(""), "c", signature="sig=geheim%3D")
    assert [row["id"] for row in read(tmp_path, container, "d/*.csv")] == [1, 2]
    assert [headers.get("If-Match") for _, headers in web.seen[-2:]] == ['"0x8D1"', '"0x8D2"']
    web.page(f"{asked}&marker=2%2192%21x%3D&sig=geheim%3D", b"<!DOCTYPE x><x/>")
    assert "the server's list of objects cannot be read" in refusal(tmp_path, container, "d/*.csv")


def test_addresses_of_this_machine_are_refused_unless_allowed(web: WebServer, tmp_path: Path) -> None:
    before = len(web.seen)
    told = refusal(tmp_path, BlobContainer(web.url(""), "c", ACCOUNT, KEY), settings=CopySettings())
    assert f'private_hosts = ["127.0.0.1:{web.port}"]' in told
    assert len(web.seen) == before, "nothing was sent"


@pytest.fixture(scope="module")
def azurite() -> Iterator[Azurite]:
    with azurite_or_skip() as server:
        names = ("d/1.csv", "d/2.csv", "d/x/3.csv", "d/odd name+ü&=%41.csv", "d/5.csv.gz")
        contents = [b"id,name\n%d,a\n" % number for number in range(1, len(names) + 1)]
        contents[-1] = gzip.compress(contents[-1])
        server.create("data", {**dict(zip(names, contents, strict=True)), "d/empty.csv": b""})
        yield server


@pytest.fixture
def container(azurite: Azurite) -> BlobContainer:
    return BlobContainer(azurite.endpoint, "data", ACCOUNT, KEY)


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("d/1.csv", [1]),
        ("d/odd name+ü&=%41.csv", [4]),
        ("d/odd name+ü&=*", [4]),
        ("d/{1..2}.csv", [1, 2]),
        ("d/**.csv", [1, 2, 4, 3]),
        ("d/*.gz", [5]),
    ],
)
def test_blobs_are_read_by_a_key_and_by_a_signature(
    azurite: Azurite, container: BlobContainer, tmp_path: Path, pattern: str, ids: list[int]
) -> None:
    by_signature = BlobContainer(azurite.endpoint, "data", signature=azurite.signature("rl"))
    for each in (container, by_signature):
        assert [row["id"] for row in read(tmp_path, each, pattern)] == ids


def test_where_in_a_container_a_row_is_from(container: BlobContainer, tmp_path: Path) -> None:
    """As ClickHouse says it of the same container."""
    assert read(tmp_path, container, "d/x/*", ("_path", "_file")) == [{"_path": "data/d/x/3.csv", "_file": "3.csv"}]


def test_a_login_that_may_not_read_reads_nothing(azurite: Azurite, container: BlobContainer, tmp_path: Path) -> None:
    wrong = "QUJD" + KEY[4:]
    for each in (
        replace(container, key=wrong),
        replace(container, key="", account=""),
        BlobContainer(azurite.endpoint, "data", signature=azurite.signature("rl", wrong)),
        BlobContainer(azurite.endpoint, "data", signature=azurite.signature("w")),
    ):
        for pattern in ("d/1.csv", "d/*.csv"):
            assert "the server answers 40" in refusal(tmp_path, each, pattern)


def test_what_is_not_there_is_an_error(container: BlobContainer, tmp_path: Path) -> None:
    told = refusal(tmp_path, container, "nope.csv")
    assert f"data/nope.csv at {container.endpoint}: the server answers 404" in told
    assert "BlobNotFound" in told
    assert "ContainerNotFound" in refusal(tmp_path, replace(container, name="other"), "*.csv")
    assert "there is no file that the pattern stands for" in refusal(tmp_path, container, "d/empty.c*")
