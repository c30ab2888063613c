"""Compiled SQL without what tells a UInt64 from a narrower whole number, a DECIMAL(20,0) where those are INT or BIGINT,
and a DECIMAL with a fraction from one of fewer digits.

In: SQL in canonical form, and which of its columns hold such numbers. Out: SQL to be compared, and never run, in which
casts of such numbers to DECIMAL are left out, and so is the wrap of a sum that cannot reach 2^64. Invariant: a cast is
left out only where it keeps the value, and only if each use of what it gives depends on the value alone
(`widened_numbers`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from sqlglot import exp

from penstock.model.manifest import BoundColumn, View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import AggregateFunction, Int, SimpleAggregateFunction, Type, unwrap_type
from penstock.plan.equivalence.widened_numbers import (
    COMPARISONS,
    UNSIGNED,
    ColumnUses,
    column_uses,
    fraction_of,
    is_value_use,
    stored_type_family,
    values_of_choice,
)
from penstock.sql.analysis.constant_folding import known_value
from penstock.sql.analysis.opaque_calls import call_name, parse_opaque, write_opaque
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

UINT64 = Int(64, signed=False)
_NUMBER_STATES = frozenset(["min", "max", "any"])
"""Aggregates, also with If, whose state is one of the numbers."""
_PICKS = ("min", "max", "first", "last")
_WRAP = 2**64
_DIGITS, _MOST_DIGITS = 20, 38
"""Digits of a UInt64, and of a DECIMAL in which a sum of such is kept."""

Columns = frozenset[tuple[str, str]]
"""Pairs of a physical table and a physical column."""


@dataclass(frozen=True, slots=True)
class NumberColumns:
    """Which columns hold whole numbers of at most 64 bits, by name in folded case."""

    numbers: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    """Those that hold states of sums of such numbers: they may need more digits."""
    narrow: frozenset[str] = frozenset()
    """Those that are unsigned and have 32 bits at most in all rows that are compared, and sums of these: no sum of
    them gets to 2^64."""


def counted_type(sql: str, column: BoundColumn) -> str:
    """What counts of the stored type of a column for a view that reads it."""
    name = UNSIGNED if is_unsigned(column.type) else spark_type(column.type)
    return stored_type_family(sql, column.name, name)


def is_unsigned(of: Type) -> bool:
    """Whether values of a type are DECIMALs that stand for a UInt64, or for a sum of such."""
    return _number_in(of) == UINT64


def is_wider_number(of: Type, live: Type) -> bool:
    """Whether a column holds the same numbers as the live one, of fewer bits there, and merges them in the same way.
    A simple aggregate that sums wraps around at the end of its own type."""
    number, narrow = _number_in(of), _number_in(live)
    if number != UINT64 or narrow is None or narrow.signed or narrow.bits > 32:
        return False
    match unwrap_type(of), unwrap_type(live):
        case AggregateFunction(), AggregateFunction():
            return _aggregate_of(unwrap_type(of)) == _aggregate_of(unwrap_type(live))
        case Int(), Int():
            return _aggregate_of(of) == _aggregate_of(live) and _aggregate_of(of) in {"", *_NUMBER_STATES}
        case _:
            return False


def _aggregate_of(of: Type) -> str:
    """The aggregate by which values of a type are merged; '' for none."""
    return of.function if isinstance(of, (AggregateFunction, SimpleAggregateFunction)) else ""


def _number_in(of: Type) -> Int | None:
    """The type of the whole numbers that a type holds, if these have at most 64 bits."""
    match unwrap_type(of):
        case Int(bits) as number if bits <= 64:
            return number
        case AggregateFunction(function, (argument, *_), ()):
            inner = unwrap_type(argument)
            is_number = function.removesuffix("If") in _NUMBER_STATES | {"sum"}
            return inner if is_number and isinstance(inner, Int) and inner.bits <= 64 else None
        case _:
            return None


def _is_sum(of: Type) -> bool:
    inner = unwrap_type(of)
    return isinstance(inner, AggregateFunction) and inner.function.removesuffix("If") == "sum"


def narrow_columns(live: Iterable[View]) -> Columns:
    """The columns of live tables that hold unsigned whole numbers of at most 32 bits, or sums of these."""
    return frozenset(
        (source.binding.table, column.physical)
        for view in live
        for source in (view.trigger, *view.others)
        for column in source.binding.columns
        if (number := _number_in(column.type)) is not None and not number.signed and number.bits <= 32
    )


def number_columns(view: View, narrow: Columns) -> NumberColumns:
    """What the columns of a view's sources hold; a name counts only if it is so in every source."""
    bound = [
        (source.binding.table, column) for source in (view.trigger, *view.others) for column in source.binding.columns
    ]

    def named(is_kind: Callable[[str, BoundColumn], bool]) -> frozenset[str]:
        others = {column.name.casefold() for table, column in bound if not is_kind(table, column)}
        return frozenset(column.name.casefold() for _, column in bound) - others

    return NumberColumns(
        named(lambda _, column: _number_in(column.type) is not None and not _is_sum(column.type)),
        named(lambda _, column: _number_in(column.type) is not None and _is_sum(column.type)),
        named(lambda table, column: (table, column.physical) in narrow),
    )


def fraction_columns(view: View) -> Mapping[str, tuple[int, int]]:
    """The precision and the scale of the columns that are DECIMALs with a fraction, by name in folded case; a name
    counts only if it has one type in every source."""
    bound = [column for source in (view.trigger, *view.others) for column in source.binding.columns]
    types = {(column.name.casefold(), fraction_of(spark_type(column.type))) for column in bound}
    names = [name for name, _ in types]
    return {name: sizes for name, sizes in types if sizes is not None and names.count(name) == 1}


def without_fraction_casts(sql: str, columns: Mapping[str, tuple[int, int]]) -> str:
    """The SQL without casts of DECIMALs with a fraction to ones of more digits before the point, where only the value
    counts."""
    tree, uses = parse_opaque(sql) if columns else None, column_uses(sql)
    if tree is None or uses is None:
        return sql
    known = _without_other_aliases(tree, NumberColumns(frozenset(columns))).numbers
    for cast in reversed(list(tree.find_all(exp.Cast))):
        value = cast.this
        is_read = isinstance(value, exp.Column) and bool(value.table) and value.name.casefold() in known
        to = fraction_of(cast.to.sql(dialect=DIALECT)) if is_read else None
        have = columns[value.name.casefold()] if is_read else None
        if to is None or have is None or to[1] != have[1] or to[0] < have[0]:
            continue
        if is_value_use(cast, uses, f"decimal{to[1]}"):
            cast.replace(value.copy())
    return write_opaque(tree)


@lru_cache(maxsize=256)
def without_decimals(sql: str, columns: NumberColumns) -> str:
    """The SQL without casts of whole numbers to DECIMAL that keep the value, where only the value counts."""
    tree, uses = parse_opaque(sql), column_uses(sql)
    if tree is None or uses is None or not (columns.numbers or columns.sums):
        return sql
    reader = _Reader(_without_other_aliases(tree, columns), uses)
    while _replace_all(reader, tree):  # what is left of a cast may make another one redundant
        pass
    return write_opaque(tree)


def _replace_all(reader: _Reader, tree: exp.Expr) -> bool:
    """Whether a cast was replaced; from the inside out."""
    casts = reversed(list(tree.find_all(exp.Cast)))
    return sum(map(reader.replace, casts)) > 0


def _without_other_aliases(tree: exp.Expr, columns: NumberColumns) -> NumberColumns:
    """The columns whose names are given to nothing else in the query."""
    given = {
        alias.alias.casefold()
        for alias in tree.find_all(exp.Alias)
        if not (isinstance(alias.this, exp.Column) and alias.this.name.casefold() == alias.alias.casefold())
        and not _is_last_output(alias, tree)
    }
    return NumberColumns(columns.numbers - given, columns.sums - given, columns.narrow - given)


def _is_last_output(alias: exp.Alias, tree: exp.Expr) -> bool:
    """Whether it names a column of the result, which nothing in a query that is one SELECT reads."""
    return alias.parent is tree and len(list(tree.find_all(exp.Query))) == 1


@dataclass(frozen=True, slots=True)
class _Reader:
    """Tells what expressions of one query give."""

    columns: NumberColumns
    uses: ColumnUses

    def replace(self, cast: exp.Cast) -> bool:
        """Put the value that a cast to DECIMAL keeps in its place; False if it may differ from the cast."""
        digits, value = _digits(cast.to), cast.this
        if digits is None or not isinstance(value, exp.Expr):
            return False
        number = known_value(value)
        if isinstance(number, int) and not isinstance(number, bool):
            kept = _whole_literal(number) if _is_whole_or_null(cast) and self._is_beside_numbers(cast) else None
        else:
            kept = self._kept_value(value, digits) if is_value_use(cast, self.uses, "unsigned") else None
        if kept is not None:
            cast.replace(kept)
        return kept is not None

    def _kept_value(self, value: exp.Expr, digits: int) -> exp.Expr | None:
        """The number or the sum that is cast to a DECIMAL of that many digits, if it has no more."""
        if digits < _DIGITS:
            return None
        wrapped = _wrapped(value)
        if wrapped is not None:
            return wrapped.copy() if self.is_sum(wrapped) and self.is_narrow(wrapped) else None
        is_held = self.is_number(value) or (self.is_sum(value) and (digits == _MOST_DIGITS or self.is_narrow(value)))
        return value.copy() if is_held else None

    def is_number(self, node: exp.Expr) -> bool:
        """Whether it gives a whole number of at most 64 bits, or NULL."""
        return self._is_made_of(node, self.columns.numbers)

    def is_sum(self, node: exp.Expr) -> bool:
        """Whether it gives the sum of such numbers, in a type that holds it, or NULL."""
        if _is_call(node, ("sum",)):
            return self.is_number(node.expressions[0]) or self._is_made_of(node.expressions[0], self.columns.sums)
        if isinstance(node, exp.Cast):
            return _digits(node.to) == _MOST_DIGITS and self.is_sum(node.this)
        parts = values_of_choice(node) if not isinstance(node, exp.Paren) else [node.this]
        summed = [each for each in parts if not _is_whole_or_null(each)]
        return len(summed) == 1 and self.is_sum(summed[0])

    def is_narrow(self, node: exp.Expr) -> bool:
        """Whether all that is summed is narrow."""
        names = {each.name.casefold() for each in _summed_columns(node)}
        return bool(names) and names <= self.columns.narrow

    def _is_made_of(self, node: exp.Expr, names: frozenset[str]) -> bool:
        match node:
            case exp.Column():
                return bool(node.table) and node.name.casefold() in names
            case exp.Paren() | exp.First() | exp.Last() | exp.IgnoreNulls():
                return self._is_made_of(node.this, names)
            case exp.Cast():
                digits = _digits(node.to)
                return digits is not None and digits >= _DIGITS and self._is_made_of(node.this, names)
            case _ if _is_call(node, _PICKS):
                return self._is_made_of(node.expressions[0], names)
            case _:
                parts = values_of_choice(node)
                found = [each for each in parts if not _is_whole_or_null(each)]
                return bool(found) and all(self._is_made_of(each, names) for each in found)

    def _is_beside_numbers(self, constant: exp.Expr) -> bool:
        """Whether it is compared with such a number, or the other value of a choice of one."""
        around = constant.parent
        while isinstance(around, exp.Paren):
            around = around.parent
        if isinstance(around, exp.If) and isinstance(around.parent, exp.Case):
            around = around.parent
        if around is None:
            return False
        is_compared = isinstance(around, COMPARISONS)
        values = around.iter_expressions() if is_compared else values_of_choice(around)
        others = [each for each in values if not _is_whole_or_null(each)]
        is_beside = bool(others) and all(self.is_number(each) or self.is_sum(each) for each in others)
        return is_beside and (is_compared or is_value_use(around, self.uses, "unsigned"))


def _summed_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of a sum that are not in a condition of it."""
    match node:
        case exp.Column():
            yield node
        case exp.If() | exp.Case() | exp.Coalesce():
            for each in values_of_choice(node):
                yield from _summed_columns(each)
        case exp.Paren() | exp.Cast():
            yield from _summed_columns(node.this)
        case _:
            for each in node.iter_expressions():
                yield from _summed_columns(each)


def _wrapped(node: exp.Expr) -> exp.Expr | None:
    """The value x of `x % 2^64`, without a cast around it that holds every sum."""
    is_wrap = isinstance(node, exp.Mod) and known_value(node.expression) == _WRAP
    found = node.this if is_wrap else None
    while isinstance(found, exp.Paren) or (isinstance(found, exp.Cast) and _digits(found.to) == _MOST_DIGITS):
        found = found.this
    return found if isinstance(found, exp.Expr) else None


def _digits(to: exp.DataType) -> int | None:
    """The digits of a DECIMAL without a fraction; None for another type."""
    sizes = [each.name for each in to.expressions]
    is_whole = to.this == exp.DType.DECIMAL and len(sizes) == 2 and sizes[1] == "0"
    return int(sizes[0]) if is_whole else None


def _whole_literal(number: int) -> exp.Expr:
    literal = exp.Literal.number(abs(number))
    return literal if number >= 0 else exp.Neg(this=literal)


def _is_call(node: exp.Expr, names: tuple[str, ...]) -> bool:
    return call_name(node) in names and len(node.expressions) == 1


def _is_whole_or_null(value: exp.Expr) -> bool:
    found = known_value(value)
    return found is None or (isinstance(found, int) and not isinstance(found, bool) and abs(found) < _WRAP)
