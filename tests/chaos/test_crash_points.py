"""A crash before and after every write of the store and every change of a table, and three ways to go on.

`make chaos` takes every time that each point is reached in each kind of change (hours); CI takes a few of them, drawn
with a seed.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from chaos.expected_rows import Kind
from chaos.laboratory import POINTS, Crash, Example, Laboratory
from chaos.results import record
from chaos.version_walk import WAYS, Way

KINDS: tuple[Kind, ...] = ("copied", "bridged", "keyed")
SPAN = {"promote": 55, "discard": 12}
"""About as many writes of the store, and changes of tables, as a walk has on each way. A sample beyond its
end is a walk without a crash, and is compared all the same."""
SAMPLES = 4
MOST = 250


def samples(seed: int) -> list[Crash]:
    """Each kind of change, each way and each point at least once, at drawn times."""
    draw = random.Random(seed)
    points = [*POINTS, *draw.sample(POINTS, SAMPLES - len(POINTS))]
    draw.shuffle(points)
    ways = [WAYS[at % 2] for at in range(SAMPLES)]
    return [Crash(KINDS[at % 3], ways[at], points[at], draw.randint(1, SPAN[ways[at]])) for at in range(SAMPLES)]


DRAWN = samples(seed=11)
QUICK = 2


@pytest.mark.bounded
@pytest.mark.parametrize(
    "at", [*DRAWN[:QUICK], *(pytest.param(each, marks=pytest.mark.slow) for each in DRAWN[QUICK:])], ids=str
)
def test_a_crash_and_every_way_to_go_on(laboratory: Laboratory, at: Crash) -> None:
    example = laboratory.crash(at)
    record("crash points", str(at), {"place": example.place, "outcomes": list(example.outcomes)})


WRITING = [
    Crash("bridged", "promote", point, 1) for point in ("settle.committed", "rewrite.written", "rewrite.committed")
]
"""While the columns of a bridge are written into the files, before the version is ready."""


@pytest.mark.bounded
@pytest.mark.parametrize(
    "at", [WRITING[0], *(pytest.param(each, marks=pytest.mark.slow) for each in WRITING[1:])], ids=str
)
def test_a_crash_while_columns_are_materialized(laboratory: Laboratory, at: Crash) -> None:
    example = laboratory.crash(at)
    record("crash points", str(at), {"place": example.place, "outcomes": list(example.outcomes)})
    assert {"resume", "discard"} <= set(example.outcomes), "the version was not ready yet"


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_crash_and_every_way_to_go_on(laboratory: Laboratory, kind: Kind, way: Way, point: str) -> None:
    """Until the walk ends without coming to the point once more. A failure does not end the search."""
    examples, failures = search(laboratory, kind, way, point)
    places = Counter(example.place for example in examples)
    outcomes = Counter(each for example in examples for each in example.outcomes)
    figures = {"crashes": len(examples) + len(failures), "failures": len(failures)}
    told = {**figures, "outcomes": dict(outcomes), "places": dict(places)}
    record("crash points", f"{kind} {way} {point}", told)
    assert not failures, "\n\n".join(failures)
    assert examples, "the point was never reached"


def search(laboratory: Laboratory, kind: Kind, way: Way, point: str) -> tuple[list[Example], list[str]]:
    """The crashes after which all was right, and what was wrong after the others."""
    examples: list[Example] = []
    failures: list[str] = []
    for number in range(1, MOST):
        at = Crash(kind, way, point, number)
        try:
            example = laboratory.crash(at)
        except Exception as failure:
            failures.append(f"{at}: {type(failure).__name__}: {str(failure)[:2000]}")
            print(failures[-1], flush=True)
            continue
        if not example.place:
            return examples, failures
        examples.append(example)
    raise AssertionError("the walk never ends without a crash\n\n" + "\n\n".join(failures))
