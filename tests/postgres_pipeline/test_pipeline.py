"""A landing data source and two views in a chain with everything in Postgres: deployed, fed, changed, promoted, rolled
back and restarted; and what happens when Postgres goes away.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from penstock.errors import PenstockError
from postgres_pipeline.conftest import Server
from postgres_proxy import PostgresProxy
from postgres_server import PASSWORD, Postgres
from waiting import wait_until

LANDING = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `code` String `json:$.code`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
KEPT = """SCHEMA >
    `id` UInt32,
    `code` String

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
COUNTS = """SCHEMA >
    `code` String,
    `n` AggregateFunction(count)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY code
"""
FILES: dict[str, str | None] = {
    "datasources/rows.datasource": LANDING,
    "datasources/kept.datasource": KEPT,
    "datasources/counts.datasource": COUNTS,
    "pipes/keep.pipe": "NODE n\nSQL >\n    SELECT id, code FROM rows\nTYPE materialized\nDATASOURCE kept\n",
    "pipes/count.pipe": "NODE n\nSQL >\n    SELECT code, countState() AS n FROM kept GROUP BY code\n"
    "TYPE materialized\nDATASOURCE counts\n",
}
CHANGED = "NODE n\nSQL >\n    SELECT id, upper(code) AS code FROM rows\nTYPE materialized\nDATASOURCE kept\n"
TABLES = ("rows", "kept")


@pytest.fixture(scope="session")
def posted(server: Server) -> list[int]:
    """The ids of all rows that were acknowledged. The pipeline is live from the first test on that asks for it."""
    assert server.deploy(FILES).state == "live"
    return []


def post(server: Server, posted: list[int], count: int) -> None:
    ids = list(range(len(posted), len(posted) + count))
    server.post("rows", [{"id": id, "code": "ab"[id % 2]} for id in ids])
    posted += ids


def counted(server: Server, deployment: str = "live") -> dict[object, object]:
    query = "SELECT code, countMerge(n) FROM counts GROUP BY code"
    return dict(server.ask(query, deployment))  # type: ignore[arg-type]


def is_exact(server: Server, posted: list[int], deployment: str = "live") -> None:
    for table in TABLES:
        assert [id for (id,) in server.ask(f"SELECT id FROM {table} ORDER BY id", deployment)] == posted, table
    halves = [len([id for id in posted if id % 2 == half]) for half in (0, 1)]
    assert sorted(counted(server, deployment).items()) in (
        [("a", halves[0]), ("b", halves[1])],
        [("A", halves[0]), ("B", halves[1])],
    )


def settled(ask: Callable[[], None], within: float = 60.0) -> None:
    """Until it holds; flows that failed are tried again after a while."""
    end = time.monotonic() + within
    while True:
        try:
            return ask()
        except (AssertionError, PenstockError):
            if time.monotonic() > end:
                raise
        time.sleep(0.5)


def test_change_promote_rollback_restart(server: Server, posted: list[int]) -> None:
    post(server, posted, 10)
    is_exact(server, posted)
    staged = server.deploy({"pipes/keep.pipe": CHANGED}, promote=False)
    assert staged.state == "ready", staged.error
    post(server, posted, 11)
    is_exact(server, posted)
    is_exact(server, posted, "staging")
    assert set(counted(server)) == {"a", "b"}
    server.promote()
    assert set(counted(server)) == {"A", "B"}
    post(server, posted, 5)
    server.rollback()
    assert set(counted(server)) == {"a", "b"}
    is_exact(server, posted)
    server.restart()
    post(server, posted, 3)
    is_exact(server, posted)
    server.promote()
    is_exact(server, posted)
    assert server.pipeline.deployer.retire(None).state == "retired"


def test_no_password_is_shown(server: Server) -> None:
    told = json.dumps(server.pipeline.status(), default=str)
    assert PASSWORD not in told + repr(server.pipeline.store.find("live"))


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
def test_a_commit_of_a_table_whose_answer_is_lost_is_made_once(
    server: Server, posted: list[int], proxy: PostgresProxy, cut: str
) -> None:
    """The catalog's answer to a commit is lost: the rows are in the table once, with all their files."""
    before = proxy.cuts
    proxy.marker, proxy.cut = b"UPDATE iceberg_tables", cut  # type: ignore[assignment]
    post(server, posted, 7)
    assert proxy.cuts == before + 1
    settled(lambda: is_exact(server, posted))


@pytest.mark.parametrize("cut", ["before the commit", "after the commit"])
def test_a_deployment_goes_on_after_the_catalog_did_not_answer(
    server: Server, posted: list[int], proxy: PostgresProxy, cut: str
) -> None:
    """The answer to the creation of a table is lost. The next use of each other kept connection fails as well."""
    before = proxy.cuts
    proxy.marker, proxy.cut = b"INSERT INTO iceberg_tables", cut  # type: ignore[assignment]
    made = server.deploy({f"datasources/new_{cut[:5].strip()}.datasource": LANDING})
    assert (made.state, made.error) == ("live", None)
    assert proxy.cuts == before + 1
    is_exact(server, posted)


@pytest.mark.slow
def test_postgres_is_gone_for_ten_seconds(server: Server, posted: list[int], postgres: Postgres) -> None:
    """Callers that were told nothing ask again with their key; what was acknowledged is there once."""
    over, refused, before = threading.Event(), list[int](), len(posted)

    def body() -> Iterator[tuple[list[int], bytes]]:
        while not over.is_set():
            ids = list(range(len(posted), len(posted) + 4))
            yield ids, "\n".join(json.dumps({"id": id, "code": "ab"[id % 2]}) for id in ids).encode()

    def run() -> None:
        for ids, lines in body():
            while True:
                try:
                    server.pipeline.ingestion.append("rows", lines, f"key {ids[0]}")
                    break
                except PenstockError as error:
                    refused.append(error.status)
                    time.sleep(0.2)
            posted.extend(ids)
            time.sleep(0.02)

    producer = threading.Thread(target=run, daemon=True)
    producer.start()
    wait_until(lambda: len(posted) > before)
    postgres.stop()
    time.sleep(10)  # how long it is gone
    postgres.start()
    acknowledged = len(posted)
    wait_until(lambda: len(posted) > acknowledged)
    over.set()
    producer.join(60)
    assert not producer.is_alive()
    assert set(refused) <= {503}, "a call waits for the store, or is told that it is away"
    settled(lambda: is_exact(server, posted))
    post(server, posted, 4)
    is_exact(server, posted)
    assert server.deploy({"datasources/later.datasource": LANDING}).state == "live", "connections of before are broken"
