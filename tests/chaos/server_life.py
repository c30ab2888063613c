"""One life of a server inside this process: it opens a folder, and can die at a crash point.

In: the folder of a project. Out: `Life`. When a life has ended, no thread of it runs any more, so nothing of it is
written into the folder of the next life. A real `kill -9` costs ten seconds of starting Java; here the process keeps
its SparkContext, and each life has a Spark session, a catalog and connections of its own, as a restarted server has.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from penstock import crash_points
from penstock.deploy.pipeline import Pipeline
from penstock.lake.spark.names import CATALOG
from penstock.model.settings import Settings, SparkSettings

T = TypeVar("T")
PATIENCE = 90.0
BETWEEN = ("crash_points", "database", "commit")
"""Modules that write for others: who asked them is the place."""
OURS = (
    "flows",
    "materializer",
    "deployment",
    "inbox",
    "split",
    "worker",
    "sweep",
    "drift",
    "window",
    "outgrow",
    "call",
    "limited",
    "maintenance",
    "memory",
    "copies",
    "schedule",
    "candidate",
    "read",
)
SETTINGS = Settings(spark=SparkSettings(master="local[2]", driver_memory="1g"))


class Died(Exception):
    """The life has ended at the crash point that was armed."""


class _Dead(set[str]):
    """The tables that steps are busy with, once everything is over: whoever waits for one ends."""

    def __and__(self, other: object) -> set[str]:
        raise crash_points.Crashed("a wait for a table")


class Life:
    """A pipeline over a folder. `place` says where it died: the code that was about to write, or had."""

    def __init__(self, home: Path):
        self._home = home
        self._before = set(threading.enumerate())
        self._died = threading.Event()
        self._pipeline = Pipeline.__new__(Pipeline)  # kept, however far the opening comes
        self.place = ""

    def arm(self, point: str, at: int) -> None:
        crash_points.arm(point, at, self._die)

    def open(self) -> Pipeline:
        """Raises Died."""
        _fresh_session()
        self.call(lambda: self._pipeline.__init__(SETTINGS, self._home))  # type: ignore[misc]
        return self._pipeline

    def call(self, action: Callable[[], T]) -> T:
        """What an HTTP call does: it has a thread of its own, and no answer if the server dies first.
        Raises Died, and whatever the action raises."""
        answers: list[T] = []
        failures: list[Exception] = []

        def run() -> None:
            try:
                answers.append(action())
            except Exception as failure:
                failures.append(failure)

        thread = threading.Thread(target=run, name="call", daemon=True)
        thread.start()
        deadline = time.monotonic() + PATIENCE
        while thread.is_alive() and not self._died.is_set():
            assert time.monotonic() < deadline, "a call does not end"
            thread.join(0.005)
        if self._died.is_set():
            raise Died
        if failures:
            raise failures[0]
        return answers[0]

    def end(self) -> None:
        """Be gone, as after a kill: what waits is told so, what works ends at its next write."""
        if not self._died.is_set():
            _doom()
        _let_go(self._pipeline)
        deadline = time.monotonic() + PATIENCE
        for thread in filter(_ours, set(threading.enumerate()) - self._before):
            # Each of them: a connection that is closed later would delete the next life's WAL file by its name.
            while thread.ident is None and thread in threading.enumerate():
                time.sleep(0.001)  # it is being started
            if thread.ident is not None:
                thread.join(max(deadline - time.monotonic(), 0.1))
            assert not thread.is_alive(), f"{thread.name} lives on"
        _close(self._pipeline)
        crash_points.disarm()

    def _die(self) -> None:
        self.place = _place()
        self._died.set()


def quiet(args: threading.ExceptHookArgs) -> None:
    """For `threading.excepthook`: a thread that a crash ended has nothing to tell."""
    if not issubclass(args.exc_type, crash_points.Crashed):
        threading.__excepthook__(args)


def _doom() -> None:
    """Every point is the end from now on."""
    crash_points.arm("end", 1, lambda: None)
    try:
        crash_points.crash_point("end")
    except crash_points.Crashed:
        return


def _ours(thread: threading.Thread) -> bool:
    """What a life has begun; Spark's and py4j's own threads stay."""
    return thread.name.startswith(OURS)


def _let_go(pipeline: Pipeline) -> None:
    """Wake what waits, so that it ends. Writes nothing. An opening that died has not made all parts."""
    parts = pipeline.__dict__
    if "core" in parts:
        for waiting in (parts["core"].flows.scheduler, parts["core"].flows.worker):
            with waiting._changed:
                waiting._stopping = True
                waiting._busy = _Dead()
                waiting._changed.notify_all()
    for part in parts.values():
        stop = getattr(part, "_stop", None)
        if isinstance(stop, threading.Event):
            stop.set()
    if "monitor" in parts:
        parts["monitor"].stop()
    if "inbox" in parts:
        for writer in parts["inbox"]._writers.values():
            writer._waiting.put(None)


def _close(pipeline: Pipeline) -> None:
    """Give back what a process gives back by ending."""
    core = pipeline.__dict__.get("core")
    if core is not None:
        for session in (core.warehouse.lake.spark, core.warehouse.lake.bulk):
            SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
            manager = session._jsparkSession.sessionState().catalogManager()
            manager.catalog(CATALOG).icebergCatalog().close()
        core.warehouse.lake.catalog.close()
    if "database" in pipeline.__dict__:
        pipeline.database.close()


def _fresh_session() -> None:
    """The next session is a new one, of the SparkContext there is."""
    session = SparkSession._instantiatedSession
    if session is not None and session._sc._jsc is not None:
        sessions = SparkSession._get_j_spark_session_class(session._jvm)
        sessions.clearDefaultSession()
        sessions.clearActiveSession()
        SparkSession._instantiatedSession = None


def _place() -> str:
    """The innermost code of Penstock that is under way, without what writes for all."""
    frame = sys._getframe()
    while frame.f_back is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("penstock.") and module.rpartition(".")[2] not in BETWEEN:
            return f"{module.removeprefix('penstock.')}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"
