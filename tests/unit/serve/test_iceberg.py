"""The Iceberg REST protocol with real readers, PyIceberg and DuckDB, over tables of PyIceberg's own.

The tables are as Penstock makes them: a column that was added later, files from before, between and after. Spark
reads in `tests/deploy/test_open_tables.py`.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import orjson
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, NoSuchTableError, UnauthorizedError
from pyiceberg.expressions import EqualTo, IsNull
from starlette.testclient import TestClient

from duckdb_reader import duckdb_connection
from penstock.lake.open_tables.file_columns import FileColumnsReader
from penstock.lake.open_tables.shown_columns import Constant, ShownColumn, open_columns
from penstock.lake.open_tables.version_metadata import OpenTable, VersionMetadata, physical_fields, version_metadata
from penstock.model.manifest import Before, Binding, BoundColumn
from penstock.model.types import String
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline
from unit.serve.web_server import web_server

MOMENT = datetime(2020, 1, 2, 3, 4, 5, 6, timezone.utc)
DEFAULTS: dict[str, tuple[pa.DataType, object, object]] = {
    "flag": (pa.bool_(), True, True),
    "small": (pa.int32(), -7, -7),
    "big": (pa.int64(), 2**40, 2**40),
    "ratio": (pa.float64(), 0.25, 0.25),
    "part": (pa.float32(), 0.5, 0.5),
    "price": (pa.decimal128(10, 2), Decimal("12.50"), "12.50"),
    "day": (pa.date32(), date(1999, 12, 31), "1999-12-31"),
    "seen": (
        pa.timestamp("us", "UTC"),
        datetime(2020, 1, 2, 3, 4, 5, 6, timezone.utc),
        "2020-01-02T03:04:05.000006+00:00",
    ),
    "country": (pa.string(), "none", "none"),
    "code": (pa.binary(), b"\x00\xff", "00ff"),
}
"""By name, the type of a column that is added later, its default, and that as Iceberg's metadata has it."""
OLD, NEW = 3, 4
CUT = 99


def stored_tables(folder: Path) -> SqlCatalog:
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=f"file://{folder / 'w'}")
    catalog.create_namespace("penstock")
    first = pa.schema([("path__1", pa.string()), ("_seq", pa.int64()), ("_rejects", pa.string())])
    table = catalog.create_table("penstock.hits__d1", first)
    old = [{"path__1": f"/{n}", "_seq": n, "_rejects": None} for n in range(OLD)]
    table.append(pa.Table.from_pylist(old, first))
    with table.update_schema() as update:
        update.union_by_name(pa.schema([(name, of) for name, (of, _, _) in DEFAULTS.items()]))
    grown = pa.schema([*first, *((name, of) for name, (of, _, _) in DEFAULTS.items())])
    new = [
        {"path__1": f"/{n}", "_seq": CUT + 1 + n, "_rejects": None} | {name: each[1] for name, each in DEFAULTS.items()}
        for n in range(NEW)
    ]
    new[0] |= dict.fromkeys(DEFAULTS)
    table.append(pa.Table.from_pylist(new, grown))
    return catalog


BINDING = Binding(
    "hits",
    "hits__d1",
    (
        BoundColumn("url", String(), "path__1"),
        *(BoundColumn(name, String(), name, Before("1", CUT)) for name in DEFAULTS),
    ),
)
CONSTANTS = {name: Constant(each[2]) for name, each in DEFAULTS.items()}  # type: ignore[arg-type]
MISREAD = ("day", "seen")


def expected(*columns: str) -> list[tuple[object, ...]]:
    """What SQL would answer: the defaults in rows of the file without them, and what a newer file holds."""
    values = {name: each[1] for name, each in DEFAULTS.items()}
    rows: list[dict[str, object]] = [{"url": f"/{n}", **values} for n in (*range(OLD), *range(1, NEW))]
    rows.append({"url": "/0", **dict.fromkeys(DEFAULTS)})
    return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


def load(catalog: Catalog, misread: Collection[str]) -> VersionMetadata:
    table = catalog.load_table("penstock.hits__d1")
    document = orjson.loads(table.metadata.model_dump_json())
    fields = physical_fields(document)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    files = FileColumnsReader().read(table, snapshot, frozenset(fields[name] for name in DEFAULTS))
    omitted = {name: Constant(None, "opaque") for name in DEFAULTS if str(table.schema().find_type(name)) in misread}
    found = open_columns(BINDING, fields, files, CONSTANTS | omitted)
    columns = tuple(each for each in found if isinstance(each, ShownColumn))
    assert len(columns) == 1 + len(DEFAULTS) - len(omitted)
    return version_metadata(
        document, table.metadata_location, OpenTable("7ce7b5b0-0000-5000-8000-000000000002", columns, {"a": "b"})
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ApiTokens, TestClient]]:
    folder = tmp_path_factory.mktemp("tables")
    catalog = stored_tables(folder)
    database = open_database(f"sqlite:///{folder / 'state.db'}")
    tokens = ApiTokens(database)
    pipeline, host = MemoryPipeline(tokens), PipelineHost()
    pipeline.open_tables.load = lambda namespace, name, misread: (
        pipeline.open_tables.namespaces.table(namespace, name) and load(catalog, misread)
    )
    host.opened(pipeline)  # type: ignore[arg-type]
    client = TestClient(create_app(host), headers={"Authorization": f"Bearer {tokens.create('admin', ('admin',))}"})
    source = "SCHEMA >\n    url String `json:$.u`\n"
    for name in ("first", "second"):
        files = [("files", (f"datasources/{each}.datasource", source.encode())) for each in ("hits", "others")]
        answer = client.post("/v1/deploy", params={"auto_promote": str(name == "first").lower()}, files=files)
        assert answer.is_success, answer.text
    with web_server(host) as (address, port):
        yield f"http://{address}:{port}/iceberg", tokens, client
    database.close()


def rest_catalog(served: tuple[str, ApiTokens, TestClient], *scopes: str) -> Catalog:
    uri, tokens, _ = served
    token = tokens.create(f"{'-'.join(scopes).replace(':', '.')}-{uuid.uuid4()}", scopes)
    return load_catalog("p", type="rest", uri=uri, token=token, warehouse="live")


def test_pyiceberg_reads_defaults(served: tuple[str, ApiTokens, TestClient]) -> None:
    table = rest_catalog(served, "read").load_table("live.hits")
    rows = table.scan().to_arrow().to_pylist()
    shown = [name for name in DEFAULTS if name not in MISREAD]
    assert sorted((tuple(row.values()) for row in rows), key=repr) == expected("url", *shown)


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name not in MISREAD])
def test_pyiceberg_finds_rows_by_a_default(served: tuple[str, ApiTokens, TestClient], name: str) -> None:
    table = rest_catalog(served, "read").load_table("live.hits")
    found = table.scan(EqualTo(name, DEFAULTS[name][1])).to_arrow()
    assert found.num_rows == OLD + NEW - 1
    assert table.scan(IsNull(name)).to_arrow().num_rows == 1


@pytest.mark.parametrize("name", MISREAD)
def test_pyiceberg_still_finds_none_by_a_date(served: tuple[str, ApiTokens, TestClient], name: str) -> None:
    """If this fails, PyIceberg was mended, and need not be spared these defaults (`_misread_defaults`)."""
    uri, tokens, _ = served
    catalog = load_catalog("p", type="rest", uri=uri, token=tokens.create(f"mended-{name}", ("read",)))
    catalog._session.headers["User-Agent"] = "another"  # type: ignore[attr-defined]
    table = catalog.load_table("live.hits")
    assert table.scan(EqualTo(name, DEFAULTS[name][1])).to_arrow().num_rows == NEW - 1


def test_duckdb_reads_them(served: tuple[str, ApiTokens, TestClient]) -> None:
    uri, tokens, _ = served
    with duckdb_connection(uri, tokens.create(f"duckdb-{uuid.uuid4()}", ("read",))) as connection:
        rows = connection.execute("SELECT * FROM p.live.hits").to_arrow_table().to_pylist()
        found = connection.execute(
            "SELECT count(*) FROM p.live.hits WHERE country = 'none' AND seen < '2021-01-01' AND day = '1999-12-31'"
        ).fetchone()
    assert sorted((tuple(row.values()) for row in rows), key=repr) == expected("url", *DEFAULTS)
    assert found == (OLD + NEW - 1,)


def test_names_are_those_that_the_token_may_read(served: tuple[str, ApiTokens, TestClient]) -> None:
    every, one = rest_catalog(served, "read"), rest_catalog(served, "read:hits")
    assert every.list_namespaces() == [("live",), ("staging",), ("1",), ("2",)]
    assert every.list_tables("staging") == [("staging", "hits"), ("staging", "others")]
    assert one.list_tables("staging") == [("staging", "hits")]
    assert one.table_exists("live.hits")
    with pytest.raises(ForbiddenError, match="may not read `others`"):
        one.load_table("live.others")
    with pytest.raises(ForbiddenError):
        rest_catalog(served, "append")
    with pytest.raises(UnauthorizedError):
        load_catalog("p", type="rest", uri=served[0], token="p.wrong")


def test_what_is_not_there(served: tuple[str, ApiTokens, TestClient]) -> None:
    catalog = rest_catalog(served, "read")
    assert not catalog.namespace_exists("previous")
    assert not catalog.table_exists("live.hit")
    assert catalog.list_namespaces("live") == []
    assert catalog.load_namespace_properties("staging")["deployment"] == "2"
    with pytest.raises(NoSuchNamespaceError):
        catalog.list_tables("previous")
    with pytest.raises(NoSuchTableError, match="did you mean `hits`"):
        catalog.load_table("live.hit")
    kinds = {
        "namespaces/previous/tables": "NoSuchNamespaceException",
        "namespaces/previous/tables/hits": "NoSuchTableException",
        "namespaces/live/tables/hit": "NoSuchTableException",
        "nothing": "NoSuchTableException",
    }
    for path, kind in kinds.items():
        answer = served[2].get(f"/iceberg/v1/{path}")
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, kind)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "namespaces"),
        ("DELETE", "namespaces/live"),
        ("POST", "namespaces/live/properties"),
        ("POST", "namespaces/live/tables"),
        ("POST", "namespaces/live/register"),
        ("POST", "namespaces/live/tables/hits"),
        ("DELETE", "namespaces/live/tables/hits"),
        ("POST", "tables/rename"),
        ("POST", "transactions/commit"),
        ("POST", "oauth/tokens"),
        ("POST", "namespaces/live/views"),
        ("POST", "namespaces/live/tables/hits/metrics"),
    ],
)
@pytest.mark.parametrize("base", ["/iceberg/v1", "/iceberg/v1/live"])
def test_every_write_is_refused(served: tuple[str, ApiTokens, TestClient], base: str, method: str, path: str) -> None:
    answer = served[2].request(method, f"{base}/{path}")
    assert answer.status_code == 406
    error = answer.json()["error"]
    assert (error["code"], error["type"]) == (406, "UnsupportedOperationException")
    assert "read only" in error["message"]


def test_addresses_without_a_prefix_are_the_same(served: tuple[str, ApiTokens, TestClient]) -> None:
    client = served[2]
    config = client.get("/iceberg/v1/config?warehouse=staging").json()
    assert config["overrides"]["prefix"] == "staging"
    for path in ("namespaces", "namespaces/live", "namespaces/live/tables", "namespaces/live/tables/hits"):
        plain, prefixed = (client.get(f"/iceberg/v1/{base}{path}") for base in ("", "staging/"))
        assert plain.is_success
        assert plain.json() == prefixed.json()
    assert client.get("/iceberg/v1/config?warehouse=nothing").status_code == 404


def test_a_namespace_has_none_below_it(served: tuple[str, ApiTokens, TestClient]) -> None:
    """Spark asks for `live.hits.files` first, and looks for the files of a table only if there is no such table."""
    catalog = rest_catalog(served, "read")
    assert not catalog.namespace_exists(("live", "hits"))
    assert not catalog.table_exists(("live", "hits", "files"))
    with pytest.raises(NoSuchNamespaceError, match=r"no namespace `live\.hits`"):
        catalog.list_tables(("live", "hits"))
    answer = served[2].get("/iceberg/v1/live/namespaces/live%1Fhits/tables/files")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NoSuchTableException")


def test_changes_are_refused(served: tuple[str, ApiTokens, TestClient]) -> None:
    """Spark would show those of the only snapshot that it was given, as if they were all."""
    answer = served[2].get("/iceberg/v1/live/namespaces/live%1Fhits/tables/changes")
    assert (answer.status_code, answer.json()["error"]["type"]) == (406, "UnsupportedOperationException")
    assert "none of its history" in answer.json()["error"]["message"]


def test_everything_is_one_page(served: tuple[str, ApiTokens, TestClient]) -> None:
    for path in ("namespaces", "namespaces/live/tables"):
        plain, paged = (served[2].get(f"/iceberg/v1/{path}{asked}") for asked in ("", "?pageToken=&pageSize=1"))
        assert paged.json() == plain.json()
        assert "next-page-token" not in paged.json()


@pytest.mark.parametrize("name", ["a.b", "LIVE", "%20live", "%D9%A1", "1_0", "01", "%00", "%FF", "%2e%2e", "a%2Fb"])
def test_odd_names_are_not_there(served: tuple[str, ApiTokens, TestClient], name: str) -> None:
    for path in (f"namespaces/{name}", f"namespaces/{name}/tables/hits", f"namespaces/live/tables/{name}", ""):
        for method in ("GET", "HEAD"):
            answer = served[2].request(method, f"/iceberg/v1/{path}")
            assert answer.status_code == 404, path
            assert method == "HEAD" or answer.json()["error"]["code"] == 404


def test_the_address_alone_has_the_protocols_errors(served: tuple[str, ApiTokens, TestClient]) -> None:
    assert "did you mean" in served[2].get("/iceberg").json()["error"]["message"]
