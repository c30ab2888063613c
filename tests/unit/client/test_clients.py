"""Both clients against real servers: what they ask, what they make of answers, and when they ask again."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pytest
from pydantic import BaseModel

from penstock import Api, IngestPipeline, OlapConfig, OlapTable, Stream
from penstock.client import AsyncClient, Client, ClientError, ClientOptions, EndpointQuery, InsertOptions
from penstock.client.retries import Deadline
from penstock.client.rows.row_batches import BatchLimits
from penstock.model.servers.identity import ServerIdentity
from unit.client.conftest import ScriptedServer, Served

Result = TypeVar("Result")
SMALL = ClientOptions(batch_limits=BatchLimits(rows=10))


class Row(BaseModel):
    a: int


class Top(BaseModel):
    days: int = 7
    page: str | None = None


def awaited(served: Served, ask: Callable[[AsyncClient], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        async with AsyncClient(served.url, served.token, options=SMALL) as client:
            return await ask(client)

    return asyncio.run(run())


def test_rows_are_inserted_and_their_table_is_the_objects_version(served: Served, client: Client) -> None:
    assert client.insert("flights", [{"a": 1}, Row(a=2)]).successful == 2
    assert served.rows() == [b'{"a":1}', b'{"a":2}']
    table = OlapTable[Row]("flights", OlapConfig(version="0.1"))
    with pytest.raises(ClientError, match="there is no data source `flights_0_1`") as caught:
        client.insert(table, [Row(a=1)])
    assert (caught.value.status, caught.value.hint) == (404, "did you mean `flights`?")


def test_objects_insert_by_the_rules_of_the_commands(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", served.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", served.token)
    assert OlapTable[Row]("flights").insert([Row(a=1), {"a": 2}]).successful == 2
    assert Stream[Row]("flights").send(Row(a=3)).successful == 1
    assert IngestPipeline[Row]("flights").get_table().insert(iter([Row(a=4)])).successful == 1
    assert [json.loads(row)["a"] for row in served.rows()] == [1, 2, 3, 4]
    with pytest.raises(ClientError, match="a: Input should be"):
        OlapTable[Row]("flights").insert([{"a": "x"}], InsertOptions(strategy="fail-fast"))


def test_answers_are_rows_models_and_tables(served: Served, client: Client) -> None:
    sql = "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, 'y' ORDER BY a"
    assert client.query(sql) == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert client.query("SELECT 1 AS a", model=Row) == [Row(a=1)]
    assert list(client.stream("SELECT 1 AS a", model=Row)) == [Row(a=1)]
    assert client.query_arrow(f"{sql};").to_pylist() == client.query(sql)
    assert [batch.num_rows for batch in client.stream_arrow(sql)] == [2]
    assert list(client.query_pandas(sql)["b"]) == ["x", "y"]
    client.query("SELECT 1", deployment="staging")
    assert served.pipeline.asked[-1] == ("SELECT 1", "staging")


def test_endpoints_by_name_and_by_object(client: Client) -> None:
    api = Api[Top, Row]("top", sql="SELECT {days} AS a, {page} AS page")
    asked = {"deployment": "live", "parameters": '{"days": "3"}'}
    assert client.endpoint("top", {"days": 3, "page": None}) == [asked]
    assert client.endpoint(api, Top(days=3)) == [asked]
    assert client.query_arrow(EndpointQuery(api, Top(days=3))).to_pylist() == [asked]
    assert client.endpoint("top", deployment="staging")[0]["deployment"] == "staging"
    with pytest.raises(ClientError, match="no parameter is called `deployment`"):
        client.endpoint("top", {"deployment": "x"})
    with pytest.raises(ClientError, match="there is no endpoint `tip`"):
        client.endpoint("tip")
    with pytest.raises(ClientError, match="there is nothing at /v0/pipes/"):
        client.endpoint("../sql?q=SELECT 1")


def test_the_client_for_asyncio_does_the_same(served: Served) -> None:
    async def rows() -> AsyncIterator[Row]:
        for each in range(25):
            yield Row(a=each)

    async def ask(client: AsyncClient) -> list[object]:
        inserted = await client.insert("flights", rows())
        inserted_too = await client.insert("flights", ({"a": each} for each in range(15)))
        return [
            inserted.successful + inserted_too.successful,
            await client.query("SELECT 1 AS a", model=Row),
            [row async for row in client.stream("SELECT 1 AS a UNION ALL SELECT 2")],
            [batch.num_rows async for batch in client.stream_arrow("SELECT 1")],
            (await client.query_arrow("SELECT 1 AS a")).to_pylist(),
            len(await client.query_pandas("SELECT 1 AS a")),
            (await client.endpoint("top", Top()))[0]["deployment"],
        ]

    found = awaited(served, ask)
    assert found == [40, [Row(a=1)], [{"a": 1}, {"a": 2}], [1], [{"a": 1}], 1, "live"]
    assert len(served.rows()) == 40


def test_an_asynchronous_iterator_that_raises_tells_what_was_sent(served: Served) -> None:
    async def broken() -> AsyncIterator[Row]:
        for each in range(25):
            yield Row(a=each)
        raise OSError("gone")

    with pytest.raises(ClientError, match="OSError: gone") as caught:
        awaited(served, lambda client: client.insert("flights", broken()))
    assert caught.value.result is not None
    assert caught.value.result.successful == len(served.rows()) == 20


def test_threads_and_tasks_insert_at_once(served: Served) -> None:
    """Eight threads with one client, and fifty tasks with another."""
    with Client(served.url, served.token, options=SMALL) as client:

        def insert(thread: int) -> None:
            client.insert("flights", ({"a": thread * 1_000 + each} for each in range(100)))

        threads = [threading.Thread(target=insert, args=(each,)) for each in range(8)]

        async def tasks(client: AsyncClient) -> None:
            rows = ([Row(a=100_000 + task * 100 + each) for each in range(30)] for task in range(50))
            await asyncio.gather(*(client.insert("flights", each) for each in rows))

        for each in threads:
            each.start()
        awaited(served, tasks)
        for each in threads:
            each.join()
    wanted = [thread * 1_000 + each for thread in range(8) for each in range(100)]
    wanted += [100_000 + task * 100 + each for task in range(50) for each in range(30)]
    assert sorted(json.loads(row)["a"] for row in served.rows()) == wanted


def test_a_streaming_answer_that_is_left_early_frees_its_connection(served: Served) -> None:
    async def first(client: AsyncClient) -> object:
        async for row in client.stream("SELECT 1 AS a UNION ALL SELECT 2"):
            return row
        return None

    assert awaited(served, first) == {"a": 1}
    with Client(served.url, served.token) as client:
        rows = client.stream("SELECT 1 AS a UNION ALL SELECT 2")
        next(rows)
        assert isinstance(rows, Iterator)
        rows.close()  # type: ignore[attr-defined]
        assert client.query("SELECT 1 AS a") == [{"a": 1}]


RETRY = {"Retry-After": "0"}
SECRET = "p.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHI"
ACCEPTED = (202, dict[str, str](), b'{"successful_rows": 1, "quarantined_rows": 0}')


@pytest.mark.parametrize("is_async", [False, True])
def test_a_batch_is_sent_again_with_its_key_until_it_is_acknowledged(scripted: ScriptedServer, is_async: bool) -> None:
    scripted.script = [(429, RETRY, b""), None, (202, {"Content-Length": "9"}, b"{")]
    if is_async:
        result = asyncio.run(_insert_awaited(scripted.url))
    else:
        with Client(scripted.url, SECRET) as client:
            result = client.insert("t", [{"a": 1}]).successful
    assert result == 1
    assert len(scripted.calls) == 4
    assert len(set(scripted.keys())) == 1
    assert {path for path, _, _ in scripted.calls} == {"/v0/events?name=t&format=ndjson"}


async def _insert_awaited(url: str) -> int:
    async with AsyncClient(url, SECRET) as client:
        return (await client.insert("t", [{"a": 1}])).successful


def test_what_will_never_be_taken_is_sent_once(scripted: ScriptedServer) -> None:
    scripted.script = [(400, {}, b'{"error": "no", "code": "invalid-request", "problems": []}')]
    with Client(scripted.url) as client, pytest.raises(ClientError, match=r"no \[invalid-request\]") as caught:
        client.insert("t", [{"a": 1}])
    assert (len(scripted.calls), caught.value.status) == (1, 400)
    assert caught.value.result is not None
    assert caught.value.result.unconfirmed == 0


def test_after_the_deadline_the_error_says_how_to_go_on(scripted: ScriptedServer) -> None:
    scripted.script = [ACCEPTED, *[(503, {"Retry-After": "7"}, b"{}")] * 5]
    options = ClientOptions(retry_seconds=2, batch_limits=BatchLimits(rows=1))
    with Client(scripted.url, options=options) as client:
        with pytest.raises(ClientError) as caught:
            client.insert("t", [{"a": 1}, {"a": 2}])
        result = caught.value.result
        assert result is not None
        assert (result.successful, result.unconfirmed, len(scripted.calls)) == (1, 1, 2)
        assert repr(result.idempotency_key) in str(caught.value)
        scripted.script.clear()
        client.insert("t", [{"a": 1}, {"a": 2}], InsertOptions(idempotency_key=result.idempotency_key))
    assert scripted.keys() == [f"{result.idempotency_key}-{each}" for each in (0, 1, 0, 1)]


def test_a_silent_server_is_asked_again_within_the_time(scripted: ScriptedServer) -> None:
    """A timeout that is longer than all tries leaves time for another one."""
    answered = threading.Event()
    scripted.script = [answered]
    with Client(scripted.url, options=ClientOptions(timeout=90, retry_seconds=2)) as client:
        result = client.insert("t", [{"a": 1}])
    answered.set()
    assert (result.successful, len(scripted.calls), len(set(scripted.keys()))) == (1, 2, 1)


def test_the_first_attempt_has_its_whole_time_and_later_ones_end_at_the_deadline() -> None:
    deadline = Deadline.after(10)
    assert deadline.next_attempt(90) == 90
    assert 9 < deadline.next_attempt(90) <= 10
    assert deadline.next_attempt(5) == 5
    late = Deadline.after(0)
    assert (late.next_attempt(90), late.next_attempt(90)) == (90, 1)


def test_a_task_that_is_cancelled_leaves_the_client_as_it_was(served: Served) -> None:
    async def ask(client: AsyncClient) -> object:
        async def endless() -> AsyncIterator[Row]:
            while True:
                yield Row(a=1)
                await asyncio.sleep(0)

        async def read() -> None:
            async for _ in client.stream("SELECT 1 AS a"):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(client.insert("flights", endless())), asyncio.create_task(read())]
        while not served.rows():
            await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()
        assert all(
            isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*tasks, return_exceptions=True)
        )
        return await client.query("SELECT 1 AS a")

    assert awaited(served, ask) == [{"a": 1}]


def test_an_answer_that_breaks_off_is_asked_for_again_and_a_short_one_is_no_answer(
    scripted: ScriptedServer, served: Served, client: Client
) -> None:
    table = client.query_arrow("SELECT 1 AS a")
    whole = _arrow_body(table)
    cut = (200, {"Content-Length": str(len(whole))}, whole[:-40])
    short = (200, dict[str, str](), whole[:-8])
    scripted.script = [cut, short, (200, {}, whole)]
    with Client(scripted.url) as other:
        assert other.query("SELECT 1 AS a") == [{"a": 1}]
        scripted.script = [short]
        with pytest.raises(ClientError, match="the answer ended before its end"):
            list(other.stream("SELECT 1 AS a"))


def test_an_answer_cut_after_a_value_that_looks_like_its_end_is_no_answer(scripted: ScriptedServer) -> None:
    """The bytes of the end are also this number, as the last of a batch."""
    one = pa.table({"a": pa.array([2**32 - 1], pa.int64())})
    whole = _arrow_body(pa.concat_tables([one, one]))
    assert whole[:-8].endswith(whole[-8:])
    scripted.script = [(200, {}, whole[:-8]), (200, {}, whole)]
    with Client(scripted.url) as client:
        assert client.query_arrow("SELECT 1 AS a").num_rows == 2
    assert len(scripted.calls) == 2


def test_times_keep_their_digits_whatever_decimals_the_program_counts_with(scripted: ScriptedServer) -> None:
    field = pa.field("a", pa.decimal128(38, 9), metadata={"clickhouse.type": "DateTime64(9)"})
    table = pa.table([pa.array([Decimal("1704067200.123456789")], field.type)], pa.schema([field]))
    scripted.script = [(200, {}, _arrow_body(table))]
    with Client(scripted.url) as client, localcontext() as context:
        context.prec = 6
        assert client.query("SELECT a FROM t") == [{"a": "2024-01-01 00:00:00.123456789Z"}]


def _arrow_body(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def test_no_server(unused_port: int) -> None:
    client = Client(f"http://127.0.0.1:{unused_port}", options=ClientOptions(retry_seconds=0))
    with client, pytest.raises(ClientError, match="no server answers at") as caught:
        client.query("SELECT 1")
    assert (caught.value.code, caught.value.status) == ("no-server", 503)


def test_no_error_has_the_token(scripted: ScriptedServer) -> None:
    problem = {"code": SECRET, "message": SECRET, "hint": SECRET, "file": SECRET}
    echo = json.dumps({"error": f"what is {SECRET}?", "code": SECRET, "problems": [problem]})
    scripted.script = [(403, {}, echo.encode()), (502, {}, SECRET.encode())]
    with Client(scripted.url, SECRET, options=ClientOptions(retry_seconds=0)) as client:
        for _ in range(2):
            with pytest.raises(ClientError) as caught:
                client.query("SELECT 1")
            assert SECRET not in f"{caught.value} {caught.value!r} {caught.value.as_json()} {caught.value.problems}"
        assert scripted.calls[0][1]["Authorization"] == f"Bearer {SECRET}"
        assert SECRET not in repr(client)
    with pytest.raises(ClientError, match="the token has characters") as caught:
        Client(scripted.url, f"{SECRET}\n")
    assert SECRET not in str(caught.value)
    with pytest.raises(ClientError, match="no login and no parameters") as caught:
        Client(f"http://x:{SECRET}@host")
    assert SECRET not in str(caught.value)


def test_the_server_of_the_nearest_project_is_called(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "project" / ".penstock"
    (home / "deeper").mkdir(parents=True)
    (home.parent / "penstock.toml").touch()
    (home / "admin_token").write_text(f"{served.token}\n")
    with pytest.raises(ClientError, match="no server of"):
        Client(project=home.parent)
    (home / "server.json").write_text(json.dumps({"server": {"id": 1, "started": 0.0}, "url": served.url}))
    monkeypatch.chdir(home / "deeper")
    for made in (Client(), Client(project=home.parent)):
        with made as client:
            assert client.query("SELECT 1 AS a") == [{"a": 1}]
    with Client(served.url) as client:  # as with the commands, the folder has the token
        assert client.query("SELECT 1 AS a") == [{"a": 1}]
    monkeypatch.setenv("PENSTOCK_TOKEN", "wrong-secret")
    with Client() as client, pytest.raises(ClientError, match="token"):
        client.query("SELECT 1")
    with pytest.raises(ClientError, match="there is no folder"):
        Client(project=tmp_path / "nowhere")
    with pytest.raises(ClientError, match="is not an address"):
        Client("localhost:7180")


def test_another_projects_server_is_refused_where_the_address_was_found_in_files(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.toml").write_text(f"[server]\nport = {served.url.rpartition(':')[2]}\n")
    there = ServerIdentity.of(tmp_path / "other", socket.gethostname(), (7, 1.0))
    monkeypatch.setattr(served.host, "identity", there)
    with Client(token=served.token) as client, pytest.raises(ClientError, match="belongs to another project") as caught:
        client.query("SELECT 1 AS a")
    assert caught.value.code == "other-project"
    with Client(served.url, served.token) as client:
        assert client.query("SELECT 1 AS a") == [{"a": 1}]


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
