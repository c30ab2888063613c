"""Implicit conversions: those that never lose a value, between stored types and to a common type.

In: a value, or the SQL of a column with its type, and the wanted type. Out: Spark SQL, or None where values may be
lost. Invariant: the result has exactly the Spark type in which the wanted type is stored.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.common_type import INTEGER_DIGITS, supertype
from penstock.sql.expr.spark_types import FINE_TIME, value_default, value_type
from penstock.sql.expr.typed import NOTHING, TypedSql, as_spark, typed_sql
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.stored_types import spark_type


def cast_column(sql: str, have: Type, want: Type) -> str | None:
    """The SQL of a stored column of type `have` as type `want`; None if that may lose a value."""
    if isinstance(have, t.AggregateFunction) or isinstance(want, t.AggregateFunction):
        return sql if is_same_state(have, want) else _wider_state(sql, have, want)
    if is_nullable(have) and not is_nullable(want):
        return None
    if not _holds(unwrap_type(want), unwrap_type(have)):
        return None
    return cast_by_name(sql, unwrap_type(have), unwrap_type(want))


def implicit_cast(value: TypedSql, want: Type) -> str | None:
    """The SQL of a value as a type that holds all its values, in stored form; None if the type does not."""
    if unwrap_type(value.type) == NOTHING:
        return f"CAST(NULL AS {value_type(want)})" if is_nullable(want) else None
    if not _holds(unwrap_type(want), value.bare):
        return None
    if moves_fields(value.bare, unwrap_type(want)):
        return cast_by_name(value.sql, value.bare, unwrap_type(want))
    return as_spark(value, value_type(want))


def cast_by_name(sql: str, have: Type, want: Type) -> str:
    """A stored value as another type, by casts that keep it. Spark casts the fields of tuples by their places,
    ClickHouse by their names: where these differ, each field is read by its name."""
    if spark_type(have) == spark_type(want):
        return sql
    if spark_type(want) == FINE_TIME and spark_type(have) in ("TIMESTAMP", "DATE"):
        return as_spark(typed_sql(sql, have), FINE_TIME)
    if not moves_fields(have, want):
        return f"CAST({sql} AS {spark_type(want)})"
    match (have, want):
        case (t.Array(old), t.Array(new)):
            return f"transform({sql}, ` e` -> {cast_by_name('` e`', unwrap_type(old), unwrap_type(new))})"
        case (t.Map(_, old), t.Map(_, new)):
            values = cast_by_name("` v`", unwrap_type(old), unwrap_type(new))
            return f"CAST(transform_values({sql}, (` k`, ` v`) -> {values}) AS {spark_type(want)})"
        case (t.Tuple(), t.Tuple()):
            return _cast_fields(sql, have, want)
        case _:
            raise AssertionError("only these have fields")


def _cast_fields(sql: str, have: t.Tuple, want: t.Tuple) -> str:
    """A tuple as another one: its fields by their names if both types name them, else by their places."""
    stored = [(name or f"_{place}", of) for place, (name, of) in enumerate(have.fields, 1)]
    by_name = {name: (name, of) for name, of in stored} if are_matched_by_name(have, want) else None
    parts = []
    for place, (name, new) in enumerate(want.fields, 1):
        source = by_name.get(name or "") if by_name is not None else stored[place - 1]
        parts.append(f"{string_literal(name or f'_{place}')}, {_cast_field(sql, source, new)}")
    return f"named_struct({', '.join(parts)})"


def _cast_field(sql: str, source: tuple[str, Type] | None, want: Type) -> str:
    """A field of a tuple as another type; the type's default for a field that the tuple does not have."""
    if source is None:
        return value_default(want)
    name, have = source
    return cast_by_name(f"{sql}.{quote_identifier(name)}", unwrap_type(have), unwrap_type(want))


def moves_fields(have: Type, want: Type) -> bool:
    """Whether fields of tuples in a value get another place: both types name them, and the names differ."""
    match (have, want):
        case (t.Array(old), t.Array(new)) | (t.Map(_, old), t.Map(_, new)):
            return moves_fields(unwrap_type(old), unwrap_type(new))
        case (t.Tuple(fields), t.Tuple(others)) if are_matched_by_name(have, want):
            if [name for name, _ in fields] != [name for name, _ in others]:
                return True
            pairs = zip(fields, others, strict=True)
            return any(moves_fields(unwrap_type(old), unwrap_type(new)) for (_, old), (_, new) in pairs)
        case (t.Tuple(fields), t.Tuple(others)) if len(fields) == len(others):
            pairs = zip(fields, others, strict=True)
            return any(moves_fields(unwrap_type(old), unwrap_type(new)) for (_, old), (_, new) in pairs)
        case _:
            return False


def are_matched_by_name(have: t.Tuple, want: t.Tuple) -> bool:
    """Whether ClickHouse converts a tuple by the names of its fields: only if both types name all of them."""
    fields = (*have.fields, *want.fields)
    return bool(have.fields and want.fields) and all(name is not None for name, _ in fields)


def is_same_state(have: Type, want: Type) -> bool:
    """Whether states of one type are states of the other: the same function in the same stored form."""
    if not isinstance(have, t.AggregateFunction) or not isinstance(want, t.AggregateFunction):
        return False
    if _state_function(have) != _state_function(want) or have.parameters != want.parameters:
        return False
    if spark_type(have) != spark_type(want):
        return False
    return _state_function(have) == "count" or all(
        is_nullable(new) or not is_nullable(old) for old, new in zip(have.arguments, want.arguments, strict=False)
    )


def _wider_state(sql: str, have: Type, want: Type) -> str | None:
    """A state that is one of the values, as the state of a type that holds all of these; None for another one."""
    if not isinstance(have, t.AggregateFunction) or not isinstance(want, t.AggregateFunction):
        return None
    if have.function not in _CHOOSING or have.function != want.function:
        return None
    old, new = have.arguments[0], want.arguments[0]
    are_numbers = isinstance(old, (t.Int, t.Decimal)) and type(old) is type(new)
    return cast_column(sql, old, new) if are_numbers and spark_type(have) == spark_type(old) else None


_CHOOSING = ("min", "max", "any", "anyLast")
"""Functions whose state is one of the values that they were given."""


def _state_function(of: t.AggregateFunction) -> str:
    """The function behind an alias; -If does not change the state."""
    from_alias = {"countDistinct": "uniqExact", "groupArrayDistinct": "groupUniqArray", "median": "quantile"}
    name = of.function.removesuffix("If")
    return from_alias.get(name, name)


def _holds(want: Type, have: Type) -> bool:
    """Whether every value of the type `have` is one of `want`, in stored form too. Both are without Nullable."""
    match (want, have):
        case (t.Enum(_, new), t.Enum(_, old)):
            return set(new) >= set(old)
        case (t.DateTime64(p, _), t.DateTime64(q, _)):
            return p >= q
        case (t.DateTime() | t.DateTime64(), t.DateTime()):
            return True
        case (t.String(), t.FixedString() | t.Enum() | t.UUID() | t.IPv4() | t.IPv6()):
            return True
        case (t.FixedString(n), t.FixedString(m)):
            return n == m
        case (t.Array() | t.Map() | t.Tuple(), t.Array() | t.Map() | t.Tuple()) if have != NOTHING:
            return _elements_hold(want, have)
        case _:
            return have == NOTHING or want == have or supertype((want, have)) == want or _number_fits(want, have)


def _elements_hold(want: Type, have: Type) -> bool:
    match (want, have):
        case (t.Array(a), t.Array(b)):
            pairs = [(a, b)]
        case (t.Map(k1, v1), t.Map(k2, v2)):
            pairs = [(k1, k2), (v1, v2)]
        case (t.Tuple(f1), t.Tuple(f2)) if are_matched_by_name(want, have):
            named = dict(f1)
            if not {name for name, _ in f2} <= set(named):
                return False  # a field that has no place in the new type is lost
            pairs = [(named[name], of) for name, of in f2]
        case (t.Tuple(f1), t.Tuple(f2)) if len(f1) == len(f2):
            pairs = [(a, b) for (_, a), (_, b) in zip(f1, f2, strict=True)]
        case _:
            return False
    return all(
        (not is_nullable(old) or is_nullable(new)) and _holds(unwrap_type(new), unwrap_type(old)) for new, old in pairs
    )


def _number_fits(want: Type, have: Type) -> bool:
    """Decimals and doubles hold more types than ClickHouse's common types say."""
    match (want, have):
        case (t.Decimal(p, s), t.Decimal(q, r)):
            return s >= r and p - s >= q - r
        case (t.Decimal(p, s), t.Int(bits)):
            return p - s >= INTEGER_DIGITS[bits]
        case (t.Float(64), t.Int(bits)):
            return bits <= 32
        case _:
            return False
