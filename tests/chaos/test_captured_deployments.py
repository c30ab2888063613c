"""Penstock's server is killed at the steps of its deployment journal while a capture delivers rows of a real Postgres
into its landing, and phases of migrations are applied around Postgres's own: in the end each table is as in Postgres at
its last LSN, and no change is lost or there twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.killable_server import Server
from chaos.results import record
from penstock.postgres.migration.operation import Phase
from postgres_capture.conftest import Source, postgres, source  # noqa: F401 - fixtures
from postgres_capture.deployment_world import World
from postgres_capture.penstock_side import PenstockSide

SETTINGS = '[server]\nmax_query_seconds = 120\n[spark]\nmaster = "local[2]"\ndriver_memory = "1g"\n'
KINDS = ("default", "rename", "swap", "widen", "drop", "add", "again")
STEPS = ("step.intended", "step.ran", "step.journalled")
ONCE = ("activate.bound", "promote.held", "promote.swapped")
ROWS = ("inbox.written", "inbox.logged", "landing.committed")
EVERY = [
    *(f"{point}:{number}" for number in range(1, 9) for point in STEPS),
    *(f"{point}:{number}" for number in (1, 2) for point in ONCE),
    *(f"{point}:{number}" for number in (1, 3) for point in ROWS),
    "settle.committed:1",  # seldom: first after many swaps, as a column that is only another one stays computed
    *(f"{point}:{number}" for number in (3, 9, 27, 81) for point in ("state.before", "state.after")),
]
"""Points with the time that each is reached in a life of the server, in which it then dies."""
FIRST = "promote.swapped:2"
"""The first promotion makes the table, and the second is of the first phase."""
LONGER_SAMPLE = [FIRST, "inbox.logged:3", "step.journalled:3"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server whose first life ends at the first promotion of a phase."""
    (tmp_path / "penstock.toml").write_text(SETTINGS)
    made = Server(tmp_path)
    made.start({"PENSTOCK_FAULT": FIRST})
    made.ready()
    yield made
    made.stop()


def walk(server: Server, source: Source, faults: list[str]) -> tuple[int, int]:  # noqa: F811
    """Deployments until the server has died at each fault, of which its first life has the first; how many kills and
    migrations there were."""
    side = PenstockSide(server, faults[1:])
    world = World(source, side)
    ids = itertools.cycle((1, 2, 3, 4, 5))
    try:
        for number, kind in enumerate(itertools.cycle(KINDS)):
            world.develop(kind, number, number + 1)
            for phase in Phase:
                world.write([(next(ids), 3), (next(ids), 2), (next(ids), number % 3)])
                side.revive()
                world.apply(phase)
                world.migrate()
            world.settle(lambda: world.write([(next(ids), 2), (next(ids), 3)]))
            if server.kills == len(faults):
                break
        world.check()
    finally:
        world.close()
    return server.kills, len(world.migrations)


@pytest.mark.bounded
@pytest.mark.timeout(900)
def test_a_deployment_whose_server_is_killed_while_rows_are_captured(server: Server, source: Source) -> None:  # noqa: F811
    assert walk(server, source, [FIRST])[0] == 1


@pytest.mark.slow
@pytest.mark.bounded
@pytest.mark.timeout(900)
def test_several_kills_while_rows_are_captured(server: Server, source: Source) -> None:  # noqa: F811
    assert walk(server, source, LONGER_SAMPLE)[0] == len(LONGER_SAMPLE)


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
def test_a_kill_at_every_step_while_rows_are_captured(server: Server, source: Source) -> None:  # noqa: F811
    kills, migrations = walk(server, source, [FIRST, *EVERY])
    record("captured deployments", "every step", {"kills": kills, "migrations": migrations})
    assert kills == len(EVERY) + 1
