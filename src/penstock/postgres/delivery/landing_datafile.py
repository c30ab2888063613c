"""The data source that a table of Postgres lands in.

In: a table as its catalog describes it. Out: the text of a `.datasource`. Invariant: each row is there once for every
change, and `FINAL` shows the table as it is in Postgres: of each key the row of the latest change, unless that deleted
it.
"""

from __future__ import annotations

import re

from penstock.model.json_path import path_of_key
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.store_types import penstock_type
from penstock.postgres.packages.row_values import COMMIT, DELETED, ORDINAL, VERSION

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def landing_datafile(table: ReplicatedTable, key: tuple[str, ...]) -> str:
    """The text of the datafile. Without a key every row is kept as it was inserted."""
    columns = [_column(each.name, str(penstock_type(each))) for each in table.columns]
    columns += [_column(VERSION, "UInt64"), _column(DELETED, "UInt8")]
    columns += [_column(COMMIT, "UInt64"), _column(ORDINAL, "UInt64")]
    sorting = ", ".join(_name(each) for each in key)
    engine = (
        ["ENGINE MergeTree", f"ENGINE_SORTING_KEY {COMMIT}, {ORDINAL}"]
        if not key
        else [
            "ENGINE ReplacingMergeTree",
            f"ENGINE_SORTING_KEY {sorting}",
            f"ENGINE_VER {VERSION}",
            f"ENGINE_IS_DELETED {DELETED}",
        ]
    )
    about = f"DESCRIPTION Rows of {table.name} in Postgres, one a change; FINAL shows them as they are there"
    schema = ",\n".join(f"    {each}" for each in columns)
    return "\n".join([about, "", "SCHEMA >", schema, "", *engine, ""])


def _column(name: str, of: str) -> str:
    return f"{_name(name, always=True)} {of} `json:{path_of_key(name)}`"


def _name(name: str, *, always: bool = False) -> str:
    return f"`{name}`" if always or not _WORD.fullmatch(name) else name
