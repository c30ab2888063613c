"""Phases of several migrations in any legal order, with rows between them that a capture takes to a server of Penstock:
in the end its tables are as those of Postgres, and each change is there once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from chaos.killable_server import Server, served
from postgres_capture.conftest import Source, source  # noqa: F401 - a fixture
from postgres_capture.deployment_world import STEP, World, run_steps
from postgres_capture.penstock_side import PenstockSide
from postgres_capture.repeated_forms import CHANGES, change, there_and_back, two_texts

RELAXED = settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FILES = {"penstock.toml": '[spark]\nmaster = "local[2]"\ndriver_memory = "1g"\n'}


@pytest.fixture(scope="module")
def served_penstock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from served(tmp_path_factory.mktemp("served"), FILES)


@RELAXED
@given(steps=st.lists(STEP, min_size=10, max_size=16))
def test_penstock_ends_as_postgres_is(served_penstock: Server, source: Source, steps: list[tuple[str, Any]]) -> None:  # noqa: F811
    run_steps(World(source, PenstockSide(served_penstock)), steps)


def test_a_consumer_that_is_before_two_changes(served_penstock: Server, source: Source) -> None:  # noqa: F811
    """Behind both of them rows have the form that they had before."""
    world = World(source, PenstockSide(served_penstock))
    try:
        two_texts(world)
        world.producer.stop()
        world.write([(3, 3), (2, 2)])
        for statements in CHANGES["names exchanged"]:
            change(world, statements)
        world.write([(5, 3), (1, 2)])
        world.check()
    finally:
        world.close()


def test_a_reading_that_began_before_both_changes(served_penstock: Server, source: Source) -> None:  # noqa: F811
    """Rows have a form then that they may have had before the first."""
    world = World(source, PenstockSide(served_penstock))
    try:
        source.wait_until_stored(world.side.name)
        world.producer.stop()
        (table,) = source.records.tables()
        source.records.begin_read(table)
        there_and_back(world)
        world.check()
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@settings(RELAXED, max_examples=12, phases=[Phase.explicit, Phase.generate])
@given(steps=st.lists(STEP, min_size=10, max_size=30))
def test_penstock_ends_as_postgres_is_after_many_steps(
    served_penstock: Server,
    source: Source,  # noqa: F811
    steps: list[tuple[str, Any]],
) -> None:
    run_steps(World(source, PenstockSide(served_penstock)), steps)
