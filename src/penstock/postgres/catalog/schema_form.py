"""The form of a table: what of its schema the rows in a stream show by themselves.

In: a name, and columns with their types. Out: a text. Invariant: equal texts mean equal names and types in the same
order, whether they come from the catalog or from a stream without one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable


def schema_form(name: QualifiedName, columns: Iterable[tuple[str, str]]) -> str:
    """The form of rows with these columns: names and the types of their values."""
    return json.dumps([name.schema, name.name, [list(each) for each in columns]], ensure_ascii=False)


def table_form(table: ReplicatedTable) -> str:
    """The form of a table's rows, as its catalog describes it."""
    return schema_form(table.name, ((each.name, each.type.stored.name) for each in table.columns))
