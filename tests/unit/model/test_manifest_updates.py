"""Cuts: where a new version of a table begins; values that are settled; tables that are replaced."""

from __future__ import annotations

from dataclasses import replace

from penstock.model.manifest import Accepts, Before, Binding, BoundColumn, Copy, Landing, Manifest, Source, View
from penstock.model.manifest_updates import limit_materialized, map_bindings, mark_materialized, set_cutover_offsets
from penstock.model.types import Int


def test_activation_fills_open_cuts_only_once() -> None:
    column = BoundColumn("a", Int(32), "a__2", Before("`a`"))
    binding = Binding("t", "t__d1", (column,), (Accepts("v1"), Accepts("v2")))
    view = View("v", "p", "n", "m__d1", "", Source("__new_t__", binding), ("a",))
    cut = set_cutover_offsets(Manifest(bindings=(binding,), flows=(view,)), {"t__d1": 9})
    assert cut.bindings[0].columns[0].before == Before("`a`", 9)
    assert cut.bindings[0].accepts == (Accepts("v1", 9), Accepts("v2"))
    assert cut.views[0].trigger.binding == cut.bindings[0]
    assert set_cutover_offsets(cut, {"t__d1": 99}) == cut
    assert set_cutover_offsets(cut, {"other": 1}) == cut


def test_settling_moves_on_only_and_where_it_is_asked_to() -> None:
    columns = (BoundColumn("a", Int(32), "a__2", Before("`a`", 9)), BoundColumn("b", Int(32), "b"))
    binding = Binding("t", "t__d1", columns)
    manifest = Manifest(bindings=(binding, replace(binding, name="u", table="u__d1")))
    settled = mark_materialized(manifest, "t__d1", ["a__2", "b"], 5)
    assert settled.bindings[0].columns == (replace(columns[0], before=Before("`a`", 9, 5)), columns[1])
    assert settled.bindings[1] == manifest.bindings[1]
    assert mark_materialized(settled, "t__d1", ["a__2"], 4) == settled
    assert mark_materialized(settled, "t__d1", ["b"], 9) == settled


def test_a_copy_of_a_table_has_what_was_settled_when_it_was_made() -> None:
    columns = (BoundColumn("a", Int(32), "a__2", Before("`a`", 9, 3)), BoundColumn("b", Int(32), "b"))
    then = Manifest(bindings=(Binding("t", "t__d1", columns), Binding("u", "u__d1", columns)))
    now = mark_materialized(mark_materialized(then, "t__d1", ["a__2"], 9), "u__d1", ["a__2"], 9)
    limited = limit_materialized(now, then, ["t__d1"])
    assert limited.bindings == (then.bindings[0], now.bindings[1])
    assert limit_materialized(then, now, ["t__d1", "u__d1"]) == then


def test_a_binding_is_replaced_wherever_it_stands() -> None:
    binding, landing = Binding("t", "t__d1", ()), Landing("t", "t__d1", "1", ())
    view = View("v", "p", "n", "m__d1", "", Source("__new_t__", binding), (), (Source("__all_t__", binding),))
    copy = Copy("c", binding, "n__d1", (), ())
    moved = map_bindings(
        Manifest(bindings=(binding,), quarantines=(binding,), flows=(view, copy, landing)),
        lambda each: replace(each, table="t__d2"),
    )
    other = replace(binding, table="t__d2")
    assert (moved.bindings, moved.quarantines, moved.copies[0].source) == ((other,), (other,), other)
    assert [each.binding for each in (moved.views[0].trigger, *moved.views[0].others)] == [other, other]
    assert moved.landings == (landing,)
