"""What a query and a commit ask of state store and catalog does not depend on how many tables and versions there are,
and a look of maintenance at tables that did not change reads no file."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.serializers import FromInputFile

from deploy.conftest import Running
from deploy.test_lifecycle import project, row
from penstock.lake.drift import recorded_tables

TIMES = 8
"""How often each is counted: the least counts, since some things are done about once a second."""
MOST_ROUNDS = 5
"""On a busy machine all of so many may have met what is done once a second: so often they are counted anew."""
MORE = 6
"""Streams that are added, each with a view: 18 physical tables with their quarantines."""
STEPS = ("flows ",)
"""How the names of the scheduler's threads begin."""


class Calls:
    """Counts statements and files that threads of some names ask for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, running: Running):
        self._counting: Callable[[str], bool] | None = None
        self._found: Counter[str] = Counter()
        catalog = running.pipeline.core.warehouse.lake.catalog
        assert isinstance(catalog, SqlCatalog)
        for name, engine in (("state store", running.pipeline.database.engine), ("catalog", catalog.engine)):
            sa.event.listen(engine, "before_cursor_execute", self._count_statement(name))
        original = FromInputFile.table_metadata

        def read(*given: object) -> object:
            self._count("metadata files")
            return original(*given)  # type: ignore[arg-type]

        monkeypatch.setattr(FromInputFile, "table_metadata", staticmethod(read))

    @contextmanager
    def of(self, counts: Callable[[str], bool]) -> Iterator[Counter[str]]:
        """Count in the block, for threads with these names."""
        self._found = Counter()
        self._counting = counts
        try:
            yield self._found
        finally:
            self._counting = None

    def _count(self, what: str) -> None:
        if self._counting is not None and self._counting(threading.current_thread().name):
            self._found[what] += 1

    def _count_statement(self, name: str) -> Callable[..., None]:
        return lambda *given: self._count(name)


@pytest.fixture
def calls(running: Running, monkeypatch: pytest.MonkeyPatch) -> Calls:
    monkeypatch.setattr(recorded_tables, "CHECK_VALID_SECONDS", 0.0)  # the check of a table is made at each step
    return Calls(monkeypatch, running)


def test_costs_do_not_grow(running: Running, calls: Calls) -> None:
    running.deploy(project("one"))
    running.post("one", [row(0)])
    before = costs(running, calls)
    assert before["commits"]["catalog"], before
    assert before["query"].total() < 10, before
    for number in range(MORE // 2):
        assert running.deploy(project(f"more{number}")).state == "live"
    others = {path: text for number in range(MORE // 2, MORE) for path, text in project(f"more{number}").items()}
    assert running.deploy(others, promote=False).state == "ready"
    for number in range(MORE):
        running.post(f"more{number}", [row(0)])
    after = costs(running, calls)
    for _ in range(MOST_ROUNDS):
        if after == before:
            break
        again = costs(running, calls)
        after, before = ({each: least_of((found[each], again[each])) for each in again} for found in (after, before))
    assert after == before


def costs(running: Running, calls: Calls) -> Mapping[str, Counter[str]]:
    """What a query, an endpoint, and the two commits of a posted row ask for."""
    own = threading.current_thread().name
    return {
        "query": least(calls, own.__eq__, lambda: running.ask("SELECT count() FROM one")),
        "endpoint": least(calls, own.__eq__, lambda: running.pipeline.reader.endpoint("one_answer", {}, "live")),
        "commits": least(calls, lambda name: name.startswith(STEPS), lambda: running.post("one", [row(1)])),
    }


def least(calls: Calls, counts: Callable[[str], bool], run: Callable[[], object]) -> Counter[str]:
    found: list[Counter[str]] = []
    for _ in range(TIMES):
        with calls.of(counts) as counted:
            run()
        found.append(counted)
    return least_of(found)


def least_of(found: Sequence[Counter[str]]) -> Counter[str]:
    return Counter({what: min(each[what] for each in found) for counted in found for what in counted})


def test_a_look_at_tables_that_did_not_change_reads_no_file(running: Running, calls: Calls) -> None:
    maintenance = running.pipeline.maintenance
    running.deploy(project("looked"))
    running.post("looked", [row(0)])
    tables = len(running.pipeline.core.warehouse.lake.catalog.list_tables("penstock"))
    least(calls, threading.current_thread().name.__eq__, maintenance.run_round)
    found = least(calls, threading.current_thread().name.__eq__, maintenance.run_round)
    assert found["metadata files"] == 0
    assert found["state store"] <= 20, "whatever the number of tables"
    assert found["catalog"] <= 4 * tables


def test_a_check_for_drift_reads_each_file_once(running: Running, calls: Calls) -> None:
    running.deploy(project("checked"))
    running.post("checked", [row(0)])
    found = least(calls, threading.current_thread().name.__eq__, running.pipeline.drift.run_once)
    assert found["metadata files"] == 0
