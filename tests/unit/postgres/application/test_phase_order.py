"""A name is free in a store before another column takes it."""

from __future__ import annotations

import pytest

from penstock.postgres.application.phase_order import earlier_phases
from penstock.postgres.migration.operation import (
    AddColumn,
    DropColumn,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    SetNotNull,
    SwapColumns,
)
from unit.postgres.application.test_change_stops import TEXT, migration

ADD = AddColumn("b", TEXT, True, None, OldRowsValue(None))


@pytest.mark.parametrize(
    ("first", "second", "phase", "expected"),
    [
        (DropColumn("b"), RenameColumn("a", "b"), Phase.at_lsn, [Phase.post]),
        (DropColumn("b"), ADD, Phase.pre, [Phase.post]),
        (RenameColumn("b", "c"), ADD, Phase.pre, [Phase.at_lsn]),
        (SetNotNull("a"), SwapColumns("a", "b"), Phase.at_lsn, [Phase.post]),
        (SetNotNull("b"), ADD, Phase.pre, []),
        (DropColumn("c"), RenameColumn("a", "b"), Phase.at_lsn, []),
        (DropColumn("b"), SetNotNull("b"), Phase.post, [Phase.at_lsn]),
        (SwapColumns("a", "b"), DropColumn("b"), Phase.post, [Phase.at_lsn]),
    ],
)
def test_what_comes_first(first: Operation, second: Operation, phase: Phase, expected: list[Phase]) -> None:
    one, two = migration("1", first), migration("2", second)
    assert [each.phase for each in earlier_phases([one, two], two, phase)] == expected
    assert [*earlier_phases([one, two], one, phase)] == [], "a later one does not come first"
