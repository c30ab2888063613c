"""Operators and functions of values whose types are only known for each row (Dynamic): one branch for each type.

In: values, some of them Dynamic, and what makes a result of values that have types. Out: `TypedSql`: Dynamic, or the
one type that all results have. Invariant: as in ClickHouse, a row without a value gives NULL, and a row whose types the
function does not take makes the query fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from penstock.model import types as t
from penstock.model.json_documents.spark_functions import DYNAMIC_TYPE
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.bind_once import READS_DOCUMENT, SUBQUERY, SharedBinding, fresh_name, try_bind_once
from penstock.sql.expr.json_documents import SCALARS, is_kind, scalar_of, scalar_types
from penstock.sql.expr.spark_types import is_fine_time, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, is_null, typed_sql
from penstock.sql.spark_text import string_literal

Apply: TypeAlias = Callable[[Sequence[TypedSql]], "TypedSql | None"]
"""Makes the result of values that have types; None where they are of types that it does not take."""


@dataclass(frozen=True, slots=True)
class _ByType:
    """The values under names, and the results of their types."""

    bound: SharedBinding
    names: tuple[str, ...]
    """The names of the Dynamic values."""
    branches: tuple[tuple[str, TypedSql], ...]
    """For each combination of types that is taken: its test, and the result."""

    def choose(self, results: Sequence[str]) -> str:
        """The result of the branch that a row has the types of."""
        absent = " OR ".join(f"{name} IS NULL" for name in self.names)
        tests = [test for test, _ in self.branches]
        chosen = " ".join(f"WHEN {test} THEN {sql}" for test, sql in zip(tests, results, strict=True))
        kinds = ", ' and ', ".join(f"{name}.kind" for name in self.names)
        refused = f"raise_error(concat('cannot do this with ', {kinds}))"
        return self.bound.around(f"CASE WHEN {absent} THEN NULL {chosen} ELSE {refused} END")


def is_dynamic_value(value: TypedSql) -> bool:
    """Whether the type of a value is only known for each row."""
    return isinstance(value.bare, t.Dynamic)


def fixed_result(values: Sequence[TypedSql], apply: Apply) -> TypedSql | None:
    """A function whose result has the same type for values of every type. None if there is no such type."""
    found = _by_type(values, apply)
    types = {result.bare for _, result in found.branches} if found is not None else set()
    if found is None or len(types) != 1:
        return None
    (of,), sparks = types, {result.spark for _, result in found.branches}
    spark = sparks.pop() if len(sparks) == 1 else value_type(of)
    return TypedSql(found.choose([as_spark(result, spark) for _, result in found.branches]), t.Nullable(of), spark)


def dynamic_result(values: Sequence[TypedSql], apply: Apply) -> TypedSql | None:
    """A function whose result is Dynamic. None if it takes no type that the values may have."""
    found = _by_type(values, apply)
    groups: dict[Type, list[tuple[str, TypedSql]]] = {}
    for test, result in found.branches if found is not None else ():
        groups.setdefault(result.bare, []).append((test, result))
    made = {of: as_dynamic(_chosen(of, branches)) for of, branches in groups.items()}
    given = [(_any_test(groups[of]), result) for of, result in made.items() if result is not None]
    if found is None or not given:
        return None
    whole = replace(found, branches=tuple(given))
    of = _union([result.bare for _, result in given])
    return TypedSql(whole.choose([result.sql for _, result in given]), of, DYNAMIC_TYPE)


def _chosen(of: Type, branches: Sequence[tuple[str, TypedSql]]) -> TypedSql:
    """The result of the branch that a row has the types of, where all results are of one type."""
    spark = value_type(of)
    shown = [as_spark(result, spark) for _, result in branches]
    if len(branches) == 1:
        return typed_sql(shown[0], of)
    chosen = " ".join(f"WHEN {test} THEN {sql}" for (test, _), sql in zip(branches, shown, strict=True))
    return typed_sql(f"CASE {chosen} END", of)


def _any_test(branches: Sequence[tuple[str, TypedSql]]) -> str:
    return " OR ".join(f"({test})" for test, _ in branches)


def as_dynamic(value: TypedSql) -> TypedSql | None:
    """A value as one whose type is only known for each row; None for a type that such a value does not have here."""
    if is_dynamic_value(value):
        return value
    if is_null(value):
        return TypedSql(f"CAST(NULL AS {DYNAMIC_TYPE})", t.Dynamic(), DYNAMIC_TYPE)
    of, text = value.bare, as_text(value)
    if text is None or not (of in SCALARS or _is_read_from_text(of)):
        return None
    name = fresh_name("s", text)
    pair = f"named_struct('kind', {string_literal(str(of))}, 'text', {name}, 'json', CAST(NULL AS STRING))"
    sql = try_bind_once(text, name, f"if({name} IS NULL, NULL, {pair})")
    return TypedSql(sql, t.Dynamic((of,)), DYNAMIC_TYPE)


def _is_read_from_text(of: Type) -> bool:
    """Whether a value of a type beside those of documents can be read from its text again."""
    if isinstance(of, (t.DateTime, t.DateTime64)):
        return of.zone is None and not is_fine_time(of)
    return isinstance(of, (t.Int, t.Float, t.Date))


def all_dynamic(values: Sequence[TypedSql]) -> list[TypedSql] | None:
    """The values as Dynamic ones, if one of them is and all can be."""
    if not any(map(is_dynamic_value, values)):
        return None
    found = [as_dynamic(value) for value in values]
    given = [value for value in found if value is not None]
    return given if len(given) == len(found) else None


def _union(types: Sequence[Type]) -> t.Dynamic:
    also = [of for each in types if isinstance(each, t.Dynamic) for of in each.also]
    return t.Dynamic(tuple(dict.fromkeys(also)))


def _by_type(values: Sequence[TypedSql], apply: Apply) -> _ByType | None:
    """The results for all combinations of types; None if there is none, or if a value is a SELECT: Spark takes none
    where values are bound."""
    if any(map(is_null, values)) or any(SUBQUERY in value.sql for value in values):
        return None
    texts = [value.sql for value in values if _is_bound(value)]
    bound = SharedBinding.of(tuple(dict.fromkeys(texts)), "d", " ".join(value.sql for value in values))
    named = [_named(value, bound) for value in values]
    branches = []
    for given in product(*map(_typed_forms, named)):
        result = apply([value for _, value in given])
        if result is not None and not is_null(result):
            branches.append((" AND ".join(test for test, _ in given if test), result))
    names = tuple(dict.fromkeys(value.sql for value in named if is_dynamic_value(value)))
    return _ByType(bound, names, tuple(branches)) if branches else None


def _is_bound(value: TypedSql) -> bool:
    """Whether a value stands under a name, so that Spark may be given it inside of a lambda."""
    return is_dynamic_value(value) or READS_DOCUMENT in value.sql


def _named(value: TypedSql, bound: SharedBinding) -> TypedSql:
    return replace(value, sql=bound.reference(value.sql), whole=None) if _is_bound(value) else value


def _typed_forms(value: TypedSql) -> list[tuple[str, TypedSql]]:
    """A value of each type that it may have, with the test for this type."""
    if not is_dynamic_value(value):
        return [("", value)]
    return [(is_kind(value.sql, of), scalar_of(value.sql, of)) for of in scalar_types(value.bare)]
