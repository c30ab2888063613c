from __future__ import annotations

import pytest

from penstock.model.manifest import Binding, BoundColumn, Landing, LandingColumn, Manifest, Source, View
from penstock.model.merge_rule import Aggregating, Merge, Replacing
from penstock.model.types import Int, String
from penstock.plan.parity.step_dependence import BY_CLOCK, BY_STEP, find_step_dependence

SUMS = Aggregating(("`k`",), (), ("n",))
LATEST = Replacing(("`k`",), ())


def bound(table: str, merge: Merge | None = None, columns: tuple[str, ...] = ("k", "n")) -> Binding:
    return Binding(table, table, tuple(BoundColumn(name, Int(64), name) for name in columns), merge=merge)


KN = ("k", "n")


def view(source: str, table: str, sql: str, columns: tuple[str, ...] = KN, others: tuple[str, ...] = ()) -> View:
    joined = tuple(Source(f"__{each}", bound(each)) for each in others)
    return View(f"view.{table}", "p", "n", table, sql, Source("__new_t", bound(source, columns=columns)), KN, joined)


PLAIN = "SELECT `k` AS `k`, `n` + 1 AS `n` FROM __new_t"
GROUPED = "SELECT `k` AS `k`, count(1) AS `n` FROM __new_t GROUP BY `k`"


@pytest.mark.parametrize(
    ("sql", "merge", "differs"),
    [
        (PLAIN, None, False),
        (PLAIN, LATEST, False),
        (GROUPED, SUMS, False),
        (GROUPED, None, True),
        (GROUPED, LATEST, True),
        ("SELECT 1 AS `k`, count(1) AS `n` FROM __new_t", None, True),
        ("SELECT DISTINCT `k` AS `k`, `n` AS `n` FROM __new_t", SUMS, True),
        ("SELECT `k` AS `k`, row_number() OVER (ORDER BY `k`) AS `n` FROM __new_t", SUMS, True),
        ("SELECT `k` AS `k`, `n` AS `n` FROM __new_t WHERE `n` < unix_seconds(current_timestamp())", None, True),
        ("SELECT `k` AS `k`, `n` AS `n` FROM (SELECT `k`, rand() AS `n` FROM __new_t) AS q", None, True),
        ("not SQL at all (", None, True),
    ],
)
def test_what_a_view_computes_of_a_step(sql: str, merge: Merge | None, differs: bool) -> None:
    manifest = Manifest(bindings=(bound("a"), bound("b", merge)), flows=(view("a", "b", sql),))
    assert (find_step_dependence(manifest).reason("b") is not None) == differs


def test_a_table_below_inherits_what_it_cannot_undo() -> None:
    flows = (view("a", "b", GROUPED), view("b", "c", PLAIN), view("b", "d", GROUPED), view("d", "e", PLAIN))
    manifest = Manifest(
        bindings=(bound("a"), bound("b"), bound("c"), bound("d", SUMS), bound("e", LATEST)), flows=flows
    )
    found = find_step_dependence(manifest)
    assert found.reason("b") == BY_STEP
    assert "`b`" in (found.reason("c") or "")
    assert found.reason("d") is None, "what is summed by key is the same in the end"
    assert "`d`" in (found.reason("e") or "")


def test_a_joined_table_is_read_at_each_step_and_no_sum_undoes_that() -> None:
    flows = (view("a", "b", PLAIN, others=("x",)), view("b", "c", GROUPED))
    manifest = Manifest(bindings=(bound("a"), bound("x"), bound("b", SUMS), bound("c", SUMS)), flows=flows)
    found = find_step_dependence(manifest)
    assert "joins" in (found.reason("b") or "")
    assert "`b`" in (found.reason("c") or "")


def test_a_clock_in_one_column_spoils_only_that_column_and_who_reads_it() -> None:
    clocked = "SELECT `k` AS `k`, unix_seconds(current_timestamp()) AS `n` FROM __new_t"
    flows = (view("a", "b", clocked), view("b", "c", PLAIN), view("b", "d", PLAIN, columns=("k",)))
    found = find_step_dependence(Manifest(bindings=(bound("a"), bound("b"), bound("c"), bound("d")), flows=flows))
    assert (found.reason("b"), found.columns) == (None, {("b", "n"): BY_CLOCK})
    assert found.reason("c") is not None
    assert found.reason("d") is None


def test_a_default_by_chance_spoils_its_column_and_one_by_time_of_arrival_does_not() -> None:
    columns = (
        LandingColumn("k", "k", String(), None, "uuid()"),
        LandingColumn("n", "n", Int(64), None, "unix_seconds(`_received_at`)"),
    )
    found = find_step_dependence(Manifest(bindings=(bound("a"),), flows=(Landing("a", "a", "v", columns),)))
    assert found.columns == {("a", "k"): BY_CLOCK}
