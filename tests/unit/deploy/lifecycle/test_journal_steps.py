"""Steps in the journal are read back as they were written."""

from __future__ import annotations

import pytest

from penstock.deploy.lifecycle.journal_steps import JournalStep, Promote, step_from_json, step_to_json
from penstock.model.manifest import Binding, Field, Table, Transform
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.model.types import Array, Int, Nullable
from penstock.plan.steps import (
    STEP_ORDER,
    Activate,
    AddFields,
    CatchUp,
    Check,
    CheckRows,
    Clone,
    CreateTable,
    MaterializeColumns,
    PlaceCursors,
    SetPartition,
    SetSort,
    WidenField,
)

DAY = (Transform("days", "x"),)
STEPS: list[JournalStep] = [
    CreateTable(Table("a", (Field("x", Array(Nullable(Int(32)))),), DAY, (), lands=True)),
    AddFields("a", (Field("y", Int(8, signed=False)),)),
    WidenField("a", "x", Int(64)),
    SetSort("a", DAY, ()),
    SetPartition("a", (), DAY),
    PlaceCursors("a"),
    Activate((Clone(Table("b", (Field("x", Int(32)),)), "a", (Field("x", Int(64)),)),)),
    CheckRows("a", Binding("a", "a__d1", ()), (Check("x", "fails", "toInt32(x)", "`x`", "`x` IS NULL"),)),
    CatchUp(),
    MaterializeColumns("a__d1", "a", ("x", "y")),
    Promote(),
]
MERGES = [
    Replacing(("`x`",), "version", "deleted"),
    Summing(("`x`",), ("y",), drops_zeros=True),
    Aggregating(("`x`",), ("y",)),
    Collapsing(("`x`",), "sign"),
    VersionedCollapsing(("`x`",), "sign", "version"),
    None,
]
"""A check of rows reads its table by the engine's rule."""


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_round_trip(step: JournalStep) -> None:
    assert step_from_json(step_to_json(step)) == step


@pytest.mark.parametrize("merge", MERGES, ids=lambda merge: type(merge).__name__)
def test_round_trip_of_a_check_over_a_merging_engine(merge: Merge | None) -> None:
    step = CheckRows("a", Binding("a", "a__d1", (), merge=merge), ())
    assert step_from_json(step_to_json(step)) == step


def test_every_kind_is_tried() -> None:
    assert {type(step) for step in STEPS} == {*STEP_ORDER, Promote}


def test_a_promotion_is_written_and_read_as_every_server_before_wrote_it() -> None:
    assert step_to_json(Promote()) == "promote"
    assert step_from_json("promote") == Promote()
