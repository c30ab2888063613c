"""Copies of files of a web server, of objects of a bucket and of tables of MariaDB: each type arrives as it is, and a
source that fails in the middle leaves the target as it was."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from collections.abc import Iterator
from decimal import Decimal
from http.server import BaseHTTPRequestHandler

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer

from mariadb_server import MariaDB, mariadb_or_skip
from penstock.state.jobs import Job
from postgres_pipeline.conftest import SECRETS, Server
from waiting import wait_until
from web_server import WebServer

TABLE = pa.table(
    {
        "i8": pa.array([-128], pa.int8()),
        "u64": pa.array([2**64 - 1], pa.uint64()),
        "f": pa.array([0.1], pa.float32()),
        "price": pa.array([Decimal("-1234567890123456.7891")], pa.decimal128(20, 4)),
        "yes": pa.array([True]),
        "t": pa.array(["a 'b' \\ \n é"]),
        "day": pa.array([dt.date(1931, 2, 3)]),
        "us": pa.array([-1], pa.timestamp("us")),
        "ns": pa.array([1700000000123456789], pa.timestamp("ns")),
        "tags": pa.array([["x", None]]),
        "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        "none": pa.array([None], pa.string()),
    }
)
TYPES = {
    "i8": "Int8",
    "u64": "UInt64",
    "f": "Float32",
    "price": "Decimal(20, 4)",
    "yes": "Bool",
    "t": "String",
    "day": "Date32",
    "us": "DateTime64(6, 'UTC')",
    "ns": "DateTime64(9, 'UTC')",
    "tags": "Array(Nullable(String))",
    "m": "Map(String, Nullable(Int64))",
    "none": "Nullable(String)",
}
SHOWN = {
    "i8": -128,
    "toString(u64)": "18446744073709551615",
    "toString(f)": "0.1",
    "toString(price)": "-1234567890123456.7891",
    "yes": True,
    "t": "a 'b' \\ \n é",
    "toString(day)": "1931-02-03",
    "toString(us)": "1969-12-31 23:59:59.999999",
    "toString(ns)": "2023-11-14 22:13:20.123456789",
    "tags": ["x", None],
    "m['k']": 1,
    "none": None,
}
"""What the target shows of the one row."""


def schema(columns: dict[str, str]) -> str:
    return "SCHEMA >\n" + ",\n".join(f"    `{name}` {of}" for name, of in columns.items()) + "\n"


def copy(sql: str, target: str, mode: str = "append") -> str:
    return f"NODE n\nSQL >\n    %\n    {sql}\nTYPE copy\nTARGET_DATASOURCE {target}\nCOPY_MODE {mode}\n"


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    made = WebServer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client("s3", endpoint_url=address, aws_access_key_id="a", aws_secret_access_key="b")
    client.create_bucket(Bucket="data")
    client.put_object(Bucket="data", Key="day=1/a.csv.gz", Body=gzip.compress(b"1,one\n2,two\n"))
    client.put_object(Bucket="data", Key="day=2/a.csv.gz", Body=gzip.compress(b"3,three\n"))
    yield f"{address}/data"
    server.stop()


@pytest.fixture(scope="module")
def shop() -> Iterator[MariaDB]:
    with mariadb_or_skip() as server:
        server.run(
            "USE shop",
            "CREATE TABLE products "
            "(id bigint unsigned NOT NULL, label varchar(20), price decimal(10,2), made datetime(3))",
            "INSERT INTO products VALUES (18446744073709551615, 'é', 1.10, '2024-05-06 07:08:09.123')",
            "INSERT INTO products VALUES (2, NULL, 2, NULL)",
        )
        yield server


@pytest.fixture(scope="module")
def copies(server: Server, web: WebServer, bucket: str, shop: MariaDB) -> Server:
    """The copies, live."""
    named = "'id Int64, label String'"
    header = "headers('Authorization'={{ tb_secret('feed') }})"
    keys = "{{ tb_secret('key') }}, {{ tb_secret('secret') }}"
    login = "{{ tb_secret('my_user') }}, {{ tb_secret('my_password') }}"
    rows = f"url('{web.url('/rows')}', JSONEachRow, {named}, {header})"
    bought = f"mysql('127.0.0.1:{shop.port}', 'shop', 'products', {login})"
    files: dict[str, str | None] = {
        "datasources/far_every.datasource": schema(TYPES),
        "datasources/far_rows.datasource": schema({"id": "UInt64", "label": "String", "place": "String"}),
        "copies/far_every_copy.pipe": copy(f"SELECT * FROM url('{web.url('/every.parquet')}')", "far_every", "replace"),
        "copies/far_rows_copy.pipe": copy(
            f"SELECT toUInt64(id) AS id, upper(label) AS label, _path AS place FROM {rows} "
            "WHERE id > {{ Int64(above, 0) }}",
            "far_rows",
        ),
        "copies/far_bucket_copy.pipe": copy(
            "SELECT toUInt64(id) AS id, label, _file AS place "
            f"FROM s3('{bucket}/day={{1..2}}/*.csv.gz', {keys}, CSV, {named})",
            "far_rows",
            "replace",
        ),
        "copies/far_shop_copy.pipe": copy(
            "SELECT p.id AS id, ifNull(p.label, '-') AS label, "
            "concat(toString(p.price), ' ', toString(p.made)) AS place "
            f"FROM {bought} AS p",
            "far_rows",
            "replace",
        ),
        "copies/far_wrong_copy.pipe": copy(
            f"SELECT id, label FROM {bought.replace('my_password', 'pg_wrong')}", "far_rows", "replace"
        ),
    }
    made = server.deploy(files)
    assert made.state == "live", made.error
    return server


def run(server: Server, name: str, **parameters: str) -> Job:
    jobs = server.pipeline.store.jobs
    job = server.pipeline.copies.run(name, parameters)
    wait_until(lambda: not jobs.get(job.id).is_open, 120, lambda: jobs.get(job.id))
    return jobs.get(job.id)


def test_every_type_of_parquet_is_copied_exactly(copies: Server, web: WebServer) -> None:
    file = io.BytesIO()
    pq.write_table(TABLE, file)
    web.page("/every.parquet", file.getvalue())
    done = run(copies, "far_every_copy")
    assert (done.state, done.rows) == ("done", 1), done.error
    (row,) = copies.ask(f"SELECT {', '.join(SHOWN)} FROM far_every")
    assert list(row) == [*SHOWN.values()]


def test_rows_are_appended_once_and_a_failing_source_changes_nothing(copies: Server, web: WebServer) -> None:
    whole = b'[{"id":1,"label":"a"},{"id":2,"label":"b"},{"id":3}]'
    web.page("/rows", whole)
    done = run(copies, "far_rows_copy", above="1")
    assert (done.state, done.rows) == ("done", 2), done.error
    before = copies.ask("SELECT id, label, place FROM far_rows ORDER BY id")
    assert before == [(2, "B", "/rows"), (3, "", "/rows")]
    assert web.seen[-1][1]["Authorization"] == SECRETS["feed"]

    def cut_off(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(whole)))
        handler.end_headers()
        handler.wfile.write(whole[:-10])
        handler.close_connection = True

    web.pages["/rows"] = cut_off
    cut = run(copies, "far_rows_copy")
    web.page("/rows", whole.replace(b"2", b'"two"'))
    wrong = run(copies, "far_rows_copy")
    for failed, told in ((cut, "peer closed connection"), (wrong, 'row 2: `id`: \\"two\\" is not an Int64')):
        assert failed.state == "failed"
        shown = json.dumps(failed.error)
        assert told in shown
        assert "geheim" not in shown
    assert copies.ask("SELECT id, label, place FROM far_rows ORDER BY id") == before
    assert not [*copies.pipeline.copies._context.folder.iterdir()], "no file of it is left"


def test_objects_of_a_bucket_replace_rows(copies: Server) -> None:
    done = run(copies, "far_bucket_copy")
    assert (done.state, done.rows) == ("done", 3), done.error
    expected = [(1, "one", "a.csv.gz"), (2, "two", "a.csv.gz"), (3, "three", "a.csv.gz")]
    assert copies.ask("SELECT id, label, place FROM far_rows ORDER BY id") == expected


def test_tables_of_mariadb_replace_rows_or_leave_them(copies: Server) -> None:
    done = run(copies, "far_shop_copy")
    assert (done.state, done.rows) == ("done", 2), done.error
    expected = [("2", "-", ""), ("18446744073709551615", "é", "1.1 2024-05-06 07:08:09.123")]
    assert copies.ask("SELECT toString(id), label, place FROM far_rows ORDER BY far_rows.id") == expected
    failed = run(copies, "far_wrong_copy")
    assert failed.state == "failed"
    assert "Access denied" in json.dumps(failed.error)
    assert SECRETS["pg_wrong"] not in json.dumps(failed.error)
    assert copies.ask("SELECT toString(id), label, place FROM far_rows ORDER BY far_rows.id") == expected
