"""A piece of Spark SQL with its types: the unit that the compiler works on.

Invariant: `spark` is the type that Spark gives `sql`; `type` is the ClickHouse type of the same value. They differ
where Spark has no such type: a comparison is a BOOLEAN in Spark and a UInt8 in ClickHouse.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeAlias, Union

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.spark_types import FINE_TIME, value_type
from penstock.sql.spark_text import bigint_literal, double_literal, string_literal

Constant: TypeAlias = Union[str, int, float, bool]

NOTHING = t.Tuple(())
"""The type of an empty array's elements and (as Nullable) of NULL: it converts to every other type."""


@dataclass(frozen=True, slots=True)
class BigintForms:
    """Forms of one BIGINT, so that arithmetic on it can wrap around."""

    sql: str
    """The plain form."""
    or_null: str
    """NULL where a step leaves 64 bits."""
    in_decimals: str
    """In decimals, which no step leaves."""
    reach: int
    """The greatest possible absolute value."""


@dataclass(frozen=True, slots=True)
class TypedSql:
    """Spark SQL with its type in ClickHouse and in Spark."""

    sql: str
    type: Type
    spark: str
    literal: Constant | None = None
    """The value of a literal, on which the type of a result may depend: `-5` is an Int8 because 5 fits."""
    unit: str | None = None
    """The unit of an interval, whose `sql` is its number."""
    whole: BigintForms | None = None
    """Other forms of a BIGINT, valid only while `whole.sql` is still this `sql`."""
    computed: Constant | None = None
    """The value of any other expression that is known when the SQL is compiled: `24 * 3600`, `toInt64(5)`."""

    @property
    def constant(self) -> Constant | None:
        """The value, where it is known when the SQL is compiled."""
        return self.computed if self.literal is None else self.literal

    @property
    def bare(self) -> Type:
        return unwrap_type(self.type)

    @property
    def nullable(self) -> bool:
        return is_nullable(self.type)


def typed_sql(sql: str, of: Type) -> TypedSql:
    """SQL whose Spark type is the one in which values of the ClickHouse type are stored."""
    return TypedSql(sql, of, value_type(of))


def replace_sql(value: TypedSql, sql: str) -> TypedSql:
    """Other SQL of the same types, whose value is not known."""
    return replace(value, sql=sql, literal=None, computed=None)


NULL = TypedSql("NULL", t.Nullable(NOTHING), "VOID")
NEVER = "false"
"""A condition that is never true."""


def is_null(value: TypedSql) -> bool:
    """Whether a value is the literal NULL (or of the type of nothing)."""
    return value.bare == NOTHING


def integer(value: int) -> TypedSql:
    """An integer literal, of the least ClickHouse type that holds it."""
    of = integer_literal_type(value)
    spark = value_type(of)
    if spark == "INT":
        return TypedSql(str(value), of, spark, value)
    sql = bigint_literal(value) if spark == "BIGINT" else f"CAST({value} AS {spark})"
    return TypedSql(sql, of, spark, value)


_UINT64 = t.Int(64, signed=False)


def integer_literal_type(value: int) -> t.Int:
    """The least ClickHouse integer type that holds a literal; unsigned unless it is negative, or
    of a UInt64 what is beside it is signed."""
    for bits in (8, 16, 32, 64):
        of = t.Int(bits, signed=value < 0)
        if of.low <= value <= of.high:
            return of if of != _UINT64 else t.Int(64, signed=False, signed_as_well=value < 2**63)
    return t.Int(64, signed=value < 0)


def computed_type(of: Type) -> Type:
    """The type of what is computed of an integer, which is no longer that of a literal; other types as they are."""
    return t.Int(of.bits, of.signed) if isinstance(of, t.Int) else of


def text(value: str) -> TypedSql:
    """A string literal."""
    return TypedSql(string_literal(value), t.String(), "STRING", value)


def as_spark(value: TypedSql, spark: str) -> str:
    """The SQL of a value as another Spark type, by a cast that keeps its value."""
    if value.spark == spark:
        return value.sql
    if spark == FINE_TIME and value.spark in ("TIMESTAMP", "DATE"):
        return fine_from_timestamp(value.sql if value.spark == "TIMESTAMP" else f"CAST({value.sql} AS TIMESTAMP)")
    if isinstance(value.constant, int) and spark in ("BIGINT", "DOUBLE") and not isinstance(value.constant, bool):
        return bigint_literal(value.constant) if spark == "BIGINT" else double_literal(value.constant)
    cast = f"CAST({value.sql} AS {spark})"
    wide = isinstance(value.bare, t.Int) and value.bare.bits >= 32 and value.constant is None
    # Spark leaves out the cast to FLOAT of a whole number that becomes a DOUBLE later on, with its rounding
    return f"({cast} * CAST(1 AS FLOAT))" if wide and spark == "FLOAT" and value.spark in ("INT", "BIGINT") else cast


def fine_from_timestamp(sql: str) -> str:
    """A Spark timestamp as decimal seconds; Spark's own cast goes through a double."""
    return f"CAST(CAST(unix_micros({sql}) AS DECIMAL(20,0)) * 0.000001BD AS {FINE_TIME})"


def as_condition(value: TypedSql) -> str:
    """A value as a Spark boolean: a number is true where it is not 0."""
    if is_null(value):
        return "CAST(NULL AS BOOLEAN)"
    if value.spark == "BOOLEAN":
        return value.sql
    return f"({value.sql} <> 0)"


def null_test(value: TypedSql) -> TypedSql:
    """`value IS NULL` as a UInt8; the constant false where the type has no NULL."""
    may_be_null = value.nullable or isinstance(value.bare, t.Dynamic)
    return TypedSql(f"({value.sql} IS NULL)" if may_be_null else NEVER, t.Int(8, signed=False), "BOOLEAN")


def unless_null(sql: str, *operands: TypedSql) -> str:
    """`sql`, but NULL where an operand is NULL, for SQL that would give a NULL operand a value of its own."""
    tests = " OR ".join(dict.fromkeys(f"{operand.sql} IS NULL" for operand in operands if operand.nullable))
    return f"if({tests}, NULL, {sql})" if tests else sql


def number_sql(value: TypedSql) -> str:
    """A number's SQL; a comparison, which is a Spark boolean, as 1 or 0."""
    return as_spark(value, "INT") if value.spark == "BOOLEAN" else value.sql


def boolean(sql: str, *operands: TypedSql) -> TypedSql:
    """A Spark boolean whose ClickHouse type is UInt8."""
    return TypedSql(sql, nullable_if_any(t.Int(8, signed=False), operands), "BOOLEAN")


_NEVER_NULLABLE = (t.Array, t.Map, t.Tuple, t.Dynamic, t.Nullable)


def nullable_if_any(of: Type, operands: tuple[TypedSql, ...] | list[TypedSql]) -> Type:
    """`of`, Nullable where an operand may be NULL. Arrays, maps and tuples are never Nullable."""
    if any(operand.nullable for operand in operands) and not isinstance(of, _NEVER_NULLABLE):
        return t.Nullable(of)
    return of


_CUT = re.compile(r"substring\(CAST\(|unhex\(")
"""How SQL begins that takes a part of a text by bytes, or bytes for a text."""


def is_cut(value: TypedSql) -> bool:
    """Whether the expression cuts a text between any two bytes, or makes it of bytes, so that it may be no UTF-8."""
    return _CUT.search(value.sql) is not None
