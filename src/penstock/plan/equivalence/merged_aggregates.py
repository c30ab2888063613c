"""Which aggregates an engine merges: of their values for some groups it makes that of all rows of these groups.

In: an aggregate as it is written in a canonical query, and how values are merged; or a view, and the columns of its
target that the engine merges. Out: whether the merged values are what one look at all rows gives. Invariant: an
expression whose form, type or NULLs are not known counts as one that is not merged: `minIf` gives 0 for no row, and
the values of `uniqExact`, `avg` and `round(sum(x))` do not add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlglot import exp

from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn, View
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import (
    AggregateFunction,
    Bool,
    Date,
    DateTime,
    DateTime64,
    Decimal,
    Float,
    Int,
    SimpleAggregateFunction,
    String,
    Type,
    is_nullable,
    unwrap_type,
)
from penstock.plan.diff.merged_rows import key_columns
from penstock.plan.equivalence.canonical_view import NO_VALUES, canonical_form
from penstock.plan.equivalence.value_types import WHOLE_TYPES, ReadColumns, type_text
from penstock.sql.analysis.constant_folding import known_value
from penstock.sql.analysis.opaque_calls import call_name, has_opaque_aggregate, is_constant, write_opaque
from penstock.sql.analysis.sure_constants import is_zero
from penstock.sql.spark_text import DIALECT
from penstock.sql.stored_types import spark_type

_GROUPED = frozenset(["expressions", "from_", "where", "joins", "laterals", "group"])
"""The parts of a SELECT that gives each group of the rows that it keeps."""
_ORDERED = (Bool, Date, DateTime, DateTime64, Decimal, Float, Int, String)
"""Types whose values Spark puts in the order of ClickHouse."""
_COUNTS = "18446744073709551616"
"""What the sums of a UInt64 are taken modulo of."""
_LOW = "CAST(4294967295 AS BIGINT)"
_SUM_OF_64_BITS = (
    f"SHIFTLEFT(SUM(SHIFTRIGHT({{x}}, 32)) + SHIFTRIGHT(SUM({{x}} & {_LOW}), 32), 32) | (SUM({{x}} & {_LOW}) & {_LOW})"
)
"""How the sum of an Int64 is written, which is taken modulo of 2^64."""


@dataclass(frozen=True, slots=True)
class GivenAggregate:
    """A call of an aggregate, and what it gives where it would be NULL, if that is said."""

    call: exp.Anonymous
    zero: exp.Expr | None

    @property
    def argument(self) -> exp.Expr:
        found = self.call.expressions[0]
        assert isinstance(found, exp.Expr)
        return found


def as_aggregate(node: exp.Expr) -> GivenAggregate | None:
    """The expression as one call of an aggregate; None if it is something else, or computes with one."""
    node = node.unnest()
    zero = None
    if isinstance(node, exp.Coalesce):
        if len(node.expressions) != 1 or not is_constant(node.expressions[0]):
            return None
        zero, node = node.expressions[0], node.this
    node = _as_largest(node.unnest())
    if not is_plain_call(node) or len(node.expressions) != 1:
        return None
    assert isinstance(node, exp.Anonymous)
    return GivenAggregate(node, zero)


def _as_largest(node: exp.Expr) -> exp.Expr:
    """`-min(-x)`, which is how the largest float is written, as `max(x)`; another expression as it is."""
    least: exp.Expr = node.this.unnest() if isinstance(node, exp.Neg) else node
    if (
        least is node
        or call_name(least) != "min"
        or len(least.expressions) != 1
        or not isinstance(least.expressions[0], exp.Neg)
    ):
        return node
    return exp.Anonymous(this="max", expressions=[least.expressions[0].this.unnest().copy()])


def is_plain_call(node: exp.Expr) -> bool:
    """Whether it is one call, with nothing around it and no FILTER or DISTINCT."""
    return isinstance(node, exp.Anonymous) and node.find(exp.Distinct, exp.Filter, exp.Window) is None


def is_merged_by(function: str, given: GivenAggregate, is_never_null: Callable[[exp.Expr], bool]) -> bool:
    """Whether a function over the values of an aggregate, one for each group, gives that of all their rows."""
    match function, call_name(given.call):
        case ("sum", "sum" | "count"):
            return given.zero is None or is_zero(given.zero)
        case ("min", "min") | ("max", "max"):
            # What stands for no value in one group would be a value beside those of other groups.
            return given.zero is None or is_never_null(given.argument)
        case _:
            return False


def gives_what_is_merged(view: View, merged: Mapping[str, Type]) -> bool:
    """Whether the engine makes of what a view gives batch by batch what it gives of all rows. `merged` are the columns
    that the engine merges, by physical name: a plain number is summed."""
    query = canonical_form(view, NO_VALUES)
    if query is None or not {part for part, value in query.tree.args.items() if value} <= _GROUPED:
        return False
    columns = ReadColumns.of(view)
    if view.others or len(list(query.tree.find_all(exp.Query))) > 1:
        columns = ReadColumns({})  # a name may be that of a column of another table
    given = dict(zip(view.fields, (each.unalias() for each in query.tree.expressions), strict=True))
    return all(field in given and _is_merged(given[field], of, columns) for field, of in merged.items())


def merged_columns(source: DataSource, columns: Iterable[BoundColumn]) -> Mapping[str, Type]:
    """The columns of a table that its engine merges, if it merges all that is no part of the key, by physical name."""
    return {each.physical: each.type for each in columns if each.name not in key_columns(source)}


def _is_merged(value: exp.Expr, of: Type, columns: ReadColumns) -> bool:
    match of:
        case AggregateFunction():
            # A state is what its aggregate gives, as the compiler checks; but a view may also pick one of several.
            picks = value.find(exp.First, exp.Last) is not None or call_name(value) in ("first", "last", "max_by")
            return has_opaque_aggregate(value) and not picks
        case SimpleAggregateFunction(function, inner):
            return _is_merged_value(value, function, inner, columns)
        case _:
            return _is_merged_value(value, "sum", of, columns)


def _is_merged_value(value: exp.Expr, function: str, of: Type, columns: ReadColumns) -> bool:
    cut = _without_mask(value, of) if function == "sum" else None
    stored = spark_type(of) if cut is None else "BIGINT"
    given = as_aggregate(without_widening(cut or value, stored))
    if given is None or not is_merged_by(function, given, columns.is_never_null):
        return False
    if cut is not None and call_name(given.call) != "count":
        return False  # what is more than the type holds is another number until rows are merged
    may_be_null = given.zero is None and call_name(given.call) != "count" and not is_nullable(of)
    if may_be_null and not columns.is_never_null(given.argument):
        return False
    if function != "sum" and not isinstance(unwrap_type(of), _ORDERED):
        return False  # an Enum is stored as its text, and ordered by its number
    have = "BIGINT" if call_name(given.call) == "count" else columns.type_of(given.argument)
    return have is not None and _holds(stored, have, function)


def _holds(stored: str, have: str, function: str) -> bool:
    """Whether a column holds what an aggregate of values of a type gives, as it is."""
    if have in WHOLE_TYPES:
        return stored in WHOLE_TYPES and WHOLE_TYPES.index(have) <= WHOLE_TYPES.index(stored)
    if function == "sum" and have in ("FLOAT", "DOUBLE"):
        return stored == "DOUBLE"
    if function == "sum" and have.startswith("DECIMAL") and stored.startswith("DECIMAL"):
        return have.partition(",")[2] == stored.partition(",")[2]
    return stored == have


# ------------------------------------------------------------------------------------- what is written around it


def without_widening(value: exp.Expr, stored: str) -> exp.Expr:
    """An expression without what only makes it a value of the stored type: casts to wider types, and what keeps the sum
    of 64 bits in its range, which the engine does with the sum of such sums too."""
    value = value.unnest()
    match value:
        case exp.Coalesce() if len(value.expressions) == 1 and isinstance(
            value.this.unnest(), (exp.Cast, exp.BitwiseOr)
        ):
            inner = without_widening(value.this, stored)
            return exp.Coalesce(this=inner.copy(), expressions=[value.expressions[0].copy()])
        case exp.Cast() if _is_wide(value, stored):
            return without_widening(value.this, stored)
        case exp.Mod() if stored == "DECIMAL(20,0)" and value.expression.name == _COUNTS:
            return without_widening(value.this, stored)
        case exp.If() if stored == "BIGINT" and _is_signed(value):
            return without_widening(value.args["false"], stored)
        case exp.BitwiseOr() if stored == "BIGINT":
            return _as_sum(value) or value
        case _:
            return value


def _without_mask(value: exp.Expr, of: Type) -> exp.Expr | None:
    """What is reduced to 32 bits for a UInt32, as the engine reduces the sum of such numbers; None for another
    expression."""
    node = value.unnest()
    node = node.this.unnest() if isinstance(node, exp.Cast) and type_text(node) == spark_type(of) else node
    if unwrap_type(of) != Int(32, signed=False) or not isinstance(node, exp.BitwiseAnd):
        return None
    found = node.this
    return found if known_value(node.expression) == 2**32 - 1 and isinstance(found, exp.Expr) else None


def _is_wide(cast: exp.Cast, stored: str) -> bool:
    to = type_text(cast)
    return to == stored or (to == "DECIMAL(38,0)" and stored == "DECIMAL(20,0)")


def _is_signed(choice: exp.If) -> bool:
    """Whether it makes a number of 64 bits one with a sign: `IF(9223372036854775807 < n, n - 2^64, n)`."""
    test, less, number = choice.this.unnest(), choice.args["true"].unnest(), choice.args.get("false")
    return (
        isinstance(test, exp.LT)
        and isinstance(less, exp.Sub)
        and test.expression == less.this == number
        and (test.this.name, less.expression.name) == ("9223372036854775807", _COUNTS)
    )


def _as_sum(value: exp.BitwiseOr) -> exp.Expr | None:
    """The sum of an Int64 as `sum(x)`; None for another expression."""
    masked = next((each.expressions[0] for each in value.expression.find_all(exp.Anonymous)), None)
    if not isinstance(masked, exp.BitwiseAnd) or not isinstance(masked.this, exp.Expr):
        return None
    written = _SUM_OF_64_BITS.format(x=masked.this.sql(dialect=DIALECT)).lower()
    if write_opaque(value).lower() != written:
        return None
    return exp.Anonymous(this="sum", expressions=[masked.this.unnest().copy()])
