"""Crash at the n-th time that a crash point is reached, open the folder again in each of three ways, compare.

In: a kind of change, a crash point, a number. Out: `Example`, which says where it crashed and which of the three ways
had something to do. Every example begins with the same folder at the same path, and each of the three ways with the
same remains of the crash.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.expected_rows import Kind
from chaos.project_versions import V1
from chaos.server_life import Died, Life
from chaos.version_walk import OUTCOMES, Client, Outcome, Walk, Way, check, layout
from penstock.deploy.lifecycle.deployer import DeployOptions

POINTS = ("state.before", "state.after", "lake.before", "lake.after")
SCRATCH = ("tmp", "spark-warehouse")
Layout = dict[str, tuple[object, ...]]


@dataclass(frozen=True)
class Crash:
    """In a change of this kind, on this way, the n-th time that this point is reached."""

    kind: Kind
    way: Way
    point: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind}, {self.way}, {self.point} {self.number}"


@dataclass(frozen=True)
class Example:
    """`place` is the code that died, empty where the walk ended before; `outcomes` are those that had
    something to do."""

    crash: Crash
    place: str = ""
    outcomes: tuple[Outcome, ...] = ()


class Laboratory:
    """A folder with the first version live, and copies of it."""

    def __init__(self, folder: Path):
        self.home, self._fresh, self._remains = folder / "home", folder / "fresh", folder / "remains"
        self._first: Client | None = None
        self._layout: Layout = {}

    def prepare(self) -> None:
        """Version 1, live, with some rows."""
        self.home.mkdir()
        life = Life(self.home)
        walk = Walk(life, Client("first"))
        made = life.call(lambda: walk.pipeline.deployer.deploy(V1, DeployOptions()))
        for _ in walk.pipeline.deployer.events(made.id):
            pass
        for _ in range(4):
            walk.post()
        walk.complete()
        check(walk)
        self._layout, self._first = layout(walk), walk.client
        life.end()
        _copy(self.home, self._fresh)

    @contextmanager
    def alive(self, kind: Kind) -> Iterator[Walk]:
        """The folder, opened, for a client who goes to a version of this kind."""
        assert self._first is not None, "prepare comes first"
        _copy(self._fresh, self.home)
        life = Life(self.home)
        try:
            yield Walk(life, Client(kind, list(self._first.kept)))
        finally:
            life.end()

    def crash(self, at: Crash, outcomes: tuple[Outcome, ...] = OUTCOMES) -> Example:
        """Die there, then go on in each of the ways."""
        assert self._first is not None, "prepare comes first"
        _copy(self._fresh, self.home)
        client = Client(at.kind, list(self._first.kept))
        place = self._die(client, at)
        if not place:
            return Example(at)
        _copy(self.home, self._remains)
        return Example(at, place, tuple(each for each in outcomes if self._goes_on(client.copy(), each)))

    def _die(self, client: Client, at: Crash) -> str:
        """Where the life died; empty if it did not, and then everything was right."""
        life = Life(self.home)
        try:
            if at.way == "promote":
                life.arm(at.point, at.number)
            walk = Walk(life, client)
            if at.way == "promote":
                walk.whole()
            else:
                walk.until_ready()
                life.arm(at.point, at.number)
                walk.given_up()
            check(walk)
        except Died:
            return life.place
        finally:
            life.end()
        return ""

    def _goes_on(self, client: Client, outcome: Outcome) -> bool:
        _copy(self._remains, self.home)
        life = Life(self.home)
        try:
            walk = Walk(life, client)
            done = walk.afterwards(outcome)
            if done:
                check(walk)
                if outcome == "discard":
                    assert layout(walk) == self._layout
            return done
        finally:
            life.end()


def _copy(source: Path, target: Path) -> None:
    """All but Spark's scratch files, which are of the SparkContext and not of a life."""
    target.mkdir(exist_ok=True)
    for each in target.iterdir():
        if each.is_dir() and each.name not in SCRATCH:
            shutil.rmtree(each)
        elif not each.is_dir():
            each.unlink()
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*SCRATCH), dirs_exist_ok=True)
