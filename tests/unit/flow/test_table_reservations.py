"""Reservations: nobody steps into a reserved table, all are granted in order, and none waits for ever."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from penstock.flow.table_reservations import Reservation, TableReservations

TABLES = ("a", "b", "c", "d")
tables = st.sampled_from(TABLES)
sets_of_tables = st.sets(tables, min_size=1)


class Reserving(RuleBasedStateMachine):
    """Steps, reservations and a worker process at random, beside a list of what was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.real = TableReservations()
        self.steps: set[str] = set()
        self.asked: list[Reservation] = []
        self.excluded: set[str] = set()

    def is_wanted(self, table: str) -> bool:
        return table in self.steps or table in self.excluded or any(table in each.tables for each in self.asked)

    @rule(table=tables)
    def begin_a_step_if_free(self, table: str) -> None:
        assert self.real.is_free(table) == (not self.is_wanted(table))
        if self.real.is_free(table):
            self.real.begin_step(table)
            self.steps.add(table)

    @precondition(lambda self: self.steps)
    @rule(data=st.data())
    def end_a_step(self, data: st.DataObject) -> None:
        table = data.draw(st.sampled_from(sorted(self.steps)))
        self.real.end_step(table)
        self.steps.discard(table)

    @rule(wanted=sets_of_tables)
    def reserve(self, wanted: set[str]) -> None:
        self.asked.append(self.real.reserve(wanted))

    @precondition(lambda self: self.asked)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.asked))
        self.asked.remove(gone)
        freed = self.real.release(gone)
        assert set(freed) == {table for table in gone.tables if not self.is_wanted(table)}

    @rule(wanted=st.sets(tables))
    def exclude(self, wanted: set[str]) -> None:
        before, self.excluded = self.excluded, wanted
        freed = self.real.exclude(wanted)
        assert set(freed) == {table for table in before - wanted if not self.is_wanted(table)}
        assert self.real.has_excluded_step() == bool(wanted & self.steps)

    @invariant()
    def those_are_granted_that_nobody_is_before(self) -> None:
        for place, each in enumerate(self.asked):
            before = {table for other in self.asked[:place] for table in other.tables}
            assert self.real.is_granted(each) == each.tables.isdisjoint(before | self.steps)

    def teardown(self) -> None:
        """However tables were kept busy: once the running steps end, all reservations are granted one after another."""
        for table in self.steps:
            self.real.end_step(table)
        while self.asked:
            granted = [each for each in self.asked if self.real.is_granted(each)]
            assert self.asked[0] in granted
            for each in granted:
                self.asked.remove(each)
                self.real.release(each)
        assert all(self.real.is_free(table) for table in TABLES if table not in self.excluded)


TestReserving = Reserving.TestCase
TestReserving.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_running_step_is_known_by_its_table() -> None:
    tables = TableReservations()
    tables.begin_step("a")
    tables.reserve(["b"])
    assert tables.has_step(["b", "a"])
    assert not tables.has_step(["b"])
    tables.end_step("a")
    assert not tables.has_step(["a", "b"])
