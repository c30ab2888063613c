"""What flows need of snapshots and batches; whose rows may be merged; what has expired for everybody."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from penstock.deploy.maintenance.compaction import find_table_merge, merged_rows
from penstock.deploy.maintenance.maintained_tables import MaintainedTable
from penstock.deploy.maintenance.retention import find_retained_data
from penstock.deploy.maintenance.row_ttl import expiry_condition
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.lake.tables.snapshots import Progress, Snapshot, Snapshots
from penstock.model.cursor import BatchCursor, Cursor, HistoryCursor, TailCursor
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Before, Binding, BoundColumn, Copy, Landing, Manifest, Source, Table, View
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing
from penstock.model.types import AggregateFunction, Float, Int, String

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Known:
    """A registry of snapshots given by hand."""

    def __init__(self, **tables: list[tuple[int, dict[str, Cursor]]]):
        self._tables = {
            table: Snapshots(
                tuple(Snapshot(id, True, 1, {flow: Progress(at) for flow, at in said.items()}) for id, said in line)
            )
            for table, line in tables.items()
        }

    def snapshots(self, table: str) -> Snapshots:
        return self._tables.get(table, Snapshots())

    def cursor(self, table: str, flow: str) -> Cursor | None:
        at = self.snapshots(table).progress.get(flow)
        return at.cursor if at else None


class Damaged(Known):
    """A registry in which one table cannot be read."""

    def snapshots(self, table: str) -> Snapshots:
        if table == "damaged":
            raise DamagedTable(table, "its file is empty")
        return super().snapshots(table)


def bound(table: str, keeps: str | None = None, merge: Merge | None = None, name: str = "t") -> Binding:
    columns = (BoundColumn("k", String(), "k"), BoundColumn("v", Int(64), "v"))
    return Binding(name, table, columns, (), keeps, merge)


def view(table: str, source: str, starts: str = "beginning", id: str = "v") -> View:
    return View(id, "p", "n", table, "", Source("x", bound(source)), ("k",), (), starts)  # type: ignore[arg-type]


def deployed(*flows: object, state: DeploymentState = "live", bindings: tuple[Binding, ...] = ()) -> Deployment:
    manifest = Manifest(bindings=bindings, flows=flows)  # type: ignore[arg-type]
    return Deployment(1, "", state, None, NOW, NOW, {}, {}, manifest)


def landing(table: str = "source") -> Landing:
    return Landing("s", table, "v1", ())


def test_what_a_damaged_table_was_read_from_is_kept_whole() -> None:
    registry = Damaged(source=[(1, {"landing.s": BatchCursor(3)}), (2, {"landing.s": BatchCursor(4)})])
    flows = (
        Landing("s", "source", "1", ()),
        view("damaged", "source"),
        Landing("raw", "damaged", "1", ()),
        Landing("raw", "source", "1", ()),
    )
    found = find_retained_data(registry, [deployed(*flows)])  # type: ignore[arg-type]
    assert found.whole_tables == {"source"}
    assert found.passed_batches == {"s": 3, "raw": 0}


def test_what_a_view_has_read_up_to() -> None:
    known = Known(source=[(1, {}), (2, {})], target=[(9, {"v": TailCursor(1)})])
    assert find_retained_data(known, [deployed(view("target", "source"))]).read_snapshots == {"source": {1}}  # type: ignore[arg-type]


def test_the_source_of_a_first_step_is_known_while_it_may_run() -> None:
    """Nothing records with which snapshot it began; it may end between two looks at what flows need."""
    fresh, begun = Known(source=[(1, {})]), Known(source=[(1, {})], target=[(9, {"v": TailCursor(1)})])
    running = [deployed(view("target", "source"))]
    assert find_retained_data(fresh, running, {"target"}).being_begun == {"source"}  # type: ignore[arg-type]
    assert find_retained_data(fresh, running).being_begun == set(), "one that is stuck, or paused, holds up nothing"  # type: ignore[arg-type]
    assert find_retained_data(begun, running, {"target"}).being_begun == set()  # type: ignore[arg-type]


def test_a_first_step_of_a_copy_may_hand_over_cursors_of_any_view() -> None:
    copy = Copy("copy", bound("old"), "new", (), (("v", "v2"),))
    made = deployed(copy, view("new", "above", "placed", "v2"))
    assert find_retained_data(Known(), [made], {"new"}).being_begun == {"old", "above"}  # type: ignore[arg-type]


def test_what_has_ended_needs_nothing() -> None:
    known = Known(source=[(1, {}), (2, {})], target=[(9, {"v": TailCursor(1)})])
    for state in ("failed", "retired", "discarded"):
        assert find_retained_data(known, [deployed(view("target", "source"), state=state)]).read_snapshots == {}  # type: ignore[arg-type]


def test_a_meeting_that_is_waited_for_keeps_everything() -> None:
    found = find_retained_data(Known(source=[(1, {})]), [deployed(view("target", "source", "met"))])  # type: ignore[arg-type]
    assert found.whole_tables == {"source"}


def test_the_landing_before_the_last_one_is_kept_and_the_batches_after_it() -> None:
    line = [(1, {"landing.s": BatchCursor(3)}), (2, {"landing.s": BatchCursor(5)}), (3, {"landing.s": BatchCursor(5)})]
    found = find_retained_data(Known(source=line), [deployed(landing())])  # type: ignore[arg-type]
    assert (found.read_snapshots, found.needed_snapshots("source")) == ({}, {1})
    assert (found.passed_batches, found.rebuildable_streams) == ({"s": 3}, set())


def test_a_landing_that_records_its_last_step_needs_no_snapshot() -> None:
    """Otherwise a landing that is idle would keep every snapshot that views add to its table."""
    last = Progress(BatchCursor(5), {}, before=3)
    line = tuple(Snapshot(id, True, 1, {"landing.s": last}) for id in range(1, 100))
    known = Known()
    known._tables["source"] = Snapshots(line)
    found = find_retained_data(known, [deployed(landing())])  # type: ignore[arg-type]
    assert found.needed_snapshots("source") == set()
    assert found.passed_batches == {"s": 3}


def test_a_landing_that_has_not_begun_needs_every_batch() -> None:
    line = [(1, {"landing.s": BatchCursor(3)}), (2, {"landing.s": BatchCursor(5)})]
    found = find_retained_data(Known(source=line), [deployed(landing()), deployed(landing("new"))])  # type: ignore[arg-type]
    assert found.passed_batches == {"s": 0}


def test_a_stream_whose_table_is_fed_by_views_too_may_be_landed_again() -> None:
    line = [(1, {"landing.s": BatchCursor(3)}), (2, {"landing.s": BatchCursor(5)})]
    found = find_retained_data(Known(source=line), [deployed(landing(), view("source", "above"))])  # type: ignore[arg-type]
    assert found.rebuildable_streams == {"s"}


def test_a_copy_needs_the_cursors_that_it_will_hand_over() -> None:
    """The old table had read batch 2, and its view snapshot 70 of what is above; both have gone on since."""
    old = [
        (1, {"landing.s": BatchCursor(2), "v": TailCursor(70)}),
        (2, {"landing.s": BatchCursor(8), "v": TailCursor(90)}),
        (3, {"landing.s": BatchCursor(9), "v": TailCursor(95)}),
    ]
    copy = Copy("copy", bound("old"), "new", (), (("landing.s", "landing.s"), ("v", "v2")))
    known = Known(old=old, new=[(5, {"copy": HistoryCursor(1, 10)})])
    live = deployed(landing("old"), view("old", "above"))
    made = deployed(copy, replace(landing("new"), starts="placed"), view("new", "above", "placed", "v2"))
    found = find_retained_data(known, [live, replace(made, state="backfilling")])  # type: ignore[arg-type]
    assert (found.read_snapshots["old"], found.needed_snapshots("old")) == ({1}, {1, 2})
    assert found.read_snapshots["above"] == {95, 70}
    assert found.passed_batches == {"s": 0}, "its landing is not placed yet"


def tended(*bindings: Binding, others: int = 0, lands: bool = False) -> MaintainedTable:
    return MaintainedTable(Table("t", (), lands=lands), bindings, "t", 1, is_quarantine=False, others=others)


def test_expired_for_all_or_not_at_all() -> None:
    short, long = bound("t", "`v` > 1"), bound("t", "`v` > 5")
    assert expiry_condition(tended(short)) == "NOT coalesce(CAST(`v` AS BIGINT) > 1, false)"
    both = expiry_condition(tended(short, long))
    assert both is not None
    assert both.count("NOT coalesce") == 2
    assert " AND " in both
    assert expiry_condition(tended(short, bound("t"))) is None
    assert expiry_condition(tended(short, others=1)) is None
    assert expiry_condition(tended()) is None


LATEST = Replacing(("`k`",))


@pytest.mark.parametrize(
    ("rule", "free"),
    [
        (LATEST, True),
        (Summing(("`k`",), ("v",), drops_zeros=True), True),
        (Summing(("`k`",), ("v",), drops_zeros=False), False),
        (Summing(("lower(`k`)",), ("v",), drops_zeros=True), False),
        (Aggregating(("`k`",), ("v",)), False),
        (Collapsing(("`k`",), "v"), False),
    ],
)
def test_only_rules_whose_parts_merge_by_themselves(rule: Merge, free: bool) -> None:
    assert (find_table_merge(tended(bound("t", merge=rule)), []) is not None) == free


def test_states_whose_order_does_not_matter() -> None:
    def with_state(function: str) -> MaintainedTable:
        columns = (BoundColumn("k", String(), "k"), BoundColumn("v", AggregateFunction(function, (Int(64),)), "v"))
        return tended(replace(bound("t"), columns=columns, merge=Aggregating(("`k`",), ("v",))))

    assert find_table_merge(with_state("uniq"), []) is not None
    for function in ("any", "anyLast", "argMax", "groupArray", "quantile"):
        assert find_table_merge(with_state(function), []) is None


def test_sums_of_floats_are_left_alone() -> None:
    columns = (BoundColumn("k", String(), "k"), BoundColumn("v", Float(64), "v"))
    rule = Summing(("`k`",), ("v",), drops_zeros=True)
    assert find_table_merge(tended(replace(bound("t"), columns=columns, merge=rule)), []) is None


def test_versions_that_differ_or_a_view_below_or_a_ttl_forbid_it() -> None:
    plain = bound("t", merge=LATEST)
    assert find_table_merge(tended(plain, plain), []) is not None
    assert find_table_merge(tended(plain, bound("t")), []) is None
    assert find_table_merge(tended(plain, bound("t", merge=Replacing(("`k`",), "v"))), []) is None
    assert find_table_merge(tended(plain, others=1), []) is None
    assert find_table_merge(tended(bound("t", "`v` > 1", LATEST)), []) is None
    assert find_table_merge(tended(plain), [deployed(view("target", "t"))]) is None
    assert find_table_merge(tended(plain), [deployed(view("target", "t"), state="retired")]) is not None


def test_columns_that_are_computed_yet() -> None:
    columns = (BoundColumn("k", String(), "k"), BoundColumn("v", Int(64), "v", Before("1", 100)))
    summed = Summing(("`k`",), ("v",), drops_zeros=True)
    assert find_table_merge(tended(replace(bound("t"), columns=columns, merge=summed)), []) is None
    assert find_table_merge(tended(replace(bound("t"), columns=columns, merge=LATEST)), []) is not None


def test_rows_are_written_with_every_physical_column_and_apart_by_who_rejects_them() -> None:
    how = find_table_merge(tended(bound("t", merge=LATEST), lands=True), [])
    assert how is not None
    sql = merged_rows(how, "x", [("k", "string"), ("other", "int"), ("_seq", "bigint"), ("_rejects", "string")])
    assert "CAST(` other` AS int) AS `other`" in sql
    assert "PARTITION BY `k`, ` _rejects`" in sql
