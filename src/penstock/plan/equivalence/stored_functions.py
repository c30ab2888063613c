"""What a view gives of history, as functions of what a live view has stored of it.

In: a live view and its successor, the latter over bindings that show the live tables. Out: `StoredFunctions`: for each
column of the successor Spark SQL over the columns that the live view writes, and whether several of the stored rows may
make up one of the successor's. Invariant: both views read the same rows; each row that the successor gives is made of
whole rows of the live view. A truncation of a time is a function of each finer one, as units nest in each other.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.model.manifest import View
from penstock.model.quick_dataclass import dataclass
from penstock.plan.equivalence.canonical_view import NO_VALUES, KnownValues, canonical_view
from penstock.plan.equivalence.decimal_numbers import counted_type, narrow_columns
from penstock.plan.equivalence.redundant_date_bounds import drop_redundant_bounds, widened_columns
from penstock.plan.equivalence.truncated_times import UNITS, part_of_time, truncation, units_within
from penstock.plan.equivalence.view_equivalence import by_value, content_function, view_content
from penstock.plan.equivalence.view_parts import ViewMeaning, stored_type, view_meaning
from penstock.plan.tables.column_placement import DerivedColumn
from penstock.plan.tables.stored_claims import Proof
from penstock.sql.analysis.constant_folding import Unknown, fold_constants, known_value
from penstock.sql.analysis.opaque_calls import call_name, computes_row_by_row, write_opaque
from penstock.sql.analysis.sure_constants import is_sure, zero_sum
from penstock.sql.spark_text import DIALECT, quote_identifier

_PICKS = frozenset(["min", "max", "first", "last"])
"""Aggregates that give one of the values."""
_ENDS = ("first", "last")
_NOTHING = {"sum": 0, "count": None}
"""Aggregates that are 0 where each value is this."""
_UINT64 = "DECIMAL(20, 0)"
"""The stored type of a UInt64."""
_SET = "collect_set"
"""The aggregate that gives the different values which are not NULL."""
_STORED = "__stored"
"""Stands for the target, before a column of it."""


@dataclass(frozen=True, slots=True)
class StoredFunctions:
    """The columns of a view over the rows that another one has stored."""

    columns: Mapping[str, str]
    """Spark SQL over the columns that the live view writes, by physical column of the successor."""
    keys: tuple[str, ...]
    """The same for the keys of its GROUP BY."""
    coarser: bool
    """Whether several stored rows may have one key."""


@dataclass(frozen=True, slots=True)
class RolledUp:
    """The stored rows as those of the changed view."""

    derived: Mapping[str, DerivedColumn]
    """The columns that have to be computed of stored ones, by logical name."""
    live: View
    coarser: bool
    """Whether several stored rows may make up one of the view's."""
    proofs: tuple[Proof, ...] = ()
    """Why the stored values of columns with a narrower type are values of it."""


def stored_functions(
    live: View, after: View, names: Mapping[str, str], origins: Mapping[str, str], known: KnownValues = NO_VALUES
) -> StoredFunctions | None:
    """The columns of `after` as functions of the columns of `live`, which are called by `names`: logical names by
    physical column. `origins` are the live names of the columns that those of `after` continue: of equal ones, a column
    is that one. None where one of them, or the set of rows, is none."""
    wide, is_by_value = widened_columns([live], [after]), content_function([live], [after]) is not view_content
    narrow = narrow_columns([live])

    def meaning(view: View, values: KnownValues) -> ViewMeaning | None:
        view = drop_redundant_bounds(view, wide)
        if not is_by_value:
            return view_meaning(view, values, stored_type)
        alike = by_value(canonical_view(view, values), narrow)
        return view_meaning(alike, values, lambda each: counted_type(alike.sql, each))

    before, now = meaning(live, NO_VALUES), meaning(after, known)
    if before is None or now is None or before.rows != now.rows or (before.keys is None) != (now.keys is None):
        return None
    texts = {names[field]: before.texts.of(node) for field, node in before.columns.items() if not _is_constant(node)}
    stored = {text: name for name, text in texts.items()}
    columns = {}
    for field, node in now.columns.items():
        origin = origins.get(field, "")
        own = {texts[origin]: origin} if origin in texts else {}
        columns[field] = over_stored(node, now, {**stored, **own})
    keys = [over_stored(node, now, stored) for node in now.keys or ()]
    written = {field: sql for field, sql in columns.items() if sql is not None}
    known_keys = tuple(sql for sql in keys if sql is not None)
    if len(written) != len(after.fields) or len(known_keys) != len(keys):
        return None
    coarser = bool(set(map(before.texts.of, before.keys or ())) - set(map(now.texts.of, now.keys or ())))
    if coarser and now.filters_groups:
        return None
    return StoredFunctions(written, known_keys, coarser)


def _text(node: exp.Expr) -> str:
    return str(node.sql(dialect=DIALECT))


def over_stored(node: exp.Expr, view: ViewMeaning, stored: Mapping[str, str]) -> str | None:
    """An expression of a view as Spark SQL over stored columns; None where it is no function of them."""
    whole = stored.get(view.texts.of(node))
    if whole is not None:
        return quote_identifier(whole)

    def replaced(node: exp.Expr) -> exp.Expr:
        name = stored.get(_text(node)) if not isinstance(node, exp.Identifier) else None
        if name is not None:
            return _column(name)
        found = _of_finer(node, view, stored)
        if found is None and view.keys is not None:
            found = _of_constant(node) or _of_count(node, stored)
        return found or node

    found = fold_constants(view.texts.tree(node).transform(replaced, copy=False))
    columns = list(found.find_all(exp.Column))
    if _reads_source(found) or not computes_row_by_row(found) or any(each.table != _STORED for each in columns):
        return None
    for column in columns:
        column.set("table", None)
    return write_opaque(found)


def _reads_source(node: exp.Expr) -> bool:
    """Whether a column of a source is left in it."""
    return any(isinstance(each, exp.Var) and each.name.startswith("<") for each in node.walk())


def _is_constant(node: exp.Expr) -> bool:
    is_read = node.find(exp.Column) is not None or _reads_source(node)
    return not is_read and computes_row_by_row(node)


def _column(name: str) -> exp.Column:
    return exp.column(name, table=_STORED, quoted=True)


def _of_constant(node: exp.Expr) -> exp.Expr | None:
    """What an aggregate gives for rows that all have one value; None where that depends on their number. A group has a
    row at least."""
    node = node.this if isinstance(node, exp.IgnoreNulls) else node
    name = call_name(node) if not isinstance(node, (exp.First, exp.Last)) else "first"
    values = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
    if name in _ENDS and isinstance(values[-1], exp.Boolean):
        values = values[:-1]  # whether NULL is passed over
    if name not in (*_PICKS, *_NOTHING, _SET) or len(values) != 1 or not isinstance(values[0], exp.Expr):
        return None
    value = values[0]
    found = known_value(value)
    if not _is_constant(value) or (isinstance(found, Unknown) and not is_sure(value)):
        return None
    if name in _PICKS or (name == "sum" and found is None):
        return value.copy()
    if isinstance(found, Unknown):
        return zero_sum(value) if name == "sum" else None
    if name == _SET:
        return exp.Array(expressions=[] if found is None else [value.copy()])
    return exp.Literal.number(0) if found == _NOTHING[name] and not isinstance(found, bool) else None


def _of_count(node: exp.Expr, stored: Mapping[str, str]) -> exp.Expr | None:
    """The number of values where each row has the same one, as the stored number of rows; None where there is none. It
    is cut to what a BIGINT holds, which no number of rows passes."""
    if call_name(node) != "count" or len(node.expressions) != 1 or not _is_constant(node.expressions[0]):
        return None
    value = node.expressions[0]
    while isinstance(value, (exp.Paren, exp.Cast)):
        value = value.this
    if isinstance(known_value(value), Unknown) or known_value(value) is None or not is_sure(node.expressions[0]):
        return None
    count = exp.Anonymous(this=node.name, expressions=[exp.Literal.number(1)])
    if _text(count) in stored:
        return _column(stored[_text(count)])
    name = stored.get(_text(exp.cast(count, _UINT64, dialect=DIALECT)))
    if name is None:
        return None
    rest = exp.Mod(this=_column(name), expression=exp.cast(exp.Literal.number(2**63), _UINT64, dialect=DIALECT))
    return exp.cast(exp.Paren(this=rest), "BIGINT", dialect=DIALECT)


def _of_finer(node: exp.Expr, view: ViewMeaning, stored: Mapping[str, str]) -> exp.Expr | None:
    """A truncation or a part of a time with a stored finer truncation in the place of the time; None where there is
    none."""
    unit, moment = _unit_of(node)
    if moment is None or _text(moment) not in view.moments:
        return None
    for finer in units_within(unit):
        name = next((stored[text] for text in _truncated(moment, finer) if text in stored), None)
        if name is not None:
            found = node.copy()
            inner = _unit_of(found)[1]
            assert inner is not None, "it is a copy of one"
            inner.replace(_column(name))
            return found
    return None


def _unit_of(node: exp.Expr) -> tuple[str, exp.Expr | None]:
    unit, moment = truncation(node)
    return (unit, moment) if moment is not None else part_of_time(node)


def _truncated(moment: exp.Expr, unit: str) -> tuple[str, ...]:
    """How the truncation of a time to a unit is written."""
    time = exp.func("call__date_trunc", exp.Literal.string(unit), moment.copy())
    date = exp.cast(time.copy(), "date")
    plain = [exp.cast(moment.copy(), "date")] if unit == "DAY" else []
    return tuple(map(_text, (time, *([date] if unit in UNITS[3:] else []), *plain)))
