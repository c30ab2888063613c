"""`kill -9` in the middle of everything: each acknowledged row is in every table once.

Two kinds of kill: at exact points (right after a commit or a journal write, by PENSTOCK_FAULT) and
at random times. After each the server starts again and goes on by itself.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from chaos.killable_server import Producer, Server, served
from chaos.project_versions import CHOSEN, KEPT, QUERIES, V1, V2, V3, row


def check(server: Server, posted: int, deployment: str) -> None:
    """Every table of a deployment against what was posted."""
    fitting = [number for number in range(posted) if number % 50]
    truth = {"rows": len(fitting), "ids": len(fitting), "total": sum(fitting)}
    for name, query in QUERIES.items():
        found = server.sql(query, deployment)[0]
        assert found == {key: truth[key] for key in found}, (name, deployment)


def settled(server: Server, posted: int, *deployments: str) -> None:
    """Wait until the last row is two views away in each version, then check everything."""
    fitting = sum(1 for number in range(posted) if number % 50)
    for deployment in deployments:
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline and server.sql(QUERIES["total"], deployment)[0]["rows"] != fitting:
            time.sleep(0.3)
        check(server, posted, deployment)
    quarantined = server.sql("SELECT count() AS rows FROM events_quarantine")[0]["rows"]
    assert quarantined == posted - fitting


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    yield from served(tmp_path, V1)


def restart_with(server: Server, fault: str) -> None:
    """Stop kindly, start again with a crash point armed."""
    server.stop()
    server.start({"PENSTOCK_FAULT": fault})
    server.ready()


def die_at(server: Server, faults: tuple[str, ...]) -> None:
    """One server life a crash point, each started where the one before died; then one that lives."""
    for fault in faults:
        server.start({"PENSTOCK_FAULT": fault})
        server.died(90)
    server.start()
    server.ready()


def test_killed_at_every_kind_of_commit(server: Server) -> None:
    """Rows are posted all the while."""
    assert server.until(server.deploy(V1, promote=True), "live") == "live"
    producer = Producer(server, "events", row)
    producer.start()
    server.stop()
    die_at(
        server,
        ("landing.committed:3", "append.written:3", "quarantine.committed:2", "view.committed:4", "inbox.written:20"),
    )
    settled(server, producer.finish(), "live")


@pytest.mark.full
def test_killed_while_a_deployment_is_carried_out(server: Server) -> None:
    """Version 2 is made under fire: at a journal write, at its activation, during the copy, at the
    switch."""
    assert server.until(server.deploy(V1, promote=True), "live") == "live"
    producer = Producer(server, "events", row)
    producer.start()
    producer.more()
    restart_with(server, "step.ran:1")
    second = server.deploy(V2, promote=False)
    server.died(90)
    die_at(server, ("activate.bound:1", "copy.committed:1"))
    server.until(second, "ready")
    restart_with(server, "promote.swapped:1")
    with pytest.raises(httpx.TransportError), server.client() as client:
        client.post(f"/v1/deployments/{second}/set-live")
    server.died(90)
    server.start()
    server.ready()
    assert server.state(second) == "live"
    posted = producer.finish()
    settled(server, posted, "live", "previous")
    assert server.insist(lambda client: client.post("/v1/deployments/rollback")).status_code == 200
    settled(server, posted, "live", "staging")


@pytest.mark.full
def test_killed_while_a_view_is_recomputed_and_columns_are_materialized(server: Server) -> None:
    """Version 3 is made under fire, and killed again when the first piece is settled, before it is ready."""
    assert server.until(server.deploy(V1, promote=True), "live") == "live"
    producer = Producer(server, "events", row)
    producer.start()
    producer.more()
    restart_with(server, "step.ran:1")
    third = server.deploy(V3, promote=False)
    server.died(90)
    die_at(server, ("activate.bound:1", "view.committed:2", "settle.committed:1"))
    server.until(third, "ready")
    assert server.insist(lambda client: client.post(f"/v1/deployments/{third}/set-live")).status_code == 200
    settled(server, producer.finish(), "live", "previous")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_while_the_rows_that_a_condition_keeps_are_copied(server: Server) -> None:
    """When the copy begins, after its first slice, and after two more."""
    server.stop()
    (server.folder / "penstock.toml").write_text(CHOSEN["penstock.toml"])
    server.start()
    server.ready()
    assert server.until(server.deploy(CHOSEN, promote=True), "live") == "live"
    before, after = Producer(server, "events", row), Producer(server, "events", row)
    before.start()
    before.more(2_000)
    after.acknowledged = before.finish()
    server.until_caught_up()
    restart_with(server, "activate.bound:1")
    kept = server.deploy(KEPT, promote=False)
    server.died(90)
    die_at(server, ("copy.committed:1", "copy.committed:2"))
    server.until(kept, "ready")
    plan = server.insist(lambda client: client.get(f"/v1/deployments/{kept}")).json()["plan"]
    assert next(each["strategy"] for each in plan["resources"] if each["name"] == "chosen") == "forward"
    after.start()
    after.more(1_000)
    posted = after.finish()
    server.until_caught_up()
    assert server.insist(lambda client: client.post(f"/v1/deployments/{kept}/set-live")).status_code == 200
    settled(server, posted, "live", "previous")
    chosen = "SELECT count() AS rows, uniqExact(id) AS ids, sum(id) AS total FROM chosen"
    every = [number for number in range(posted) if number % 50]
    for deployment, wanted in (("live", [each for each in every if each % 7 != 3]), ("previous", every)):
        found = server.sql(chosen, deployment)
        assert found == [{"rows": len(wanted), "ids": len(wanted), "total": sum(wanted)}], deployment


@pytest.mark.full
def test_killed_at_random(server: Server) -> None:
    """Kills at random moments of a deploy, promote, rollback, promote loop."""
    assert server.until(server.deploy(V1, promote=True), "live") == "live"
    producer = Producer(server, "events", row)
    producer.start()
    moments = random.Random(7)
    second = server.deploy(V2, promote=False)
    for _ in range(2):
        time.sleep(moments.uniform(0.0, 4.0))
        server.kill()
        server.start()
        server.ready()
    server.until(second, "ready")
    assert server.insist(lambda client: client.post(f"/v1/deployments/{second}/set-live")).status_code in (200, 409)
    server.kill()
    server.start()
    server.ready()
    posted = producer.finish()
    settled(server, posted, "live", "previous" if server.state(second) == "live" else "staging")


@pytest.mark.full
def test_stopped_in_order_while_a_deployment_is_carried_out(server: Server) -> None:
    """A kind stop is no failure of the deployment, whatever it waits for: it goes on after the start."""
    assert server.until(server.deploy(V1, promote=True), "live") == "live"
    producer = Producer(server, "events", row)
    producer.start()
    producer.more()
    second = server.deploy(V3, promote=False)
    for seconds in (0.3, 0.8):
        time.sleep(seconds)
        server.stop()
        server.start()
        server.ready()
    server.until(second, "ready")
    settled(server, producer.finish(), "live", "staging")
