"""Whatever becomes of an answer, the program learns whether its rows may be stored, and with a `ClientError`."""

from __future__ import annotations

import asyncio
import os

import numpy
import pandas  # noqa: TID251 what a program may insert
import pyarrow as pa
import pytest

from penstock.api.objects.row_insertion import InsertOptions, InsertResult
from penstock.client import AsyncClient, Client, ClientError, ClientOptions
from penstock.client.insertion import Insertion, InsertTarget
from penstock.client.rows.row_batches import BatchLimits
from unit.client.conftest import ScriptedServer

ROWS = [{"a": 1}]
NO = (403, dict[str, str](), b'{"error": "no", "code": "forbidden", "problems": [{"code": "x", "hint": "ask"}]}')
Answer = tuple[int, dict[str, str], bytes]


def refused(scripted: ScriptedServer, rows: object = ROWS) -> ClientError:
    with Client(scripted.url) as client, pytest.raises(ClientError) as caught:
        client.insert("t", rows)
    return caught.value


async def refused_awaited(scripted: ScriptedServer) -> ClientError:
    async with AsyncClient(scripted.url) as client:
        with pytest.raises(ClientError) as caught:
            await client.insert("t", ROWS)
    return caught.value


@pytest.mark.parametrize("is_async", [False, True])
def test_a_lost_answer_before_a_refusal_leaves_rows_that_may_be_stored(
    scripted: ScriptedServer, is_async: bool
) -> None:
    scripted.script = [None, NO]
    error = asyncio.run(refused_awaited(scripted)) if is_async else refused(scripted)
    assert error.result is not None
    assert (error.status, error.result.unconfirmed, len(scripted.calls)) == (403, 1, 2)
    assert repr(error.result.idempotency_key) in str(error)
    assert "ask" in str(error)


@pytest.mark.parametrize(
    ("answer", "unconfirmed"),
    [
        (NO, 0),
        ((200, {}, b"<html>"), 1),
        ((200, {"Content-Encoding": "gzip"}, b"no gzip"), 1),
        ((524, {}, b"a proxy"), 1),
        ((400, {}, b"[" * 50_000), 0),
    ],
)
def test_an_answer_of_something_else(scripted: ScriptedServer, answer: Answer, unconfirmed: int) -> None:
    scripted.script = [answer]
    error = refused(scripted)
    assert error.result is not None
    assert (error.result.unconfirmed, len(scripted.calls)) == (unconfirmed, 1)


def test_what_interrupts_an_insertion_has_the_result_and_its_key() -> None:
    made, interrupt = (
        Insertion(InsertTarget("t"), InsertOptions(idempotency_key="k"), BatchLimits()),
        KeyboardInterrupt(),
    )

    def send() -> None:
        with made.reporting():
            made.request(next(made.batches(ROWS)))
            raise interrupt

    with pytest.raises(KeyboardInterrupt):
        send()
    assert vars(interrupt)["result"] == InsertResult(unconfirmed=1, idempotency_key="k")


def test_a_process_that_was_forked_has_connections_of_its_own(
    scripted: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client(scripted.url) as client:
        client.insert("t", ROWS)
        client.insert("t", ROWS)
        monkeypatch.setattr(os, "getpid", lambda: -1)
        client.insert("t", ROWS)
        client.insert("t", ROWS)
    first, again, forked, forked_again = scripted.ports
    assert first == again != forked == forked_again


def test_a_client_that_was_closed(scripted: ScriptedServer) -> None:
    client = Client(scripted.url)
    client.close()
    with pytest.raises(ClientError, match="the client is closed") as caught:
        client.insert("t", ROWS)
    assert caught.value.result is not None
    assert (caught.value.result.unconfirmed, scripted.calls) == (0, [])

    async def ask() -> None:
        client = AsyncClient(scripted.url)
        await client.close()
        await client.query("SELECT 1")

    with pytest.raises(ClientError, match="the client is closed"):
        asyncio.run(ask())


def test_a_client_of_another_event_loop(scripted: ScriptedServer) -> None:
    client = AsyncClient(scripted.url)
    asyncio.run(client.insert("t", ROWS))
    with pytest.raises(ClientError, match="cannot be used") as caught:
        asyncio.run(client.insert("t", ROWS))
    assert caught.value.hint is not None
    assert "event loop" in caught.value.hint


@pytest.mark.parametrize("rows", [pandas.Series([1, 2]), pa.chunked_array([[1, 2]]), [{"a": numpy.array({1})}]])
def test_what_is_no_table_is_no_other_error(scripted: ScriptedServer, rows: object) -> None:
    refused(scripted, rows)
    assert scripted.calls == []


def test_an_answer_that_is_no_arrow_is_not_asked_for_again(scripted: ScriptedServer) -> None:
    scripted.script = [(200, {}, b"<html>")]
    with Client(scripted.url) as client, pytest.raises(ClientError, match="cannot be read"):
        client.query("SELECT 1")
    assert len(scripted.calls) == 1


@pytest.mark.parametrize("given", [{"sends_at_once": 0}, {"timeout": 0}, {"retry_seconds": -1}])
def test_options_with_which_nothing_is_sent(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="or more"):
        ClientOptions(**given)  # type: ignore[arg-type]
