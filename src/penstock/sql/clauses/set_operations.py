"""UNION, INTERSECT and EXCEPT: columns are matched by position and cast to their common type.

In: a set operation. Out: `SelectOutput`. Invariants: the column names are those of the first SELECT; every part may
read what the WITH of the first SELECT names.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.clauses.settings import refuse_settings
from penstock.sql.clauses.with_clause import add_with_names, names_of_with
from penstock.sql.compiler.any_join_filters import AnyJoinRows, combine_any_joins
from penstock.sql.compiler.environment import Environment, SelectOutput, Totals
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.kept_digits import keep_digits
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql
from penstock.sql.operators.literals import cast_all
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.problems import refusal

_WORDS: dict[type[exp.SetOperation], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_ENDINGS = ("order", "limit", "offset", "distribute")


def compile_set_operation(environment: Environment, tree: exp.SetOperation) -> SelectOutput:
    """The set operation. Raises Refused if its parts do not fit together."""
    word = _WORDS[type(tree)]
    refuse_ending(environment, tree)
    own = environment.own_names | names_of_with(tree.args.get("with_"))
    environment = replace(add_with_names(environment, tree.args.get("with_")), own_names=own)
    first, second = tree.this, tree.expression
    if not isinstance(first, exp.Query) or not isinstance(second, exp.Query):
        raise refusal(environment.text, tree, "invalid-sql", f"{word} needs a SELECT on both sides")
    left = environment.compile(environment, first)
    right = environment.compile(environment.without_trigger(), second)
    if len(left.columns) != len(right.columns):
        message = f"{word} needs as many columns on both sides, these are {len(left.columns)} and {len(right.columns)}"
        raise refusal(environment.text, second, "wrong-column-count", message)
    columns = tuple(
        (name, _common_column(environment, tree, (value, other)))
        for (name, value), (_, other) in zip(left.columns, right.columns, strict=True)
    )
    if word != "UNION" or tree.args.get("distinct"):
        _check_comparable(environment, tree, columns)
    # In ClickHouse, INTERSECT and EXCEPT without DISTINCT keep duplicates, as with ALL.
    shown = word if tree.args.get("distinct") else f"{word} ALL"
    rows = f"{_cast_part(left, columns)} {shown} {_cast_part(right, columns)}"
    totals = _refused_totals(environment, tree) if left.totals or right.totals else None
    return SelectOutput(rows, columns, left.grouped or right.grouped, totals, _join_filters_of_both(left, right))


def _join_filters_of_both(left: SelectOutput, right: SelectOutput) -> AnyJoinRows | None:
    """What filters around may read if a part has an ANY JOIN: no column, as a key of one part may be anything in
    another."""
    found = combine_any_joins(left.any_join, right.any_join)
    return found and replace(found, keys=frozenset())


def _refused_totals(environment: Environment, tree: exp.SetOperation) -> Totals:
    """Totals that are refused where they are shown: ClickHouse shows those of the first part that has some."""
    message = f"WITH TOTALS in a part of {_WORDS[type(tree)]} is not supported"
    return Totals(refusal=refusal(environment.text, tree, "unsupported-clause", message, "leave WITH TOTALS out"))


def refuse_ending(environment: Environment, tree: exp.Query) -> None:
    """Raises Refused for ORDER BY or LIMIT after a SELECT in parentheses, which ClickHouse does not accept, and for
    settings there."""
    refuse_settings(environment, tree)
    for key in _ENDINGS:
        ending = tree.args.get(key)
        if isinstance(ending, exp.Expr):
            message = "ORDER BY and LIMIT are not allowed after a SELECT in parentheses"
            hint = "SELECT * FROM (… UNION ALL …) ORDER BY …"
            raise refusal(environment.text, ending, "unsupported-clause", message, hint)


def _check_comparable(
    environment: Environment, tree: exp.SetOperation, columns: tuple[tuple[str, TypedSql], ...]
) -> None:
    for name, value in columns:
        if _is_incomparable(value.type):
            message = f"{_WORDS[type(tree)]} cannot compare the rows by `{name}`: it is {value.type}"
            raise refusal(environment.text, tree.expression, "wrong-argument-type", message, "toString(…) of it can be")


def _is_incomparable(of: Type) -> bool:
    """Whether rows cannot be compared by values of this type."""
    match of:
        case t.Map() | t.AggregateFunction() | t.Dynamic():
            return True
        case t.Array(inner) | t.Nullable(inner):
            return _is_incomparable(inner)
        case t.Tuple(fields):
            return any(_is_incomparable(inner) for _, inner in fields)
        case _:
            return False


def _common_column(environment: Environment, tree: exp.SetOperation, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    of = supertype([value.type for value in pair])
    if of is None or _has_own_common_type(*(value.bare for value in pair)):
        message = f"{_WORDS[type(tree)]} of {pair[0].type} and {pair[1].type}: there is no common type"
        raise refusal(environment.text, tree.expression, "no-common-type", message, "cast one of them")
    if pair[0].spark == pair[1].spark:
        return TypedSql("", of, pair[0].spark)
    kept = supertype([keep_digits(value).type for value in pair])
    return TypedSql("", of, value_type(of if kept is None else kept))


def _has_own_common_type(left: Type, right: Type) -> bool:
    """Whether ClickHouse has a common type that differs from the supertype: Bool keeps its name, Decimal its digits."""
    kinds = (t.Bool, t.Decimal)
    return any(isinstance(a, kinds) and isinstance(b, t.Int) for a, b in ((left, right), (right, left)))


def _cast_part(output: SelectOutput, columns: tuple[tuple[str, TypedSql], ...]) -> str:
    """A part with its columns cast to the common types."""
    if all(own.spark == whole.spark for (_, own), (_, whole) in zip(output.columns, columns, strict=True)):
        return f"(SELECT * FROM ({output.sql}))"
    shown = []
    for (name, own), (_, whole) in zip(output.columns, columns, strict=True):
        same = own.spark == whole.spark
        shown.append(
            quote_identifier(name)
            if same
            else cast_all([TypedSql(quote_identifier(name), own.type, own.spark)], keep_digits(whole).type)[0]
        )
    listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for sql, (name, _) in zip(shown, columns, strict=True))
    return f"(SELECT {listed} FROM ({output.sql}))"
