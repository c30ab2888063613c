"""A bound goes only around a column that was of the narrower type in live."""

from __future__ import annotations

import pytest

from penstock.model import types as t
from penstock.model.manifest import Binding, BoundColumn, Source, View
from penstock.model.types import Type
from penstock.plan.equivalence.redundant_date_bounds import drop_redundant_bounds, widened_columns

DAY = "date_from_unix_date(unix_date(CAST(`e`.`{0}` AS DATE)) & 65535)"
HOUR = "greatest(date_trunc('HOUR', `e`.`{0}`), TIMESTAMP'1970-01-01 00:00:00')"


def view(selected: str, at: Type, other: Type) -> View:
    columns = (BoundColumn("at", at, "at"), BoundColumn("other", other, "other"))
    source = Source("__new_events__", Binding("events", "events__d1", columns))
    return View("v", "p", "n", "target", f"SELECT {selected} AS `r` FROM __new_events__ AS `e`", source, ("r",))


LIVE = view("`e`.`at`", t.DateTime(), t.DateTime64(3))


@pytest.mark.parametrize(
    ("selected", "left"),
    [
        (DAY.format("at"), "CAST(`e`.`at` AS DATE)"),
        (HOUR.format("at"), "DATE_TRUNC('HOUR', `e`.`at`)"),
        (DAY.format("other"), "65535"),
        (HOUR.format("other"), "GREATEST("),
        (f"struct({DAY.format('other')}, {DAY.format('at')})", "65535"),
        ("greatest(`e`.`at`, TIMESTAMP'1971-01-01 00:00:00')", "GREATEST("),
        ("greatest(`e`.`at`, `e`.`other`)", "GREATEST("),
    ],
)
def test_bounds(selected: str, left: str) -> None:
    after = view(selected, t.DateTime64(3), t.DateTime64(3))
    columns = widened_columns([LIVE], [after])
    assert columns == {("events__d1", "at")}
    found = drop_redundant_bounds(after, columns).sql
    assert left in found
    assert found.count("65535") == selected.count("65535") - (DAY.format("at") in selected)


def test_nothing_is_wider() -> None:
    after = view(DAY.format("other"), t.DateTime(), t.DateTime64(3))
    assert drop_redundant_bounds(after, widened_columns([LIVE], [after])) == after


def test_a_name_of_a_subquery_is_no_column_of_the_source() -> None:
    inner = "(SELECT `e`.`other` AS `at` FROM __new_events__ AS `e`) AS `e`"
    after = view("1", t.DateTime64(3), t.DateTime64(3))
    sql = f"SELECT {DAY.format('at')} AS `r` FROM {inner}"
    renamed = View("v", "p", "n", "target", sql, after.trigger, ("r",))
    assert "65535" in drop_redundant_bounds(renamed, widened_columns([LIVE], [renamed])).sql
