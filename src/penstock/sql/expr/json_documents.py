"""Spark SQL over JSON documents and over what stands in them, whose type is only known for each row (Dynamic).

In: SQL of a document (`JSON`) or of a Dynamic value. Out: SQL, `TypedSql`. Invariant: the functions of
`model.json_documents.spark_functions` are called outside of lambdas, where Spark can run them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import (
    DYNAMIC_TYPE,
    KINDS,
    OBJECT,
    OBJECTS,
    SHOW,
    STORE,
    TYPED,
    VALUE,
    VALUES,
)
from penstock.model.types import Type, is_nullable
from penstock.sql.expr.bind_once import fresh_name, try_bind_once
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time, value_default, value_type
from penstock.sql.expr.typed import TypedSql, nullable_if_any, typed_sql
from penstock.sql.spark_text import string_literal

DYNAMIC_HINT = "its type is only known for each row: write `.:Int64`, `::String` …"


def dynamic_hint(value: TypedSql) -> str | None:
    """What to write instead of a value whose type is only known for each row; None for any other value."""
    return DYNAMIC_HINT if isinstance(value.bare, t.Dynamic) else None


def stored_json(text: str, of: t.Json) -> str:
    """The document of a JSON text as a type; NULL if it is none."""
    return f"{STORE}({text}{_rules_argument(of)})"


def _rules_argument(of: t.Json) -> str:
    rules = of.rules()
    return f", {string_literal(rules)}" if rules else ""


def shown_json(document: str) -> str:
    """A document as ClickHouse writes it."""
    return f"{SHOW}({document})"


def json_value(document: TypedSql, path: str) -> TypedSql:
    """The value at a path of a document: of the type that the column gives this path, or Dynamic."""
    of = dict(_json_type(document).paths).get(path)
    if of is None:
        return TypedSql(f"{VALUE}({document.sql}, {string_literal(path)})", t.Dynamic(), DYNAMIC_TYPE)
    text = f"{TYPED}({document.sql}, {string_literal(path)})"
    found = _typed_value(text, of)
    if document.nullable and not isinstance(of, t.Array):
        return typed_sql(found, of if is_nullable(of) else t.Nullable(of))
    return typed_sql(found if is_nullable(of) else f"coalesce({found}, {value_default(of)})", of)


def _typed_value(text: str, of: Type) -> str:
    plain = t.unwrap_type(of)
    if isinstance(plain, t.Array):
        return f"from_json({text}, '{value_type(plain)}')"
    if isinstance(plain, t.DateTime64) and is_fine_time(plain):
        return _time_with_nanoseconds(text)
    if isinstance(plain, t.Bool):
        return f"({text} = 'true')"
    return text if isinstance(plain, (t.String, t.UUID)) else f"try_cast({text} AS {value_type(plain)})"


def _json_type(document: TypedSql) -> t.Json:
    of = document.bare
    return of if isinstance(of, t.Json) else t.Json()


def json_object(document: TypedSql, path: str) -> TypedSql:
    """The object at a path of a document, as a document whose paths keep their types."""
    of = _json_type(document)
    inner = tuple((name[len(path) + 1 :], each) for name, each in of.paths if name.startswith(path + "."))
    found = f"{OBJECT}({document.sql}, {string_literal(path)}{_rules_argument(t.Json(inner))})"
    return typed_sql(found, nullable_if_any(replace(of, paths=inner), [document]))


def json_objects(value: TypedSql) -> TypedSql | None:
    """The documents of an array of objects, as an array, where `json_value` gave the value; None for another one."""
    if not value.sql.startswith(VALUE + "(") or not isinstance(value.bare, t.Dynamic):
        return None
    return typed_sql(f"coalesce({OBJECTS}{value.sql[len(VALUE) :]}, array())", t.Array(t.Json()))


def json_values(documents: TypedSql, path: str) -> TypedSql:
    """The value at a path of each document of an array."""
    return TypedSql(
        f"{VALUES}({documents.sql}, {string_literal(path)})", t.Array(t.Dynamic()), f"ARRAY<{DYNAMIC_TYPE}>"
    )


def elements_of(values: TypedSql, of: Type) -> TypedSql | None:
    """Each Dynamic value of an array if it is of this type: `.:T`. None for a type that no value has."""
    name = fresh_name("d", values.sql)
    element = element_of(TypedSql(name, t.Dynamic(), DYNAMIC_TYPE), of)
    if element is None:
        return None
    return typed_sql(f"transform({values.sql}, {name} -> {element.sql})", t.Array(element.type))


def json_kinds(document: TypedSql) -> str:
    """The paths of a document with the types of their values, as an array of structs."""
    return f"{KINDS}({document.sql}{_rules_argument(_json_type(document))})"


def _time_with_nanoseconds(text: str) -> str:
    seconds = f"unix_seconds(try_cast(left({text}, 19) AS TIMESTAMP))"
    return f"CAST({seconds} + try_cast(concat('0', substring({text}, 20)) AS DECIMAL(20,9)) AS {FINE_TIME})"


SCALARS: Mapping[Type, Callable[[str], str]] = {
    t.Int(64): lambda text: f"try_cast({text} AS BIGINT)",
    t.Int(64, signed=False): lambda text: f"try_cast({text} AS DECIMAL(20,0))",
    t.Float(64): lambda text: f"try_cast({text} AS DOUBLE)",
    t.Bool(): lambda text: f"({text} = 'true')",
    t.String(): lambda text: text,
    t.Date(): lambda text: f"try_cast({text} AS DATE)",
    t.DateTime(): lambda text: f"try_cast({text} AS TIMESTAMP)",
    t.DateTime64(9): _time_with_nanoseconds,
}
"""The scalar types of Dynamic values, and how each is read from its text."""
ARRAYS = tuple(t.Array(t.Nullable(of)) for of in (t.Int(64), t.Float(64), t.Bool(), t.String()))
"""The array types that can be asked for by `.:`."""


def scalar_types(of: Type) -> tuple[Type, ...]:
    """The scalar types that a Dynamic value may have."""
    return tuple(dict.fromkeys((*SCALARS, *(of.also if isinstance(of, t.Dynamic) else ()))))


def is_kind(dynamic: str, of: Type) -> str:
    """Whether a Dynamic value is of a type."""
    return f"{dynamic}.kind = {string_literal(str(of))}"


def scalar_of(dynamic: str, of: Type) -> TypedSql:
    """A Dynamic value that is of this scalar type."""
    read = SCALARS.get(of)
    text = f"{dynamic}.text"
    return typed_sql(f"try_cast({text} AS {value_type(of)})" if read is None else read(text), of)


def text_of(value: TypedSql) -> TypedSql:
    """A Dynamic value as `toString` writes it: NULL for no value, and an error for an array that has no such text."""
    name = fresh_name("d", value.sql)
    other = f"raise_error(concat('cannot write ', {name}.kind, ' as a text'))"
    text = f"CASE WHEN {name} IS NULL THEN NULL WHEN {name}.text IS NOT NULL THEN {name}.text ELSE {other} END"
    return typed_sql(try_bind_once(value.sql, name, text), t.Nullable(t.String()))


def key_of(value: TypedSql) -> TypedSql:
    """A text by which equal Dynamic values are told from others; no value has one of its own, as it is one of the
    values that ClickHouse counts."""
    name = fresh_name("d", value.sql)
    key = f"coalesce(concat({name}.kind, ' ', coalesce({name}.text, {name}.json)), '')"
    return typed_sql(try_bind_once(value.sql, name, key), t.String())


def string_of(value: TypedSql) -> TypedSql:
    """A Dynamic value as the String that a function takes: NULL for no value, and an error for one of another type, as
    in ClickHouse."""
    name = fresh_name("d", value.sql)
    other = f"raise_error(concat('cannot take ', {name}.kind, ' as a String'))"
    text = f"CASE WHEN {name} IS NULL THEN NULL WHEN {is_kind(name, t.String())} THEN {name}.text ELSE {other} END"
    return typed_sql(try_bind_once(value.sql, name, text), t.Nullable(t.String()))


def size_of(value: TypedSql, build: Callable[[Sequence[TypedSql]], TypedSql]) -> TypedSql:
    """A function of the length of a Dynamic value that is a String or an array: NULL for no value, and an error for one
    of another type."""
    name = fresh_name("d", value.sql)
    of_text = build([typed_sql(f"{name}.text", t.String())])
    of_array = build([typed_sql(f"from_json({name}.json, 'ARRAY<STRING>')", t.Array(t.Nullable(t.String())))])
    branches = (
        f"WHEN {is_kind(name, t.String())} THEN {of_text.sql} WHEN {name}.kind LIKE 'Array(%' THEN {of_array.sql}"
    )
    other = f"raise_error(concat('cannot tell the length of ', {name}.kind))"
    sql = try_bind_once(value.sql, name, f"CASE WHEN {name} IS NULL THEN NULL {branches} ELSE {other} END")
    return replace(of_text, sql=sql, type=t.Nullable(of_text.bare))


def element_of(value: TypedSql, of: Type) -> TypedSql | None:
    """A Dynamic value if it is of this type: `.:T`. None for a type that no value has."""
    if of in ARRAYS:
        elements = f"from_json({value.sql}.json, '{value_type(of)}')"
        return typed_sql(f"coalesce(if({is_kind(value.sql, of)}, {elements}, NULL), array())", of)
    if of not in scalar_types(value.bare):
        return None
    found = scalar_of(value.sql, of)
    return TypedSql(f"if({is_kind(value.sql, of)}, {found.sql}, NULL)", t.Nullable(of), found.spark)


def is_json(of: Type) -> bool:
    """Whether a value is a document."""
    return isinstance(t.unwrap_type(of), t.Json)


def is_dynamic(of: Type) -> bool:
    """Whether a value's type is only known for each row."""
    return isinstance(of, t.Dynamic)


def null_or(of: Type, sql: str) -> str:
    """SQL for no value: NULL where the type has it."""
    return f"CAST(NULL AS {value_type(of)})" if is_nullable(of) else sql
