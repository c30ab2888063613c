"""One row for each key: which of several rows an ANY JOIN takes, and in which order ASOF sees equal ones.

In: a table's text, its columns and keys. Out: Spark SQL. Called by join_any and join_asof. Invariant: the values of
a row stay together, and the row is the same however the table is read: the least by its columns in their order.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.sql.typed import Typed
from penstock.sql.value_types import quoted, text_literal

ROW = "`__row`"
_WITHOUT_ORDER = ("MAP<", "VARIANT")


def row_of(columns: Mapping[str, Typed]) -> str:
    """The columns as one value."""
    fields = ", ".join(f"{text_literal(name)}, {value.sql}" for name, value in columns.items())
    return f"named_struct({fields or _NOTHING})"


_NOTHING = "'one', 1"


def order_of(columns: Mapping[str, Typed]) -> str | None:
    """What tells rows apart; None where the row itself has an order."""
    if not any(_has_none(value) for value in columns.values()):
        return None
    return row_of({name: _ordered(value) for name, value in columns.items()})


def _has_none(value: Typed) -> bool:
    """Whether Spark does not order such values."""
    return any(word in value.spark for word in _WITHOUT_ORDER)


def _ordered(value: Typed) -> Typed:
    return Typed(f"CAST({value.sql} AS STRING)", value.type, "STRING") if _has_none(value) else value


def fields_of(columns: Mapping[str, Typed]) -> list[str]:
    """The columns again, out of the row."""
    return [f"{ROW}.{quoted(name)} AS {quoted(name)}" for name in columns]


def picked(source: str, columns: Mapping[str, Typed], keys: list[str], where: tuple[str, ...]) -> str:
    """A SELECT of one whole row for each key."""
    row, order = row_of(columns), order_of(columns)
    least = f"min({row})" if order is None else f"min_by({row}, {order})"
    kept = f" WHERE {' AND '.join(where)}" if where else ""
    rows = f"SELECT {least} AS {ROW} FROM {source}{kept} GROUP BY {', '.join(keys)}"
    return f"SELECT {', '.join(fields_of(columns)) or '1 AS `one`'} FROM ({rows})"
