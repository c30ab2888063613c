"""The text of merged rows: what it reads and gives. What it means is in tests/differential/test_final.py."""

from __future__ import annotations

from penstock.lake.read.bindings import merged_relation
from penstock.lake.read.engine_merge import can_compact, compacted_relation, final_relation
from penstock.model.manifest import Binding, BoundColumn
from penstock.model.merge_rule import Collapsing, Merge, Replacing, Summing
from penstock.model.types import Int, Type

COLUMNS: list[tuple[str, Type]] = [("k", Int(32)), ("v", Int(64))]
ROWS = "(SELECT `k`, `v`, _seq FROM x)"


def test_the_last_row_of_a_key() -> None:
    window = "row_number() OVER (PARTITION BY `k` ORDER BY _seq DESC)"
    expected = f"(SELECT `k`, `v` FROM (SELECT *, {window} AS `_place` FROM {ROWS}) WHERE `_place` = 1)"
    assert final_relation(Replacing(("`k`",)), COLUMNS, ROWS) == expected


def test_all_rows_are_of_one_key_where_there_is_none() -> None:
    assert "PARTITION BY 1 ORDER BY" in final_relation(Replacing(()), COLUMNS, ROWS)


def test_partitions_are_in_the_order_of_their_ids() -> None:
    text = final_relation(Replacing(("`k`",), partition=("CAST(`p` AS STRING)", "`q`")), COLUMNS, ROWS)
    assert "ORDER BY concat_ws('-', CAST(`p` AS STRING), `q`) DESC, _seq DESC" in text


def test_compaction_keeps_partitions_and_others_apart_and_deleted_rows() -> None:
    text = compacted_relation(Replacing(("`k`",), "v", "gone", ("`p`",)), COLUMNS, ROWS, ("_rejects",))
    assert "PARTITION BY `k`, `p`, `_rejects`, `gone` IN (0, 1) ORDER BY `v` DESC, _seq DESC" in text
    assert text.endswith("WHERE `_place` = 1)")
    assert text.startswith("(SELECT `k`, `v`, _seq FROM ")


def test_a_merged_row_has_the_greatest_seq_and_may_be_zero() -> None:
    rule = Summing(("`k`",), ("v",), True)
    assert "max(_seq) OVER (PARTITION BY `k`) AS _seq" in compacted_relation(rule, COLUMNS, ROWS)
    assert " AND NOT (`v` = 0)" in final_relation(rule, COLUMNS, ROWS)
    assert "NOT (" not in compacted_relation(rule, COLUMNS, ROWS)


def test_what_cancels_across_partitions_is_left_alone() -> None:
    rules: list[Merge] = [
        Collapsing(("`k`",), "s", ("`p`",)),
        Collapsing(("`k`",), "s"),
        Replacing((), None, None, ("`p`",)),
    ]
    assert [can_compact(rule) for rule in rules] == [False, True, True]


def test_final_reads_what_the_binding_shows() -> None:
    columns = tuple(BoundColumn(name, of, f"{name}__2") for name, of in COLUMNS)
    plain = Binding("t", "t__d1", columns, keeps="`v` > 0")
    text = merged_relation(Binding("t", "t__d1", columns, keeps="`v` > 0", merge=Replacing(("`k`",))))
    assert "CAST(`v__2` AS BIGINT) > 0" in text
    assert "CAST(`_seq` AS BIGINT) AS `_seq`" in text
    assert "row_number" not in merged_relation(plain)
