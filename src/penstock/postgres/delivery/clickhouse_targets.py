"""Targets of views over a landing in ClickHouse in which a block that is sent again would be there twice.

In: the tables and views of a database, and the tables that rows land in. Out: notes in words. Invariant: targets whose
engine keeps the latest row of a key, replicated ones, which remember blocks unless told otherwise, and those that keep
no rows are none; a statement is named only where the engine has the setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from penstock.postgres.translation.clickhouse.schema import ClickHouseSchema, ClickHouseTable, quoted_name

WINDOW = "non_replicated_deduplication_window"
_WINDOW = re.compile(rf"\b{WINDOW} = (\d+)")
_SAFE = ("Replicated", "Shared", "Replacing")
"""Parts of the names of engines."""


def notes_on_targets(schema: ClickHouseSchema, landings: Iterable[str]) -> list[str]:
    """What is worth knowing of the targets of views, also of views over targets."""
    return [*dict.fromkeys(note for landing in landings for note in _notes(schema, landing, frozenset({landing})))]


def _notes(schema: ClickHouseSchema, table: str, seen: frozenset[str]) -> Iterator[str]:
    for view in schema.views_of(table):
        target = schema.table(view.target) if view.target is not None else None
        if target is None:
            yield f"the view {view.name} owns its target: give it TO and a table with {WINDOW}, or rows may count twice"
            continue
        if not _remembers_blocks(target) and target.engine != "Null":
            yield (
                f"{target.name}, the target of the view {view.name}, does not remember blocks: one that is sent again "
                f"after a kill may count twice there. {_advice(schema, target)}"
            )
        if target.name not in seen:
            yield from _notes(schema, target.name, seen | {target.name})


def _advice(schema: ClickHouseSchema, target: ClickHouseTable) -> str:
    if not target.engine.endswith("MergeTree"):
        return f"The engine {target.engine} cannot: give the view a table of the family MergeTree"
    name = f"{quoted_name(schema.database)}.{quoted_name(target.name)}"
    return f"ALTER TABLE {name} MODIFY SETTING {WINDOW} = 1000"


def _remembers_blocks(table: ClickHouseTable) -> bool:
    window = _WINDOW.search(table.created)
    return any(each in table.engine for each in _SAFE) or (window is not None and int(window[1]) > 0)
