"""The operators = <> < > <= >= <=> BETWEEN, LIKE and ILIKE.

In: comparison nodes, or values. Out: a Spark boolean, which is a UInt8 in ClickHouse. Invariant: NaN equals nothing
and is neither less nor greater than anything (Spark orders it last); a text literal beside a date, time, UUID or enum
is read as a value of that type. A LIKE pattern that ClickHouse matches by two rules at once is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.compiler.translator import Translator, refuse_intervals
from penstock.sql.conversions.explicit import convert
from penstock.sql.conversions.literals import adapt_literals
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type, beside_time, up_to_last_midnight
from penstock.sql.expr.ip_addresses import ipv4_number
from penstock.sql.expr.json_documents import DYNAMIC_HINT, dynamic_hint, is_json, string_of
from penstock.sql.expr.sort_order import (
    ORDER_HINT,
    contains_stored_as_text,
    enum_number,
    is_stored_as_text,
    nested_key,
    order_key,
)
from penstock.sql.expr.spark_types import FINE_TIME, value_type
from penstock.sql.expr.typed import (
    NEVER,
    NULL,
    TypedSql,
    as_spark,
    boolean,
    is_cut,
    is_null,
    nullable_if_any,
    typed_sql,
)
from penstock.sql.operators.dynamic_values import fixed_result
from penstock.sql.operators.json_paths import refuse_dynamic
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.syntax.problems import Refused

COMPARISON_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)
_ODD_ELEMENTS = (t.Float, t.Tuple, t.Array, t.Dynamic)
"""Types of which elements of tuples are compared one by one, as Nullable ones are."""
_EXACT = 2**53
"""Doubles hold every integer up to here."""
_WIDE = "DECIMAL(20,0)"
FOLDED_LETTERS = ("İΣ", "\ue000σ")
"""Letters to replace before ILIKE, and what replaces them: Java's lower case of these has two letters, or depends on
the letters around."""
_FOLDED_BY_RE2 = (f"{FOLDED_LETTERS[0]}ſςµϐϑϰϖϕϱϵẛ\u1fbe\u0345ᲀᲁᲂᲃᲄᲅᲆᲇᲈ", f"{FOLDED_LETTERS[1]}sσμβθκπφρεṡιιвдосттъѣꙋ")
"""The same where ClickHouse matches by RE2, which folds more letters."""
_CONTAINS_PATTERN = re.compile(r"(?s)%(?:[^%_\\]|\\.)*%")
"""A pattern `%text%`, for which ClickHouse searches the text."""
_WILDCARD = re.compile(r"(?s)(?:\\(.)|([%_]))")
_AMBIGUOUS_LETTERS = set("σςΣμµ")
_SEARCHED_BYTES = 3
"""For a literal piece of at least so many bytes, ClickHouse searches before it calls RE2."""


def translate_comparison(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of = <> < > <= or >=."""
    pair = (tr.translate(node.this), tr.translate(node.expression))
    sides = (node.this.unnest(), node.expression.unnest())
    if any(isinstance(side, exp.Tuple) for side in sides) and are_tuples_of_one_length(*pair):
        elements = [_elements(tr, side, value) for side, value in zip(sides, pair, strict=True)]
        if _have_odd_elements(*pair) or any(isinstance(each.constant, str) for side in elements for each in side):
            return _compare_elements(tr, node, COMPARISON_OPERATORS[type(node)], list(zip(*elements, strict=True)))
    return compare(tr, node, COMPARISON_OPERATORS[type(node)], pair)


def are_tuples_of_one_length(left: TypedSql, right: TypedSql) -> bool:
    """Whether both values are tuples, of so many elements each."""
    a, b = left.bare, right.bare
    return isinstance(a, t.Tuple) and isinstance(b, t.Tuple) and 0 < len(a.fields) == len(b.fields)


def tuple_elements(value: TypedSql) -> list[TypedSql]:
    """The elements of a tuple as values of their own; none of any other value."""
    fields = value.bare.fields if isinstance(value.bare, t.Tuple) else ()
    named = ((name or f"_{place}", of) for place, (name, of) in enumerate(fields, 1))
    return [TypedSql(f"{value.sql}.{quote_identifier(name)}", of, value_type(of)) for name, of in named]


def _elements(tr: Translator, node: exp.Expr, value: TypedSql) -> list[TypedSql]:
    """The elements as they are written, so that text literals are read as the other side's types, or as values."""
    return tr.translate_all(node.expressions) if isinstance(node, exp.Tuple) else tuple_elements(value)


def _have_odd_elements(left: TypedSql, right: TypedSql) -> bool:
    """Whether an element of two tuples may be NULL or NaN, or is itself compared by a rule of its own."""
    pairs = zip(tuple_elements(left), tuple_elements(right), strict=True)
    return any(
        a.nullable or b.nullable or isinstance(a.bare, _ODD_ELEMENTS) or isinstance(b.bare, _ODD_ELEMENTS)
        for a, b in pairs
    )


def _compare_elements(
    tr: Translator, node: exp.Expr, operator: str, pairs: list[tuple[TypedSql, TypedSql]]
) -> TypedSql:
    """Tuples compared by comparisons of their elements, which may be NULL: an equality of all, a difference of some, or
    from the first pair on."""
    if operator in ("=", "<>"):
        tests = [compare(tr, node, operator, pair) for pair in pairs]
        joined = f" {'AND' if operator == '=' else 'OR'} ".join(test.sql for test in tests)
        return _unless_null_literal(boolean(f"({joined})", *tests), tests)
    found = compare(tr, node, operator, pairs[-1])
    tests = [found]
    for pair in reversed(pairs[:-1]):
        strict, same = compare(tr, node, operator[0], pair), compare(tr, node, "=", pair)
        tests.append(same)
        found = boolean(f"({strict.sql} OR ({same.sql} AND {found.sql}))", strict, same, found)
    return _unless_null_literal(found, tests)


def _unless_null_literal(found: TypedSql, tests: list[TypedSql]) -> TypedSql:
    """A comparison with a tuple that holds the literal NULL is NULL."""
    return replace(found, sql="CAST(NULL AS BOOLEAN)") if any(map(is_null, tests)) else found


def translate_null_safe_equality(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of <=>, or of IS DISTINCT FROM."""
    same = compare_null_safe(tr, node, (tr.translate(node.this), tr.translate(node.expression)))
    return same if isinstance(node, exp.NullSafeEQ) else replace(same, sql=f"(NOT {same.sql})")


def translate_between(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of BETWEEN, which includes both bounds."""
    value = tr.translate(node.this)
    low = compare(tr, node, ">=", (value, tr.translate(node.args["low"])))
    high = compare(tr, node, "<=", (value, tr.translate(node.args["high"])))
    return boolean(f"({low.sql} AND {high.sql})", low, high)


def translate_like(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of LIKE or ILIKE, negated or not."""
    value, pattern = tr.translate(node.this), tr.translate(node.expression)
    word = "ILIKE" if isinstance(node, exp.ILike) else "LIKE"
    return match_like(tr, node, (value, pattern), f"NOT {word}" if node.args.get("negate") else word)


def compare_null_safe(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """`<=>`: NULL equals NULL, but NaN does not equal NaN."""
    refuse_dynamic(tr, node, pair, "`<=>`")
    _check_kinds(tr, node, "=", pair)
    if are_tuples_of_one_length(*pair) and _have_odd_elements(*pair):
        return _compare_tuples_null_safe(tr, node, pair)
    _refuse_bool_beside_uint8(tr, node, pair)
    left, right = adapt_literals(tr, node, *pair)
    of = t.Int(8, signed=False)
    if is_null(left) or is_null(right):
        return TypedSql(f"({right.sql if is_null(left) else left.sql} IS NULL)", of, "BOOLEAN")
    if any(isinstance(each.constant, float) and each.constant != each.constant for each in (left, right)):
        return TypedSql(NEVER, of, "BOOLEAN")
    a, b = as_comparable_pair(tr, node, left, right)
    # NaN is like NaN where NULL is like NULL, as in ClickHouse
    tests = [] if left.nullable or right.nullable else _nan_sides("=", (left, a), (right, b))
    return TypedSql(f"({a} <=> {b}{''.join(f' AND NOT isnan({s})' for s in tests)})", of, "BOOLEAN")


def _refuse_bool_beside_uint8(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql]) -> None:
    """ClickHouse reads a UInt8 beside a Nullable(Bool) as true or false on one side of <=> only."""
    for one, other in (pair, pair[::-1]):
        number = other.type == t.Int(8, signed=False) and other.spark != "BOOLEAN" and other.constant not in (0, 1)
        if one.nullable and isinstance(one.bare, t.Bool) and number:
            raise tr.refusal(
                node, "no-common-type", f"<=> of {one.type} and {other.type} is not supported", "toBool(…)"
            )


def _compare_tuples_null_safe(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """By their elements, each of which has its rule for NaN."""

    def over(a: str, b: str) -> str:
        elements = (tuple_elements(replace(value, sql=sql)) for value, sql in zip(pair, (a, b), strict=True))
        found = (compare_null_safe(tr, node, each) for each in zip(*elements, strict=True))
        return f"({' AND '.join(each.sql for each in found)})"

    sql = bind_if_long(pair[0].sql, lambda a: bind_if_long(pair[1].sql, lambda b: over(a, b)))
    return TypedSql(sql, t.Int(8, signed=False), "BOOLEAN")


def compare(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """Two values compared. Raises Refused if they have no common type."""
    if any(isinstance(value.bare, t.Dynamic) for value in pair):
        return _compare_dynamic(tr, node, operator, pair)
    _check_kinds(tr, node, operator, pair)
    if are_tuples_of_one_length(*pair) and _have_odd_elements(*pair):
        return _compare_tuples(tr, node, operator, pair)
    left, right = adapt_literals(tr, node, *pair)
    if is_null(left) or is_null(right):
        return TypedSql("CAST(NULL AS BOOLEAN)", NULL.type, "BOOLEAN")
    if operator in ("=", "<>"):
        left, right = enum_of_number(left, right), enum_of_number(right, left)
    left, right = _beside_number(left, right), _beside_number(right, left)
    a, b = _as_ordered_pair(tr, node, operator, (left, right), as_comparable_pair(tr, node, left, right))
    sql = _compare_exactly(operator, left, right) if _needs_exact_comparison(left, right) else f"({a} {operator} {b})"
    tests = [f"isnan({s})" for s in _nan_sides(operator, (left, a), (right, b))]
    if tests and (left.nullable or right.nullable):
        odd = f"coalesce({' OR '.join(tests)}, false)"
        answer = "true" if operator == "<>" else "false"
        return boolean(f"if({odd} AND {sql} IS NOT NULL, {answer}, {sql})", left, right)
    if tests and operator == "<>":
        sql = f"({sql} OR {' OR '.join(tests)})"
    elif tests:
        sql = f"({sql} AND NOT {' AND NOT '.join(tests)})"
    return boolean(sql, left, right)


def _compare_tuples(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """Each tuple, written once if it is long, compared by its elements."""
    left, right = pair
    compared: list[TypedSql] = []

    def over(a: str, b: str) -> str:
        elements = [tuple_elements(replace(value, sql=sql)) for value, sql in ((left, a), (right, b))]
        compared.append(_compare_elements(tr, node, operator, list(zip(*elements, strict=True))))
        return compared[-1].sql

    sql = bind_if_long(left.sql, lambda a: bind_if_long(right.sql, lambda b: over(a, b)))
    return replace(compared[-1], sql=sql)


def _compare_dynamic(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """A value whose type is only known for each row, compared by the type that it has; an error for a row where the
    two types have nothing in common, as in ClickHouse. Raises Refused where that is so of all types."""

    def apply(values: Sequence[TypedSql]) -> TypedSql | None:
        try:
            return compare(tr, node, operator, (values[0], values[1]))
        except Refused:
            return None

    found = fixed_result(pair, apply) if not any(is_json(value.type) for value in pair) else None
    if found is None:
        message = f"{pair[0].type} {operator} {pair[1].type} is not supported"
        raise tr.refusal(node, "no-common-type", message, DYNAMIC_HINT)
    return found


def _check_kinds(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> None:
    """Raises Refused for states of aggregates, and unless documents are compared with each other, for being equal."""
    left, right = pair
    if any(isinstance(each.bare, t.AggregateFunction) for each in pair):
        message = f"{left.type} and {right.type} cannot be compared: a state is no value"
        raise tr.refusal(node, "no-common-type", message, "finalizeAggregation(…) of it")
    if (is_json(left.type) or is_json(right.type)) and (left.bare != right.bare or operator not in ("=", "<>")):
        hint = "toString(…) of it, or compare one of its paths"
        raise tr.refusal(node, "no-common-type", f"{left.type} {operator} {right.type} is not supported", hint)


def _beside_number(value: TypedSql, other: TypedSql) -> TypedSql:
    """A time, an Enum or an address that is compared with a number: its seconds since 1970, its number. Every other
    value as it is."""
    if not isinstance(other.bare, (t.Int, t.Float)):
        return value
    if isinstance(value.bare, t.IPv4) and isinstance(other.bare, t.Int) and not other.bare.signed:
        return typed_sql(ipv4_number(value.sql), nullable_if_any(t.Int(32, signed=False), [value]))
    if isinstance(value.bare, t.Enum):
        return typed_sql(enum_number(value.bare, value.sql), nullable_if_any(t.Int(value.bare.bits), [value]))
    if isinstance(value.bare, t.DateTime):
        return typed_sql(f"unix_seconds({value.sql})", nullable_if_any(t.Int(64), [value]))
    if value.spark == FINE_TIME:
        return replace(value, type=nullable_if_any(t.Decimal(20, 9), [value]))
    if isinstance(value.bare, t.DateTime64):
        seconds = f"CAST(unix_micros({value.sql}) AS DECIMAL(20,0)) * 0.000001BD"
        return typed_sql(f"CAST({seconds} AS DECIMAL(20,6))", nullable_if_any(t.Decimal(20, 6), [value]))
    return value


def enum_of_number(value: TypedSql, other: TypedSql) -> TypedSql:
    """An integer literal beside an Enum as the value of that number, if there is one; every other value as it is."""
    if not isinstance(other.bare, t.Enum) or not isinstance(value.bare, t.Int) or value.constant is None:
        return value
    name = next((name for name, number in other.bare.values if number == value.constant), None)
    return value if name is None else typed_sql(string_literal(name), other.bare)


def _as_ordered_pair(
    tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql], shown: tuple[str, str]
) -> tuple[str, str]:
    """Values that are stored as texts are less or greater by their numbers. Raises Refused if that is not supported."""
    left, right = pair
    kept = [value for value in pair if is_stored_as_text(value.type) or contains_stored_as_text(value.type)]
    if not kept and operator not in ("=", "<>") and isinstance(left.bare, t.Array):
        of = supertype((left.type, right.type)) or left.type
        return nested_key(of, shown[0], "greatest"), nested_key(of, shown[1], "greatest")
    if not kept or (operator in ("=", "<>") and not _are_different_enums(left.bare, right.bare)):
        return shown
    if left.bare == right.bare and is_stored_as_text(left.type):
        return order_key(left.bare, shown[0]), order_key(right.bare, shown[1])
    message = f"{left.type} {operator} {right.type} is not supported: {kept[0].type} is ordered by its numbers"
    raise tr.refusal(node, "no-common-type", message, ORDER_HINT)


def _are_different_enums(left: Type, right: Type) -> bool:
    """Two different enums are equal by their numbers, not by their texts."""
    return isinstance(left, t.Enum) and isinstance(right, t.Enum) and left != right


def _nan_sides(operator: str, left: tuple[TypedSql, str], right: tuple[TypedSql, str]) -> list[str]:
    """SQL of the operands that must not be NaN for Spark's answer to be ClickHouse's."""
    sides = {"<": (right,), "<=": (left, right), ">": (left,), ">=": (left, right), "=": (left,), "<>": (left,)}
    if operator in ("=", "<>") and (_is_known_number(left[0]) or _is_known_number(right[0])):
        return []
    if operator in ("<=", ">=") and _is_known_number(right[0]):
        return [left[1]] if operator == ">=" and isinstance(left[0].bare, t.Float) else []
    found = [(side, sql) for side, sql in sides[operator] if not _is_known_number(side)]
    return [sql for side, sql in found if isinstance(side.bare, t.Float)]


def _is_known_number(value: TypedSql) -> bool:
    """Whether a value is a literal other than NaN."""
    return value.constant is not None and value.constant == value.constant


def as_comparable_pair(tr: Translator, node: exp.Expr, left: TypedSql, right: TypedSql) -> tuple[str, str]:
    """The SQL of two values as one Spark type. Raises Refused if there is none."""
    refuse_intervals(tr, node, (left, right))
    if t.has_part(left.type, t.Map) or t.has_part(right.type, t.Map):
        raise tr.refusal(node, "no-common-type", "maps cannot be compared", "compare their keys and values")
    kinds = type(left.bare), type(right.bare)
    if t.FixedString in kinds and left.bare != right.bare and set(kinds) <= {t.FixedString, t.String, t.Enum}:
        return _without_end_zeros(left), _without_end_zeros(right)
    if isinstance(left.bare, (t.Array, t.Tuple)) and _fixed_parts(left.type) != _fixed_parts(right.type):
        message = f"{left.type} and {right.type} cannot be compared: a FixedString in them has zeros at its end"
        raise tr.refusal(node, "no-common-type", message, "toString(…) of it")
    if left.spark == right.spark and type(left.bare) is type(right.bare):
        return left.sql, right.sql
    if isinstance(left.bare, _NUMBERS) and isinstance(right.bare, _NUMBERS):
        spark = _common_number_type(left, right)
        return as_spark(left, spark), as_spark(right, spark)
    of = supertype((left.type, right.type))
    if of is None and isinstance(left.bare, t.Date) and isinstance(right.bare, (t.DateTime, t.DateTime64)):
        return _midnight(left, right), right.sql
    if of is None and isinstance(right.bare, t.Date) and isinstance(left.bare, (t.DateTime, t.DateTime64)):
        return left.sql, _midnight(right, left)
    if of is None:
        message = f"{left.type} and {right.type} cannot be compared"
        hint = dynamic_hint(left) or dynamic_hint(right) or "cast one of them"
        raise tr.refusal(node, "no-common-type", message, hint)
    spark = value_type(of)
    if t.unwrap_type(of) == t.DateTime() and t.Date() in (left.bare, right.bare):
        days = left.bare == t.Date(), right.bare == t.Date()
        return (
            beside_time(left, right) if days[0] else as_spark(left, spark),
            beside_time(right, left) if days[1] else as_spark(right, spark),
        )
    return as_common_type(left, of), as_common_type(right, of)


def _fixed_parts(of: Type) -> list[Type]:
    """The texts and Enums in a type if a FixedString is among them, in their order."""
    texts = list(_texts_in(of))
    return texts if any(isinstance(each, t.FixedString) for each in texts) else []


def _texts_in(of: Type) -> Iterator[Type]:
    match t.unwrap_type(of):
        case t.Array(inner):
            yield from _texts_in(inner)
        case t.Tuple(fields):
            for _, inner in fields:
                yield from _texts_in(inner)
        case (t.String() | t.FixedString() | t.Enum()) as text:
            yield text


def _midnight(day: TypedSql, time: TypedSql) -> str:
    """A date beside a time: midnight in the time zone of that time."""
    zone = time.bare.zone if isinstance(time.bare, (t.DateTime, t.DateTime64)) else None
    if isinstance(time.bare, t.DateTime64) or day.bare == t.Date(wide=True):
        moment = convert(day, t.DateTime64(0, zone))
    else:
        moment = convert(replace(day, sql=up_to_last_midnight(day)), t.DateTime(zone))
    return as_spark(moment or day, time.spark)


def _without_end_zeros(value: TypedSql) -> str:
    """Beside a FixedString, zero bytes at the end do not count."""
    return f"rtrim(chr(0), {value.sql})" if isinstance(value.bare, (t.String, t.FixedString)) else value.sql


def _needs_exact_comparison(left: TypedSql, right: TypedSql) -> bool:
    """Whether a 64-bit integer meets a float and both may be beyond 2^53, where doubles skip integers: ClickHouse
    compares them exactly."""
    for whole, other in ((left, right), (right, left)):
        wide = isinstance(whole.bare, t.Int) and whole.bare.bits == 64 and whole.spark in ("BIGINT", _WIDE)
        small = any(isinstance(e.constant, (int, float)) and abs(e.constant) < _EXACT for e in (whole, other))
        if wide and isinstance(other.bare, t.Float) and not small:
            return True
    return False


def _compare_exactly(operator: str, left: TypedSql, right: TypedSql) -> str:
    """As integers where both operands are large, as doubles elsewhere."""
    whole, other = (left, right) if isinstance(left.bare, t.Int) else (right, left)

    def both(i: str, f: str) -> str:
        near = f"{i} NOT BETWEEN {-_EXACT} AND {_EXACT} AND abs({f}) >= {float(_EXACT)!r}D"
        wide = (f"CAST({i} AS {_WIDE})", f"CAST({f} AS {_WIDE})")
        casts = wide, (f"CAST({i} AS DOUBLE)", as_spark(replace(other, sql=f), "DOUBLE"))
        (a, b), (c, d) = casts if whole is left else tuple((y, x) for x, y in casts)
        large = f"{near} AND abs({f}) < 9e19D"
        return f"if({large}, {a} {operator} {b}, {c} {operator} {d})"

    return bind_if_long(whole.sql, lambda i: bind_if_long(other.sql, lambda f: both(i, f)))


def _common_number_type(left: TypedSql, right: TypedSql) -> str:
    if isinstance(left.bare, t.Float) or isinstance(right.bare, t.Float):
        return "DOUBLE"
    for spark in (left.spark, right.spark):
        if spark.startswith("DECIMAL"):
            return f"DECIMAL(38,{max(_scale(left.bare), _scale(right.bare))})"
    return "BIGINT" if "BIGINT" in (left.spark, right.spark) else "INT"


def _scale(of: Type) -> int:
    return of.scale if isinstance(of, t.Decimal) else 0


def match_like(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql], word: str) -> TypedSql:
    """LIKE and ILIKE of a text and a pattern: `%` and `_` as in SQL, a backslash escapes. Raises Refused for other
    types."""
    pair = (string_of(pair[0]) if isinstance(pair[0].bare, t.Dynamic) else pair[0], pair[1])
    for value in pair:
        if not isinstance(value.bare, (t.String, t.FixedString, t.Enum)):
            raise tr.refusal(node, "wrong-argument-type", f"{word} needs String, this is {value.type}")
    if is_cut(pair[1]):
        raise tr.refusal(node, "unsupported-syntax", f"{word} a pattern of bytes is not supported", "position(…) > 0")
    text = None if pair[1].constant is None else str(pair[1].constant)
    known = _spark_pattern_of(pair[1].sql) if text is None else _literal_pattern(tr, node, text)
    if "ILIKE" not in word:
        return boolean(f"({pair[0].sql} {word} {known})", *pair)
    letters = FOLDED_LETTERS if text is None else folded_letters(text)
    if letters is None:
        message = (
            f"{word} {pair[1].sql} is not supported: ClickHouse folds the case of its letters by two different rules"
        )
        raise tr.refusal(node, "unsupported-syntax", message, "use lowerUTF8(…) LIKE …")
    folded, like = (f"translate({sql}, {', '.join(map(string_literal, letters))})" for sql in (pair[0].sql, known))
    return boolean(f"({folded} {word} {like})", *pair)


def _literal_pattern(tr: Translator, node: exp.Expr, text: str) -> str:
    pattern = spark_like_pattern(text)
    if pattern is None:
        raise tr.refusal(node, "invalid-literal", "the pattern ends with a backslash", r"`\\\\` is a backslash")
    return string_literal(pattern)


def _spark_pattern_of(sql: str) -> str:
    """As `spark_like_pattern`, of patterns in rows; one that ends with a lone backslash fails, as in ClickHouse."""
    return f"regexp_replace({sql}, {string_literal(_ESCAPES)}, '$1$2$2')"


_ESCAPES = r"(?s)(\\[%_\\])|(\\)(?=.)"
"""A backslash that escapes, or one that does not."""


def spark_like_pattern(pattern: str) -> str | None:
    """A LIKE pattern for Spark: a backslash before an ordinary letter is a backslash in ClickHouse and an error in
    Spark. None for a pattern that ends with a lone backslash."""
    if re.fullmatch(r"(?s)(?:[^\\]|\\.)*", pattern) is None:
        return None
    return re.sub(r"(?s)\\(.)", lambda found: found[0] if found[1] in "%_\\" else f"\\\\{found[1]}", pattern)


def folded_letters(pattern: str) -> tuple[str, str] | None:
    """Letters to replace in both text and pattern of ILIKE before Spark compares them. None where ClickHouse
    compares some letters by RE2, which folds more of them, and some not."""
    if _CONTAINS_PATTERN.fullmatch(pattern):
        return FOLDED_LETTERS
    pieces = [piece for piece in _literal_pieces(pattern) if piece]
    if all(len(piece.encode()) < _SEARCHED_BYTES for piece in pieces):
        return _FOLDED_BY_RE2
    return None if len(pieces) > 1 and _AMBIGUOUS_LETTERS & set(pattern) else FOLDED_LETTERS


def _literal_pieces(pattern: str) -> list[str]:
    """The texts between wildcards."""
    return _WILDCARD.sub(lambda found: found[1] or "\0", pattern).split("\0")
