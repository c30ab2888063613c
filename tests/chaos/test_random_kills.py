"""`kill -9` at random moments of an operator's loop, under a producer at full speed and two readers.

`make chaos` does 50 runs, `make test-slow` a shorter one. The moments are drawn with the run's number as seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chaos.clients import PATIENCE, Operator, Reader
from chaos.killable_server import Producer, Server, served
from chaos.project_versions import marked
from chaos.results import FULL, record

RUNS, KILLS, VERSIONS = (range(50), 4, 2) if FULL else (range(1), 2, 1)
TABLES = {
    "events": "SELECT count() AS rows, uniqExact(id) AS different, sum(id) AS total FROM events",
    "per_user": "SELECT countMerge(events) AS rows, countMerge(events) AS different, sumMerge(ids) AS total"
    " FROM per_user",
}


def row(number: int) -> dict[str, object]:
    return {"id": number, "user": f"u{number % 7}"}


def _has_children(seed: int) -> bool:
    """Such a run takes some eight minutes on two cores, another one two or three."""
    return seed % 5 == 3


@pytest.fixture
def server(tmp_path: Path, seed: int) -> Iterator[Server]:
    """Each fifth one fills its histories in processes of their own, however small they are. They do not yield to
    live, whose rows always wait under a producer at full speed. What readers are told is looked at, not how long it
    takes on a machine that has other work too."""
    files = marked(1)
    patient = "\n[server]\nmax_query_seconds = 80\n"
    apart = "\n[backfill]\nown_process_bytes = 0\nyield_after_seconds = 3600\n" if _has_children(seed) else ""
    yield from served(tmp_path, files | {"penstock.toml": files["penstock.toml"] + patient + apart})


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", RUNS)
def test_kills_at_random(server: Server, seed: int) -> None:
    started = time.monotonic()
    moments = random.Random(seed)
    server.until(server.deploy(marked(1), promote=True), "live")
    producer = Producer(server, "events", row)
    producer.start()
    seen(server, 1)
    readers, operator = [Reader(server, "sql"), Reader(server, "endpoint")], Operator(server, VERSIONS)
    for worker in (*readers, operator):
        worker.start()
    # In a run with children every second kill is one of theirs.
    attacks = [kill_child if _has_children(seed) and number % 2 else kill_server for number in range(KILLS)]
    children = sum(attack(server, moments, operator) for attack in attacks)
    operator.join(PATIENCE)
    operator.finish()
    posted = producer.finish()
    lost, doubled = compared(server, posted)
    for reader in readers:
        reader.finish()
    figures = {"kills": server.kills, "children": children, "rows": posted, "lost": lost, "doubled": doubled}
    answers = sum(reader.answers for reader in readers)
    record("random kills", str(seed), {**figures, "answers": answers, "seconds": round(time.monotonic() - started)})
    assert (lost, doubled) == (0, 0)
    assert answers > 0
    assert server.kills > 0


def kill_server(server: Server, moments: random.Random, operator: Operator) -> int:
    """Unless the operator is done. Returns how many children were killed by themselves."""
    time.sleep(moments.uniform(0.5, 6.0))
    if operator.failure is None and operator.is_alive():
        server.kill()
        server.start()
        server.ready()
    return 0


def kill_child(server: Server, moments: random.Random, operator: Operator) -> int:
    """The process that fills a table, which the server lives on without. Returns how many there were."""
    children = awaited(server, moments.uniform(0.0, 30.0), operator)
    for child in children:
        child.kill()
    return len(children)


def awaited(server: Server, seconds: float, operator: Operator) -> list[psutil.Process]:
    """The children, so long after the first of them began: it takes half a minute until Java has started, and then
    some seconds a step."""
    while operator.is_alive() and not fillers(server):
        time.sleep(0.1)
    time.sleep(seconds)
    return fillers(server)


def fillers(server: Server) -> list[psutil.Process]:
    """The server's children that are Penstock's own: each fills a table for it."""
    assert server.process is not None
    try:
        children = psutil.Process(server.process.pid).children()
        return [child for child in children if "penstock." in " ".join(child.cmdline())]
    except psutil.NoSuchProcess:
        return []


def compared(server: Server, posted: int) -> tuple[int, int]:
    """Rows lost and rows doubled, in every table of live and of the version before it."""
    lost = doubled = 0
    for deployment in ("live", "previous"):
        seen(server, posted, deployment)
        for query in TABLES.values():
            found = {key: int(str(value)) for key, value in server.sql(query, deployment)[0].items()}
            lost += posted - found["different"]
            doubled += found["rows"] - found["different"]
            assert found["total"] == posted * (posted - 1) // 2, (deployment, query, found)
    return lost, doubled


def seen(server: Server, rows: int, deployment: str = "live") -> None:
    """Wait until so many rows are in the last table of a version."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and int(str(server.sql(TABLES["per_user"], deployment)[0]["rows"])) < rows:
        time.sleep(0.2)
