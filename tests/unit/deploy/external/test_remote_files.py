"""Files of a web server and of an S3 server: whole ones are read, and whatever is wrong with them is an error."""

from __future__ import annotations

import gzip
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import boto3
import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from moto.s3.models import s3_backends
from moto.server import ThreadedMotoServer

from penstock.deploy.external.buckets import object_lists
from penstock.deploy.external.remote_files import RemoteFileTables
from penstock.deploy.external.web_client import WebClient
from penstock.errors import Failed
from penstock.lake.spark.cancellation import WorkCancelled
from penstock.model.external_tables import Bucket, BucketLogin, FileFormat, RemoteFiles, UnreadableTable
from penstock.model.settings import CopySettings
from penstock.model.types import Int, String, Type
from penstock.sql.query import ExternalRead
from web_server import WebServer

COLUMNS: tuple[tuple[str, Type], ...] = (("id", Int(64)), ("name", String()))
ROWS = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
CSV = b"id,name\n1,a\n2,b\n"
OWN = CopySettings(private_hosts=("127.0.0.1", "localhost"))


def never() -> bool:
    return False


def read(
    folder: Path,
    files: RemoteFiles,
    used: tuple[str, ...] = ("id", "name"),
    settings: CopySettings = OWN,
    stops: Callable[[], bool] = never,
) -> list[dict[str, object]]:
    """The rows, as a copy reads them. Nothing is left of it."""
    client = WebClient(settings, stops)
    tables = RemoteFileTables(folder / "7.ndjson", stops, settings, client)
    try:
        if not files.columns:
            tables.columns(files)
        found = tables.read(ExternalRead("x", files, frozenset(used)))
        rows: list[dict[str, object]] = pq.read_table(found.path).to_pylist()
        assert found.rows == len(rows)
        return rows
    finally:
        tables.close()
        client.close()
        assert not [*folder.iterdir()], "no file of it is left"


def csv(web: WebServer, path: str, file_format: FileFormat = "CSVWithNames") -> RemoteFiles:
    return RemoteFiles("url", web.url(path), file_format, COLUMNS)


def refusal(folder: Path, files: RemoteFiles, settings: CopySettings = OWN) -> str:
    with pytest.raises((Failed, UnreadableTable)) as refused:
        read(folder, files, settings=settings)
    return str(refused.value)


def parquet(rows: list[dict[str, object]]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("path", "content", "headers"),
    [
        ("/a.csv", CSV, {}),
        ("/a.csv.gz", gzip.compress(CSV), {}),
        ("/a.csv.zst", zstandard.compress(CSV), {}),
        ("/feed", gzip.compress(CSV), {"Content_Encoding": "gzip"}),
        ("/b.csv.gz", gzip.compress(CSV), {"Content_Encoding": "gzip"}),
    ],
)
def test_a_file_is_read_packed_or_not(
    web: WebServer, tmp_path: Path, path: str, content: bytes, headers: dict[str, str]
) -> None:
    web.page(path, content, **headers)
    assert read(tmp_path, csv(web, path)) == ROWS


def test_a_chunked_answer_is_read(web: WebServer, tmp_path: Path) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for part in (CSV[:5], CSV[5:], b""):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

    web.pages["/chunked"] = answer
    assert read(tmp_path, csv(web, "/chunked")) == ROWS


def test_several_files_say_which_a_row_is_of(web: WebServer, tmp_path: Path) -> None:
    web.page("/x/1.csv", CSV)
    web.page("/x/2.csv", b"name,id\nc,3\n")
    files = csv(web, "/x/{1..2}.csv")
    assert read(tmp_path, files, ("id", "_path", "_file")) == [
        {"id": 1, "_path": "/x/1.csv", "_file": "1.csv"},
        {"id": 2, "_path": "/x/1.csv", "_file": "1.csv"},
        {"id": 3, "_path": "/x/2.csv", "_file": "2.csv"},
    ]
    assert len(read(tmp_path, files, ("nothing",))) == 3, "rows are counted without a column"
    assert len(read(tmp_path, csv(web, "/x/{1,2,1}.csv"))) == 5, "a file that is named twice is read twice"


def test_parquet_files_tell_their_columns(web: WebServer, tmp_path: Path) -> None:
    web.page("/p1", parquet(ROWS))
    web.page("/p2", parquet([{"name": "c", "id": 3}]))
    web.page("/p3", parquet([{"name": 1, "id": 3}]))
    assert read(tmp_path, RemoteFiles("url", web.url("/p{1,2}"), "Parquet")) == [*ROWS, {"id": 3, "name": "c"}]
    told = refusal(tmp_path, RemoteFiles("url", web.url("/p{1,3}"), "Parquet"))
    assert "/p3: the column `name` is Nullable(Int64) in the file, and Nullable(String) was expected" in told


def cut_off(handler: BaseHTTPRequestHandler) -> None:
    """As a server that is killed while it answers."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(CSV)
    handler.close_connection = True


def cut_chunks(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(CSV), CSV))
    handler.close_connection = True


def no_length(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(CSV)
    handler.close_connection = True


def not_http(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"what?\r\n\r\n")
    handler.close_connection = True


@pytest.mark.parametrize(
    ("page", "told"),
    [
        (cut_off, "peer closed connection without sending complete message body"),
        (cut_chunks, "peer closed connection without sending complete message body"),
        (no_length, "does not say how long the file is"),
        (not_http, "the connection fails: illegal status line"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(
    web: WebServer, tmp_path: Path, page: Callable[[BaseHTTPRequestHandler], None], told: str
) -> None:
    web.pages["/broken"] = page
    assert told in refusal(tmp_path, csv(web, "/broken"))


def test_what_a_server_answers_instead_is_told(web: WebServer, tmp_path: Path) -> None:
    assert "the server answers 404 Not Found" in refusal(tmp_path, csv(web, "/missing"))
    web.page("/cut.csv.gz", gzip.compress(CSV * 100)[:-9])
    assert "cannot be unpacked" in refusal(tmp_path, csv(web, "/cut.csv.gz"))
    web.page("/page.csv", b"<html>no</html>")
    assert "none of the columns of the structure" in refusal(tmp_path, csv(web, "/page.csv"))
    web.page("/cut.parquet", parquet(ROWS)[:-5])
    assert "no whole Parquet file" in refusal(tmp_path, RemoteFiles("url", web.url("/cut.parquet"), "Parquet"))


def test_a_file_has_limits(web: WebServer, tmp_path: Path) -> None:
    web.page("/large.csv.gz", gzip.compress(CSV + b"3,c\n" * 100_000))
    settings = CopySettings(("127.0.0.1",), max_read_bytes=100_000)
    assert "more than 100000 bytes unpacked" in refusal(tmp_path, csv(web, "/large.csv.gz"), settings)
    web.page("/large.csv", CSV + b"3,c\n" * 100_000)
    assert "more than 100000 bytes (`max_read_bytes`" in refusal(tmp_path, csv(web, "/large.csv"), settings)


def test_a_server_that_says_nothing_is_left_when_the_copy_stops(web: WebServer, tmp_path: Path) -> None:
    asked, over = threading.Event(), threading.Event()

    def wait(handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        over.wait(60)

    web.pages["/silent"] = wait
    began = time.monotonic()
    try:
        with pytest.raises(WorkCancelled):
            read(tmp_path, csv(web, "/silent"), stops=asked.is_set)
    finally:
        over.set()
    assert time.monotonic() - began < 30


def test_redirections_lead_to_no_private_address_and_take_no_headers_along(web: WebServer, tmp_path: Path) -> None:
    def redirect(to: str) -> Callable[[BaseHTTPRequestHandler], None]:
        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(302)
            handler.send_header("Location", to)
            handler.send_header("Content-Length", "0")
            handler.end_headers()

        return answer

    web.page("/there.csv", CSV)
    web.pages["/same"] = redirect("/there.csv")
    web.pages["/other"] = redirect(f"http://localhost:{web.port}/there.csv")
    web.pages["/loop"] = redirect("/loop")
    web.pages["/file"] = redirect("file:///etc/passwd")
    web.pages["/inside"] = redirect("http://127.0.0.2/")
    for path, kept in (("/same", "hidden"), ("/other", None)):
        headers = (("X-Api-Key", "hidden"),)
        assert read(tmp_path, RemoteFiles("url", web.url(path), "CSVWithNames", COLUMNS, headers=headers)) == ROWS
        assert web.seen[-1][1].get("X-Api-Key") == kept
    assert "redirects more than 5 times" in refusal(tmp_path, csv(web, "/loop"))
    assert "redirects from http to file" in refusal(tmp_path, csv(web, "/file"))
    assert "`127.0.0.2` is an address of this machine" in refusal(tmp_path, csv(web, "/inside"))


def test_addresses_of_this_machine_are_refused_unless_allowed(web: WebServer, tmp_path: Path) -> None:
    web.page("/own.csv", CSV)
    before = len(web.seen)
    told = refusal(tmp_path, csv(web, "/own.csv"), CopySettings())
    assert f'private_hosts = ["127.0.0.1:{web.port}"]' in told
    assert len(web.seen) == before, "nothing was sent"
    assert read(tmp_path, csv(web, "/own.csv"), settings=CopySettings((f"127.0.0.1:{web.port}",))) == ROWS


def test_no_secret_is_in_a_message(web: WebServer, tmp_path: Path) -> None:
    place = web.url("/hook-geheim1?sig=geheim2")
    for is_secret in (False, True):
        files = RemoteFiles("url", place, "CSV", COLUMNS, headers=(("Authorization", "geheim3"),), is_secret=is_secret)
        told = refusal(tmp_path, files)
        assert "404" in told
        assert ("geheim1" in told) is not is_secret
        assert "geheim2" not in told + repr(files)
        assert "geheim3" not in told + repr(files)


@pytest.fixture(scope="module")
def s3() -> Iterator[Bucket]:
    """A bucket with files, of a server that checks signatures and what a login may do."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    login = {"endpoint_url": endpoint, "aws_access_key_id": "any", "aws_secret_access_key": "any"}
    users = boto3.client("iam", region_name="us-east-1", **login)
    users.create_user(UserName="reader")
    allowed = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    users.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=policy)
    key = users.create_access_key(UserName="reader")["AccessKey"]
    client = boto3.client("s3", region_name="us-east-1", **login)
    client.create_bucket(Bucket="data")
    for name, content in FILES.items():
        client.put_object(Bucket="data", Key=name, Body=content)
    for at in range(1100):  # as fast as it gets
        content = b"id,name\n%d,m\n" % at if at % 100 == 99 else b"no"
        name = f"many/{at:04}{'' if at in (99, 999, 1099) else 'x'}.csv"
        s3_backends["123456789012"]["aws"].put_object("data", name, content)
    before = httpx.post(f"{endpoint}/moto-api/reset-auth", content=b"0").json()  # signatures are checked from now on
    yield Bucket(endpoint, "data", "us-east-1", False, BucketLogin(key["AccessKeyId"], key["SecretAccessKey"]))
    # The count is of this process: every S3 server of a later test would check signatures as well.
    httpx.post(f"{endpoint}/moto-api/reset-auth", content=str(before["PREVIOUS_INITIAL_NO_AUTH_ACTION_COUNT"]))
    server.stop()


FILES = {
    "year=2024/01.csv": CSV,
    "year=2024/02.csv": b"id,name\n3,c\n",
    "year=2024/03.csv.gz": gzip.compress(b"id,name\n4,d\n"),
    "year=2024/deep/x/05.csv": b"id,name\n5,e\n",
    "year=2024/empty.csv": b"",
    "odd name+ü&=%41.csv": b"id,name\n6,f\n",
    "p.parquet": b"",
}


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("year=2024/01.csv", [1, 2]),
        ("year=2024/*.csv", [1, 2, 3]),
        ("year=2024/*.csv*", [1, 2, 3, 4]),
        ("year=2024/{02..03}.csv*", [3, 4]),
        ("year=2024/0{1,2}.csv", [1, 2, 3]),
        ("year=2024/**.csv", [1, 2, 3, 5]),
        ("year=202?/0[12].csv", []),
        ("year=202?/02.csv", [3]),
        ("odd name+ü&=%41.csv", [6]),
        ("odd name+ü&=*", [6]),
        ("many/*9.csv", [99, 999, 1099]),  # of two lists
    ],
)
def test_objects_of_a_bucket_are_read_by_patterns(s3: Bucket, tmp_path: Path, pattern: str, ids: list[int]) -> None:
    files = RemoteFiles("s3", pattern, "CSVWithNames", COLUMNS, bucket=s3)
    if not ids:
        assert "there is no file that the pattern stands for" in refusal(tmp_path, files)
    else:
        assert [row["id"] for row in read(tmp_path, files)] == ids


def test_an_object_that_is_missing_is_an_error(s3: Bucket, tmp_path: Path) -> None:
    files = RemoteFiles("s3", "nope.csv", "CSVWithNames", COLUMNS, bucket=s3)
    told = refusal(tmp_path, files)
    assert f"data/nope.csv at {s3.endpoint}: the server answers 404" in told
    assert "NoSuchKey" in told
    assert s3.login is not None
    assert s3.login.secret not in told + repr(files)


def test_a_wrong_login_reads_nothing(s3: Bucket, tmp_path: Path) -> None:
    assert s3.login is not None
    for login, told in (
        (replace(s3.login, secret="geheim"), "403 Forbidden: SignatureDoesNotMatch"),
        (replace(s3.login, key="stranger"), "403 Forbidden: InvalidAccessKeyId"),
        (None, "403 Forbidden"),
    ):
        files = RemoteFiles("s3", "p.parquet", "CSVWithNames", COLUMNS, bucket=replace(s3, login=login))
        assert told in refusal(tmp_path, files)


def test_a_list_of_objects_without_an_end_is_not_kept_in_memory(
    web: WebServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_lists, "LONGEST_LIST", 100_000)

    def without_end(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(2**40))
        handler.end_headers()
        with suppress(OSError):  # the reader has gone
            while True:
                handler.wfile.write(b" " * 10_000)

    web.pages["/data?list-type=2&prefix=x"] = without_end
    files = RemoteFiles("s3", "x*", "CSVWithNames", COLUMNS, bucket=Bucket(web.url(""), "data", "r", in_host=False))
    assert "list of objects has more than 100000 bytes" in refusal(tmp_path, files, replace(OWN, max_read_bytes=10**6))


def test_where_in_a_bucket_a_row_is_from(s3: Bucket, tmp_path: Path) -> None:
    files = RemoteFiles("s3", "year=2024/02.csv", "CSVWithNames", COLUMNS, bucket=s3)
    assert read(tmp_path, files, ("_path", "_file")) == [{"_path": "data/year=2024/02.csv", "_file": "02.csv"}]


def test_the_certificates_of_the_machine_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That takes longer than many a request, and each object of a bucket has connections of its own."""
    read, make = [], httpx.create_ssl_context

    def count(**given: object) -> object:
        read.append(given)
        return make(**given)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx, "create_ssl_context", count)
    for _ in range(3):
        WebClient(CopySettings(), lambda: False).close()
    assert len(read) <= 1
