"""The data source that a table of Postgres lands in.

In: a table as its catalog describes it. Out: the text of a `.datasource`. Invariant: each row is there once for every
change, and `FINAL` shows the table as it is in Postgres: of each key the row of the latest change, unless that deleted
it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from penstock.model.json_path import path_of_key
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.store_types import penstock_type
from penstock.postgres.packages.row_values import COMMIT, DELETED, ORDINAL, VERSION

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def landing_datafile(table: ReplicatedTable, key: tuple[str, ...]) -> str:
    """The text of the datafile. Without a key every row is kept as it was inserted. A name that no column can have gets
    `_` for what does not fit; its values are found by its path."""
    names = _column_names([each.name for each in table.columns])
    columns = [_column(names[each.name], str(penstock_type(each)), each.name) for each in table.columns]
    columns += [_column(VERSION, "UInt64", VERSION), _column(DELETED, "UInt8", DELETED)]
    columns += [_column(COMMIT, "UInt64", COMMIT), _column(ORDINAL, "UInt64", ORDINAL)]
    engine = (
        ["ENGINE MergeTree", f"ENGINE_SORTING_KEY {COMMIT}, {ORDINAL}"]
        if not key
        else [
            "ENGINE ReplacingMergeTree",
            f"ENGINE_SORTING_KEY {', '.join(names[each] for each in key)}",
            f"ENGINE_VER {VERSION}",
            f"ENGINE_IS_DELETED {DELETED}",
        ]
    )
    about = f"DESCRIPTION Rows of {table.name} in Postgres, one a change; FINAL shows them as they are there"
    schema = ",\n".join(f"    {each}" for each in columns)
    return "\n".join([about, "", "SCHEMA >", schema, "", *engine, ""])


def _column(name: str, of: str, key: str) -> str:
    return f"`{name}` {of} `json:{path_of_key(key)}`"


def _column_names(given: Sequence[str]) -> dict[str, str]:
    """For each name the one in the datafile, which no other has."""
    found: dict[str, str] = {}
    for name in sorted(given, key=lambda each: not _WORD.fullmatch(each)):
        plain = (
            name if _WORD.fullmatch(name) else re.sub("[^A-Za-z0-9_]", "_", f"_{name}" if name[0].isdigit() else name)
        )
        while plain in found.values():
            plain += "_"
        found[name] = plain
    return found
