"""Suggests a FORWARD_QUERY, for the error message that asks for one.

In: the transition of a data source to the next version. Out: the text of a FORWARD_QUERY. Invariant: a suggestion
compiles; where none does, only the general form is shown.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import InvalidQuery
from penstock.model.datasource import Column, Text
from penstock.model.types import AggregateFunction, Array, Map, Tuple, is_nullable, unwrap_type
from penstock.plan.diff.column_matching import match_columns
from penstock.plan.tables.column_placement import DataSourceTransition
from penstock.sql.compile import compile_forward


def suggest_forward_query(transition: DataSourceTransition) -> str:
    """`FORWARD_QUERY > SELECT …` with a conversion of each column that needs one."""
    for query in _candidate_queries(transition):
        if _compiles(transition, query):
            return f"FORWARD_QUERY > {query}"
    return "FORWARD_QUERY > SELECT * REPLACE (<expression> AS <column>)"


def _candidate_queries(transition: DataSourceTransition) -> Iterator[str]:
    """Possible queries, from the one that keeps most rows to the simplest."""
    match = match_columns(transition.running.source, transition.new, transition.forward)
    changed = [(column, origin) for column, origin in match.pairs if origin is not None and column.type != origin.type]
    added = [column for column, origin in match.pairs if origin is None]
    renamed = [(column, origin) for column, origin in match.pairs if origin is not None and column.name != origin.name]
    gone = [column.name for column in match.dropped] + [origin.name for _, origin in renamed]
    for convert in (_convert_or_default, _convert_by_cast):
        kept = [(column, origin) for column, origin in changed if column.name == origin.name]
        replaced = [f"{convert(column, origin)} AS {column.name}" for column, origin in kept]
        star = "*" + (f" EXCEPT ({', '.join(gone)})" if gone else "")
        star += f" REPLACE ({', '.join(replaced)})" if replaced else ""
        others = [f"{convert(column, origin)} AS {column.name}" for column, origin in renamed]
        others += [f"{_value_of_added_column(column)} AS {column.name}" for column in added]
        yield "SELECT " + ", ".join([star, *others])


def _convert_or_default(column: Column, origin: Column) -> str:
    """The value, or the type's default where it does not fit."""
    if column.type == origin.type:
        return origin.name
    if unwrap_type(column.type) == unwrap_type(origin.type):
        return f"ifNull({origin.name}, {_value_of_added_column(column)})"
    if isinstance(unwrap_type(column.type), (AggregateFunction, Array, Map, Tuple)):
        return _convert_by_cast(column, origin)
    function = "accurateCastOrNull" if is_nullable(column.type) else "accurateCastOrDefault"
    return f"{function}({origin.name}, '{unwrap_type(column.type)}')"


def _convert_by_cast(column: Column, origin: Column) -> str:
    return f"CAST({origin.name}, '{column.type}')" if column.type != origin.type else origin.name


def _value_of_added_column(column: Column) -> str:
    return column.default.text if column.default else f"defaultValueOfTypeName('{column.type}')"


def _compiles(transition: DataSourceTransition, query: str) -> bool:
    try:
        compile_forward(Text(query, transition.new.location), transition.running.source.columns, transition.new.columns)
    except InvalidQuery:
        return False
    return True
