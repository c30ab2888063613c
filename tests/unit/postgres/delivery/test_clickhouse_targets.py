"""Which targets of views are named, and with what advice."""

from __future__ import annotations

import pytest

from penstock.postgres.delivery.clickhouse_targets import notes_on_targets
from penstock.postgres.translation.clickhouse.schema import ClickHouseSchema, ClickHouseTable, ClickHouseView
from penstock.postgres.translation.clickhouse.view_query import ViewQuery


def view(name: str, of: str, target: str | None) -> ClickHouseView:
    return ClickHouseView(name, ViewQuery(f"SELECT id FROM d.{of}"), target)


@pytest.mark.parametrize(
    ("engine", "advice"),
    [
        ("SummingMergeTree", "ALTER TABLE `d`.`target` MODIFY SETTING non_replicated_deduplication_window = 1000"),
        ("Memory", "The engine Memory cannot: give the view a table of the family MergeTree"),
        ("ReplacingMergeTree", None),
        ("ReplicatedMergeTree", None),
        ("Null", None),
    ],
)
def test_the_advice_fits_the_engine(engine: str, advice: str | None) -> None:
    schema = ClickHouseSchema("d", (ClickHouseTable("target", engine, ()),), (view("v", "landing", "target"),))
    notes = notes_on_targets(schema, ["landing"])
    assert [note.split("there. ")[1] for note in notes] == ([advice] if advice else [])


def test_what_a_null_table_passes_on_counts() -> None:
    tables = (ClickHouseTable("passing", "Null", ()), ClickHouseTable("sums", "SummingMergeTree", ()))
    views = (view("first", "landing", "passing"), view("second", "passing", "sums"))
    (note,) = notes_on_targets(ClickHouseSchema("d", tables, views), ["landing"])
    assert note.startswith("sums, the target of the view second,")
