"""Views in canonical form, to be compared, and the columns of a target that its views make known for older rows.

In: views, and the values that columns of their triggers are known to have in all rows of history. Out: views whose SQL
is canonical, and Spark SQL of added columns over the columns that the target has stored. Invariant: a column is derived
only if every view into the target would have given that value to each row that is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from sqlglot import exp

from penstock.model.manifest import View
from penstock.plan.tables.column_placement import DerivedColumn
from penstock.sql.analysis.canonical_query import CanonicalQuery, QueryInputs, canonical_query, replace_parts
from penstock.sql.analysis.opaque_calls import computes_row_by_row, is_constant, write_opaque
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import holds_floats

KnownValues: TypeAlias = Mapping[str, Mapping[str, str]]
"""Spark SQL of constants and of functions of other columns, or `NEVER_NULL`, by data source and logical column."""
NO_VALUES: KnownValues = MappingProxyType({})
_STORED = "__stored"
"""Stands for the target, before a column of it."""


def canonical_view(view: View, known: KnownValues = NO_VALUES) -> View:
    """The view with its SQL in canonical form; as it is where that has none."""
    found = canonical_form(view, known)
    return view if found is None else replace(view, sql=found.sql)


def canonical_form(view: View, known: KnownValues) -> CanonicalQuery | None:
    """The canonical form of a view's SQL; None where it has none."""
    values = known.get(view.trigger.binding.name, {})
    floats = sorted(
        column.name
        for source in (view.trigger, *view.others)
        for column in source.binding.columns
        if holds_floats(column.type)
    )
    return _cached_query(view.sql, view.trigger.placeholder, tuple(sorted(values.items())), tuple(floats))


@lru_cache(maxsize=512)
def _cached_query(
    sql: str, placeholder: str, values: tuple[tuple[str, str], ...], floats: tuple[str, ...]
) -> CanonicalQuery | None:
    return canonical_query(sql, QueryInputs({placeholder: dict(values)}, frozenset(floats)))


def derive_columns(
    views: Sequence[View], kept: Mapping[str, str], added: Mapping[str, str], known: KnownValues
) -> Mapping[str, DerivedColumn]:
    """Those of the `added` columns of a target that are constants or functions of its `kept` columns. Both are logical
    names by physical column, of live for the latter; all views into the target must give the same."""
    found: Mapping[str, DerivedColumn] | None = None
    for view in views:
        query = canonical_form(view, known)
        mine = _derive_in_view(query, view.fields, kept, added) if query is not None else {}
        found = mine if found is None else {name: sql for name, sql in found.items() if mine.get(name) == sql}
    return found or {}


def _derive_in_view(
    query: CanonicalQuery, fields: Sequence[str], kept: Mapping[str, str], added: Mapping[str, str]
) -> Mapping[str, DerivedColumn]:
    values = dict(zip(fields, query.outputs.values(), strict=False))
    stored = {
        str(values[field].sql(dialect=DIALECT)): exp.column(name, table=_STORED, quoted=True)
        for field, name in kept.items()
        if field in values and not is_constant(values[field])
    }
    found = {}
    for field, name in added.items():
        if field not in values:
            continue
        derived = replace_parts(values[field], stored)
        columns = list(derived.find_all(exp.Column))
        if computes_row_by_row(derived) and all(column.table == _STORED for column in columns):
            for column in columns:
                column.set("table", None)
            found[name] = DerivedColumn(write_opaque(derived), not columns)
    return found
