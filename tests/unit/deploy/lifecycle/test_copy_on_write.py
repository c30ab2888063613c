"""A manifest whose tables are called otherwise reads and feeds the others throughout."""

from __future__ import annotations

from penstock.deploy.lifecycle.copy_on_write import rename_tables
from penstock.model.manifest import Binding, BoundColumn, Copy, Landing, Manifest, Source, Table, View
from penstock.model.types import Int

COLUMNS = (BoundColumn("a", Int(32), "a"),)


def test_every_mention_is_renamed() -> None:
    events, counts = Binding("events", "events__d1", COLUMNS), Binding("counts", "counts__d1", COLUMNS)
    before = Manifest(
        (Table("events__d1", ()), Table("counts__d1", ()), Table("below__d1", ())),
        (events, counts),
        (),
        (
            Landing("events", "events__d1", "v1", ()),
            View("v", "p", "n", "counts__d1", "", Source("__new_events__", events), ("a",)),
            View(
                "w",
                "p",
                "n",
                "below__d1",
                "",
                Source("__new_counts__", counts),
                ("a",),
                (Source("__all_counts__", counts),),
            ),
            Copy("c", events, "counts__d1", (), ()),
        ),
    )
    after = rename_tables(before, {"counts__d1": "counts__d2f1", "below__d1": "below__d2f1"})
    assert "counts__d1" not in repr(after)
    assert "below__d1" not in repr(after)
    assert rename_tables(after, {"counts__d2f1": "counts__d1", "below__d2f1": "below__d1"}) == before
