"""Functions of endpoints run in processes with limits; what goes wrong in one call is that call's error alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal

import psutil
import pytest

from penstock.deploy.queries.handlers.handler_pool import (
    HandlerCall,
    HandlerFailed,
    HandlerLimits,
    HandlerPool,
    Json,
)
from penstock.errors import InvalidRequest, NotFound, PenstockError, Timeout, TooLarge, Unavailable

MODEL = """
from pydantic import BaseModel, Field
class Search(BaseModel):
    page: str
    most: int = Field(default=3, le=5)
def HANDLER(client, given):
    rows = client.query.execute("SELECT {p}", {"p": given.page, "t": TableName("hits")})
    return [{"page": given.page, "most": given.most, **row} for row in rows]
PARAMETERS = Search
"""


SOCKET = "import socket; socket.socket(type=socket.SOCK_DGRAM)"
CONNECTION = "client.query._connection"


@pytest.fixture(scope="module")
def pool() -> Iterator[HandlerPool]:
    made = HandlerPool(HandlerLimits(2, 5.0, 2**31, 100_000))
    yield made
    made.close()


def no_query(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
    raise NotFound(f"nothing answers `{text}`")


def run(pool: HandlerPool, body: str, **parameters: object) -> Sequence[object]:
    source = f"def HANDLER(client):\n    {body}\n" if "HANDLER" not in body else body
    return pool.run(HandlerCall(source, "HANDLER", parameters), no_query)


def test_rows_come_from_queries_and_parameters(pool: HandlerPool) -> None:
    asked: list[tuple[str, Json]] = []

    def answer(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
        asked.append((text, variables))
        return [{"at": datetime(2026, 1, 2, tzinfo=timezone.utc), "n": Decimal("1.50")}]

    rows = pool.run(HandlerCall(MODEL, "HANDLER", {"page": "/a'"}), answer)
    assert rows == [{"page": "/a'", "most": 3, "at": "2026-01-02T00:00:00Z", "n": "1.50"}]
    assert asked == [("SELECT {p}", {"p": ["text", "/a'"], "t": ["name", "hits"]})]


def test_the_model_checks_parameters_with_its_own_rules(pool: HandlerPool) -> None:
    for given, said in (({"page": "a", "most": 9}, "`most`"), ({}, "`page`")):
        with pytest.raises(InvalidRequest, match=said):
            pool.run(HandlerCall(MODEL, "HANDLER", given), no_query)


def test_a_strict_model_takes_what_a_call_can_give(pool: HandlerPool) -> None:
    source = MODEL.replace("import BaseModel", "import ConfigDict, BaseModel").replace(
        "    page: str",
        "    model_config = ConfigDict(strict=True)\n    day: __import__('datetime').date\n    page: str",
    )
    given = {"page": "a", "day": "2026-01-02"}
    assert pool.run(HandlerCall(source, "HANDLER", given), lambda *_: [{"n": 1}]) == [{"page": "a", "most": 3, "n": 1}]


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("return 1 / 0", HandlerFailed, "ZeroDivisionError"),
        ("return 'rows'", HandlerFailed, "expected rows"),
        ("return 5", HandlerFailed, "expected rows"),
        ("return [object()]", HandlerFailed, "serialize"),
        ("raise SystemExit(3)", HandlerFailed, "SystemExit"),
        ("import os; os._exit(3)", HandlerFailed, "ended"),
        ("import os; os.kill(os.getpid(), 11)", HandlerFailed, "which it may not"),
        ("import os; os.abort()", HandlerFailed, "ended"),
        ("import os; os.system('true')", HandlerFailed, "which it may not"),
        ("import subprocess; subprocess.run(['true'])", HandlerFailed, "which it may not"),
        ("import socket; socket.create_connection(('127.0.0.1', 1))", HandlerFailed, "which it may not"),
        ("return ['x' * 2**33]", HandlerFailed, "MemoryError"),
        ("return ['x' * 200_000]", TooLarge, "100,000 bytes"),
        ("def f(): f()\n    f()", HandlerFailed, "RecursionError"),
        ("return client.query.execute('SELECT 1')", HandlerFailed, "nothing answers `SELECT 1`"),
        ("return client.query.execute('SELECT {x}', {'x': object()})", HandlerFailed, "'x'"),
        ("import ctypes; ctypes.CDLL(None).fork()", HandlerFailed, "which it may not"),
        ("import os; os.forkpty()", HandlerFailed, "which it may not"),
        (f"{SOCKET}.sendto(b'x', ('127.0.0.1', 9))", HandlerFailed, "which it may not"),
        (f"{SOCKET}.bind(('127.0.0.1', 0))", HandlerFailed, "which it may not"),
        (f"{CONNECTION}.send_bytes(b'5')", HandlerFailed, "is none"),
        (f"{CONNECTION}.send_bytes(b'[' * 99_000)", HandlerFailed, "cannot be read"),
        ("HANDLER = None", HandlerFailed, "no function"),
        ("HANDLER (", HandlerFailed, "SyntaxError"),
    ],
)
def test_what_goes_wrong_is_an_error_of_the_call(
    pool: HandlerPool, body: str, kind: type[PenstockError], said: str
) -> None:
    with pytest.raises(kind) as raised:
        run(pool, body)
    assert said in raised.value.message
    assert run(pool, "return [{'n': 1}]") == [{"n": 1}], "the next call does not notice"


def test_the_line_of_a_failure_is_that_of_the_source(pool: HandlerPool) -> None:
    with pytest.raises(HandlerFailed) as raised:
        run(pool, "def help():\n    return {}['x']\n\ndef HANDLER(client):\n    return help()\n")
    assert (raised.value.line, raised.value.message) == (2, "KeyError: 'x'")


def test_what_is_printed_or_caught_is_no_answer(pool: HandlerPool) -> None:
    caught = "try:\n        client.query.execute('SELECT 1')\n    except RuntimeError:\n        print('none')"
    assert run(pool, f"{caught}\n    return {{'n': float('nan')}}") == [{"n": "NaN"}]


def test_nothing_of_a_call_reaches_the_next_one(pool: HandlerPool) -> None:
    run(pool, "import builtins, json; builtins.abs = json.loads = None; return []")
    late = """
import threading, time
def HANDLER(client):
    def ask():
        while True:
            try:
                client.query.execute("SELECT 'late'")
            except Exception:
                time.sleep(0.001)
    threads = [threading.Thread(target=ask, daemon=each == 0) for each in range(3)]
    for each in threads:
        each.start()
    return [{"n": 1}]
"""
    asked: list[str] = []

    def answer(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
        asked.append(text)
        return [{"text": text}]

    source = "def HANDLER(client):\n    return [*client.query.execute('SELECT 1'), {'n': abs(-3)}]\n"
    for _ in range(2):
        forged = b'{"call": "%s", "rows": [{"forged": 1}]}'
        sends = f"c = client.query; c._connection.send_bytes({forged!r} % c._call.encode())"
        assert run(pool, f"{sends}; return [{{'real': 1}}]") == [{"forged": 1}]
        unread = b'{"call": "%s", "query": "1", "variables": {}}'
        run(pool, f"c = client.query; c._connection.send_bytes({unread!r} % c._call.encode()); return []")
    for _ in range(5):
        assert pool.run(HandlerCall(late, "HANDLER", {}), answer) == [{"n": 1}]
        asked.clear()
        assert pool.run(HandlerCall(source, "HANDLER", {}), answer) == [{"text": "SELECT 1"}, {"n": 3}]
        assert asked == ["SELECT 1"]


def test_threads_of_a_call_get_their_own_rows(pool: HandlerPool) -> None:
    source = """
from concurrent.futures import ThreadPoolExecutor
def HANDLER(client):
    with ThreadPoolExecutor(8) as threads:
        asked = [f"SELECT {each}" for each in range(40)]
        return [{"q": q, "a": rows[0]["text"]} for q, rows in zip(asked, threads.map(client.query.execute, asked))]
"""

    def answer(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
        return [{"text": text}]

    rows = pool.run(HandlerCall(source, "HANDLER", {}), answer)
    assert len(rows) == 40
    assert all(row["q"] == row["a"] for row in rows)  # type: ignore[index]


def test_a_function_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_SECRET", "secret")
    pool = HandlerPool(HandlerLimits(1, 5.0, 2**31, 100_000))
    (found,) = run(pool, "import os; return dict(os.environ)")
    assert "PATH" in found  # type: ignore[operator]
    assert "PENSTOCK_TEST_SECRET" not in found  # type: ignore[operator]
    pool.close()


def test_times_without_a_zone_are_in_utc_and_enums_are_their_values(pool: HandlerPool) -> None:
    source = """
from datetime import datetime
from enum import Enum
from pydantic import BaseModel
class Color(str, Enum):
    red = "#f00"
class Row(BaseModel):
    color: Color
    at: list[datetime]
def HANDLER(client):
    return [*client.query.execute("", {"c": Color.red}), Row(color="#f00", at=[datetime(2026, 1, 2)])]
"""

    def answer(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
        return [variables]

    rows = pool.run(HandlerCall(source, "HANDLER", {}), answer)
    assert rows == [{"c": ["text", "#f00"]}, {"color": "#f00", "at": ["2026-01-02T00:00:00Z"]}]


def test_values_of_all_kinds_become_variables(pool: HandlerPool) -> None:
    found: list[Json] = []

    def answer(text: str, variables: Json) -> Sequence[Mapping[str, object]]:
        found.append(variables)
        return []

    source = """
import datetime, decimal, uuid
def HANDLER(client):
    at = datetime.datetime(2026, 1, 2, 3, 4, 5)
    east = at.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    values = [None, True, 2**70, 0.5, decimal.Decimal("1.50"), uuid.UUID(int=7), at, east, at.date(), (1, "a")]
    client.query.execute("", {f"v{at}": each for at, each in enumerate(values)})
    return []
"""
    pool.run(HandlerCall(source, "HANDLER", {}), answer)
    assert list(found[0].values()) == [
        ["null", ""],
        ["bool", "true"],
        ["int", str(2**70)],
        ["float", "0.5"],
        ["decimal", "1.50"],
        ["text", "00000000-0000-0000-0000-000000000007"],
        ["time", "2026-01-02 03:04:05.000000"],
        ["moment", "2026-01-02 01:04:05.000000"],
        ["date", date(2026, 1, 2).isoformat()],
        ["list", [["int", "1"], ["text", "a"]]],
    ]


def test_a_call_that_takes_too_long_is_ended_and_frees_its_place() -> None:
    pool = HandlerPool(HandlerLimits(1, 1.0, 2**31, 100_000))
    for body in ("while True: pass", "import time; time.sleep(60)", "import signal; signal.pause()"):
        with pytest.raises(Timeout):
            run(pool, body)
    begun = f"import os, time; os.write({CONNECTION}.fileno(), bytes(2)); time.sleep(60)"
    with pytest.raises(HandlerFailed, match="in the middle of a message"):
        run(pool, begun)
    asks = f'while True: {CONNECTION}.send_bytes(b\'{{"call": 1, "query": 1}}\')'
    with pytest.raises(PenstockError):
        run(pool, asks)
    pool.close()
    with pytest.raises(Unavailable):
        run(pool, "return []")


def test_calls_run_side_by_side_and_leave_no_process() -> None:
    pool = HandlerPool(HandlerLimits(2, 30.0, 2**31, 100_000))
    found: list[Sequence[object]] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(run(pool, f"return [{{'n': {n}}}]"))) for n in range(20)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(str(each) for each in found) == sorted(f"[{{'n': {n}}}]" for n in range(20))
    before = _handler_processes()
    pool.close()
    assert len(before - _handler_processes()) in (1, 2)


def _handler_processes() -> set[int]:
    children = psutil.Process().children()
    return {each.pid for each in children if any("handler_process" in part for part in each.cmdline())}


def test_the_end_of_a_process_is_noticed_at_once_whatever_it_says(pool: HandlerPool) -> None:
    began = time.monotonic()
    for status in (0, 1, 77):
        with pytest.raises(HandlerFailed, match="the process of `HANDLER` ended"):
            run(pool, f"import os; os._exit({status})")
    assert time.monotonic() - began < 3 * 5.0, "each would take its limit"
    assert run(pool, "return [{'a': 1}]") == [{"a": 1}]
