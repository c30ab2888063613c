"""The Spark SQL that a binding is read by."""

from __future__ import annotations

import pytest

pytest.importorskip("penstock.sql.stored_types")

from penstock.lake.read.bindings import (
    AppendedRows,
    CurrentRows,
    SnapshotRows,
    SnapshotSlice,
    binding_relation,
    merged_relation,
    rejected_relation,
)
from penstock.model.manifest import Accepts, Before, Binding, BoundColumn
from penstock.model.merge_rule import Replacing
from penstock.model.types import Int, String

PLAIN = Binding("t", "t__d1", (BoundColumn("a", Int(32), "a"),))


def test_columns_under_their_logical_names() -> None:
    renamed = Binding("t", "t__d1", (BoundColumn("new", String(), "old"),))
    assert (
        binding_relation(renamed, CurrentRows()) == "(SELECT CAST(`old` AS STRING) AS `new` FROM lake.penstock.`t__d1`)"
    )


def test_a_slice_of_a_snapshot() -> None:
    text = binding_relation(PLAIN, SnapshotSlice(7, -1, 99))
    assert text.endswith("FROM lake.penstock.`t__d1` VERSION AS OF 7 WHERE _seq > -1 AND _seq <= 99)")


def test_a_whole_snapshot_is_read_as_current_rows_are() -> None:
    kept = Binding("t", "t__d1", PLAIN.columns, keeps="`a` > 1", merge=Replacing(("`a`",)))
    now, then = binding_relation(kept, CurrentRows()), binding_relation(kept, SnapshotRows(7))
    assert then == now.replace("`t__d1`", "`t__d1` VERSION AS OF 7")
    assert binding_relation(PLAIN, SnapshotRows(None)).endswith("FROM lake.penstock.`t__d1` WHERE false)")
    assert merged_relation(kept, SnapshotRows(7)) == merged_relation(kept).replace("`t__d1`", "`t__d1` VERSION AS OF 7")


def test_what_was_appended() -> None:
    assert "WITH (`start-snapshot-id` = '3', `end-snapshot-id` = '5')" in binding_relation(PLAIN, AppendedRows(3, 5))


def test_rows_before_the_cut_read_another_expression() -> None:
    column = BoundColumn("a", Int(32), "a__2", Before("CAST(`a` AS INT)", 1000))
    text = binding_relation(Binding("t", "t__d1", (column,)), CurrentRows())
    assert "CASE WHEN _seq <= 1000 THEN CAST(`a` AS INT) ELSE `a__2` END" in text


def test_rows_are_seen_unless_the_version_of_their_time_rejects_them() -> None:
    chain = (Accepts("v1", 10), Accepts("v2"))
    text = binding_relation(Binding("t", "t__d1", PLAIN.columns, chain), CurrentRows())
    assert "NOT contains(_rejects, CASE WHEN _seq <= 10 THEN ' v1 ' ELSE ' v2 ' END)" in text


def test_a_quarantine_shows_what_the_version_of_its_time_rejected() -> None:
    chain = (Accepts("v1", 10), Accepts("v2"))
    binding = Binding("q", "s__quarantine", (BoundColumn("raw", String(), "raw"),), chain)
    of_version = "concat(' ', version, ' ') = CASE WHEN _seq <= 10 THEN ' v1 ' ELSE ' v2 ' END"
    assert rejected_relation(binding, CurrentRows(), None).endswith(f"WHERE {of_version})")
    with_views = rejected_relation(binding, CurrentRows(), "s__d1")
    assert with_views.endswith(f"WHERE ({of_version} OR version = 'view:s__d1'))")


def test_names_cannot_break_out() -> None:
    odd = Binding("t", "t`x", (BoundColumn("a`b", String(), "c`d"),))
    assert binding_relation(odd, CurrentRows()) == "(SELECT CAST(`c``d` AS STRING) AS `a``b` FROM lake.penstock.`t``x`)"
