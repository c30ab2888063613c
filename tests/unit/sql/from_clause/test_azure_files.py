"""`azureBlobStorage(…)`: arguments as ClickHouse takes them; keys and connection strings are secrets."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidQuery, Problem
from penstock.model.external_tables import BlobContainer, ExternalColumns, ExternalTable, RemoteFiles, show_place
from penstock.model.types import Int, Nullable, String
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.pipe_check import check_pipe
from penstock.sql.compile import compile_copy
from penstock.sql.compiler.caller import Caller
from penstock.template.render_frame import RenderInput

STRUCTURE = "'id Int64, code String'"
KEY = "Z2VoZWltMQ=="
CONNECTION = f"DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={KEY};EndpointSuffix=core.windows.net"
AT = "'https://shop.blob.core.windows.net', 'data'"
LOGIN = "'shop', {{ tb_secret('key') }}"
BY_TEXT = "{{ tb_secret('text') }}, 'data'"


def project(call: str, ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> LoadedProject:
    pipe = f"NODE n\nSQL >\n    %\n    SELECT id FROM {call}\n{ending}\n"
    loaded = load_files({"t.datasource": "SCHEMA >\n    `id` Int64,\n    `code` String\n", "c.pipe": pipe})
    assert not loaded.problems
    return loaded


def check(call: str, ending: str = "TYPE copy\nTARGET_DATASOURCE t") -> tuple[Problem, ...]:
    loaded = project(call, ending)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    try:
        return check_pipe(loaded.project, pipe).problems
    except InvalidQuery as error:
        return error.problems


def files_of(call: str, text: str = CONNECTION) -> RemoteFiles:
    def tell(table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        return ExternalColumns({"id": Nullable(Int(64)), "code": String()})

    loaded = project(call)
    pipe = loaded.project.pipe("c")
    assert pipe is not None
    assert pipe.copied is not None
    given = RenderInput("call", {}, {"key": KEY, "text": text})
    made = compile_copy(loaded.project, pipe, pipe.copied, given, Caller(external=tell))
    assert KEY not in repr(made) + made.query.sql
    (read,) = made.externals
    assert isinstance(read.table, RemoteFiles)
    return read.table


@pytest.mark.parametrize(
    ("arguments", "file_format", "packing", "named"),
    [
        (f"{BY_TEXT}, 'x.parquet'", "Parquet", "auto", False),
        (f"{BY_TEXT}, 'x.parquet.gz', 'auto', 'none'", "Parquet", "none", False),
        (f"{BY_TEXT}, '*.csv', {STRUCTURE}", "CSV", "auto", True),
        (f"{BY_TEXT}, 'x', CSV, gzip, {STRUCTURE}", "CSV", "gzip", True),
        (f"{AT}, 'x.parquet'", "Parquet", "auto", False),
        (f"{AT}, 'x.parquet', {LOGIN}", "Parquet", "auto", False),
        (f"{AT}, 'x', {LOGIN}, 'Parquet'", "Parquet", "auto", False),
        (f"{AT}, 'x.jsonl', {LOGIN}, {STRUCTURE}", "JSONEachRow", "auto", True),
        (f"{AT}, 'x', {LOGIN}, CSVWithNames, auto, {STRUCTURE}", "CSVWithNames", "auto", True),
    ],
)
def test_arguments_are_taken_by_their_number(arguments: str, file_format: str, packing: str, named: bool) -> None:
    """As ClickHouse does, which was asked with the same arguments."""
    call = f"azureBlobStorage({arguments})"
    files = files_of(call)
    assert (files.format, files.packing, bool(files.columns)) == (file_format, packing, named)
    assert check(call) == ()
    assert isinstance(files.bucket, BlobContainer)
    signed = LOGIN in arguments or BY_TEXT in arguments
    account, key = ("shop", KEY) if signed else ("", "")
    assert files.bucket == BlobContainer("https://shop.blob.core.windows.net", "data", account, key)
    assert KEY not in repr(files) + show_place(files, files.place)


@pytest.mark.parametrize(
    ("text", "container"),
    [
        (
            f"AccountName=shop;AccountKey={KEY};BlobEndpoint=http://127.0.0.1:10000/shop/;QueueEndpoint=http://h/q;",
            BlobContainer("http://127.0.0.1:10000/shop", "data", "shop", KEY),
        ),
        (
            "BlobEndpoint=https://shop.blob.core.windows.net/;SharedAccessSignature=?sv=2022-11-02&sig=a%2Fb%3D",
            BlobContainer("https://shop.blob.core.windows.net", "data", signature="sv=2022-11-02&sig=a%2Fb%3D"),
        ),
        (
            "accountname=shop;sharedaccesssignature=sig=x;EndpointSuffix=core.chinacloudapi.cn",
            BlobContainer("https://shop.blob.core.chinacloudapi.cn", "data", "shop", signature="sig=x"),
        ),
    ],
)
def test_a_connection_string_says_where_and_who(text: str, container: BlobContainer) -> None:
    assert files_of(f"azureBlobStorage({BY_TEXT}, 'x.parquet')", text).bucket == container


@pytest.mark.parametrize(
    "text",
    [
        "geheim",
        "UseDevelopmentStorage=true;geheim=1",
        f"AccountKey={KEY}",
        "AccountName=shop;AccountKey=geheim!",
        f"AccountName=shop;AccountKey={KEY};SharedAccessSignature=sig=geheim",
        "AccountName=shop;AccountName=geheim",
        "AccountName=geheim/../x",
        "BlobEndpoint=file:///geheim",
        "BlobEndpoint=https://ann:geheim@h",
        "BlobEndpoint=https://h/?geheim",
        "BlobEndpoint=https://h;SharedAccessSignature=geheim#x",
        "EndpointSuffix=core.windows.net;SharedAccessSignature=geheim",
    ],
)
def test_a_wrong_connection_string_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        files_of(f"azureBlobStorage({BY_TEXT}, 'x.parquet')", text)
    (found,) = refused.value.problems
    assert found.message.startswith("the connection string of `azureBlobStorage` ")
    assert "geheim" not in str(refused.value.as_json())
    assert KEY not in str(refused.value.as_json())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (AT, "needs an account, a container and a path"),
        (f"'{CONNECTION}', 'data', 'x.parquet'", "the connection string of `azureBlobStorage` must come from a secret"),
        (f"{AT}, 'x.parquet', 'shop', '{KEY}'", "the account key of `azureBlobStorage` must come from a secret"),
        ("'https://h', 'Data', 'x.parquet'", "no name of a container"),
        ("'https://ann:b@h', 'data', 'x.parquet'", "no address of an account"),
        (f"{AT}, 'x', {LOGIN}, CSV, auto, {STRUCTURE}, 1", "too many arguments"),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(arguments: str, told: str) -> None:
    (found,) = check(f"azureBlobStorage({arguments})")
    assert found.level == "error"
    assert told in found.message
    assert found.location is not None
    assert (found.location.file, found.location.line) == ("c.pipe", 4)
    assert KEY not in str(found)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (f"{AT}, 'x.csv'", "the columns of a file of the format CSV must be written"),
        (f"{AT}, 'x'", "the format cannot be told"),
        (f"{AT}, 'x', ORC", "files of the format ORC are not read here"),
        ("'https://h?sig=geheim', 'data', 'x.parquet'", "has a signature in it"),
        ("my_collection, 'data', 'x.parquet'", "named collections"),
    ],
)
def test_what_only_clickhouse_reads_keeps_nothing_from_deploying(arguments: str, told: str) -> None:
    (found,) = check(f"azureBlobStorage({arguments})")
    assert (found.level, found.code) == ("warning", "unsupported-source")
    assert told in found.message
    assert "geheim" not in str(found)


def test_only_copies_read_blobs() -> None:
    (found,) = check(f"azureBlobStorage({AT}, 'x.parquet')", "TYPE endpoint")
    assert "`azureBlobStorage(…)` is read by copies only" in found.message
