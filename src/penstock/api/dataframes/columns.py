"""Columns of PySpark as SQL.

In: expressions of PySpark's client API, which are values without a session, and what their names mean. Out: `Value`.
Invariant: a kind of expression that is not written here is refused; functions keep the name and the arguments that
PySpark gives them, so that Spark resolves the same function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import sqlglot
from pyspark.sql.connect import expressions as connect
from pyspark.sql.connect.column import Column
from pyspark.sql.types import DataType
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.api.dataframes.expressions import ColumnUse, SqlPiece, call, join, quote, sql
from penstock.api.dataframes.function_rules import AGGREGATES, GENERATORS, refusal_of
from penstock.api.dataframes.literals import literal_text, text_literal
from penstock.api.dataframes.refusal import RefusedInView
from penstock.parse.sql_syntax.spark_calls import find_changed_call

Resolve: TypeAlias = Callable[[Sequence[str], int | None], SqlPiece]
"""What a name means: its parts, and the number of the DataFrame that it was taken from."""
_INFIX = {"==": "=", "and": "AND", "or": "OR", "like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE"}
_INFIX |= {each: each for each in ("+", "-", "*", "/", "%", "<", ">", "<=", ">=", "<=>", "|", "&", "^")}
_AROUND = {
    "not": ("(NOT ", ")"),
    "negative": ("(- ", ")"),
    "~": ("(~ ", ")"),
    "isnull": ("(", " IS NULL)"),
    "isnotnull": ("(", " IS NOT NULL)"),
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TYPE = re.compile(r"[A-Za-z][\w<>:,() ]*")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.]+))\s*(\.|\Z)")
_CALLED = re.compile(r"\s*`?(\w+)`?\s*\(")
_MARK = "__penstock_column_"


@dataclass(frozen=True, slots=True)
class Value:
    """A column as SQL, and what matters for the SELECT that it stands in."""

    sql: SqlPiece
    name: str | None = None
    aggregates: bool = False
    makes_rows: bool = False
    ungrouped: frozenset[ColumnUse] = frozenset()
    """The columns that stand outside of aggregates."""


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of `a.b` or of `` `a.b`.c ``. Raises RefusedInView."""
    found: list[str] = []
    at = 0
    while at < len(name) or not found:
        part = _PART.match(name, at)
        if part is None:
            raise RefusedInView(f"{name!r} is no name of a column", "write names with other characters in backquotes")
        found.append((part[1] or part[2]).replace("``", "`"))
        at = part.end()
    return tuple(found)


def value_of(given: object, resolve: Resolve) -> Value:
    """A column, or the name of one, as SQL. Raises RefusedInView."""
    if isinstance(given, str):
        parts = name_parts(given)
        return _Writer(resolve).named(resolve(parts, None), parts[-1])
    expression = given._expr if isinstance(given, Column) else None
    if not isinstance(expression, connect.Expression):
        message = f"a {type(given).__name__} is no column of this view"
        raise RefusedInView(message, "use pyspark.sql.functions, whose functions are recorded")
    return _Writer(resolve).top(expression)


@dataclass
class _Writer:
    resolve: Resolve
    aggregates: bool = False
    makes_rows: bool = False
    ungrouped: set[ColumnUse] = field(default_factory=set)
    _within: int = 0
    """How many aggregates are around what is being written."""
    _variables: dict[str, str] = field(default_factory=dict)
    """The variables of lambdas, by PySpark's name, which is another one each time."""

    def top(self, expression: connect.Expression) -> Value:
        name = None
        if isinstance(expression, connect.ColumnAlias):
            if len(expression._alias) != 1:
                raise RefusedInView("a column has one name", "select the fields one by one")
            name, expression = expression._alias[0], expression._child
        if isinstance(expression, connect.ColumnReference):
            name = name or name_parts(expression._unparsed_identifier)[-1]
        return self.named(self.write(expression), name)

    def named(self, written: SqlPiece, name: str | None) -> Value:
        self.ungrouped |= written.refs if written.ref is not None else frozenset()
        return Value(written, name, self.aggregates, self.makes_rows, frozenset(self.ungrouped))

    def write(self, of: connect.Expression) -> SqlPiece:
        write = _WRITERS.get(type(of))
        if write is None:
            raise RefusedInView(*_KIND_REFUSALS.get(type(of).__name__, _other_kind(of)))
        return write(self, of)

    def reference(self, of: connect.ColumnReference) -> SqlPiece:
        found = self.resolve(name_parts(of._unparsed_identifier), of._plan_id)
        if not self._within:
            self.ungrouped |= found.refs
        return found

    def literal(self, of: connect.LiteralExpression) -> SqlPiece:
        return sql(literal_text(of._value, of._dataType))

    def function(self, of: connect.UnresolvedFunction) -> SqlPiece:
        name = of._name.lower()
        self._note(name, len(of._args))
        is_aggregate = name in AGGREGATES
        self._within += is_aggregate
        try:
            return self._call(name, of)
        finally:
            self._within -= is_aggregate

    def _note(self, name: str, arguments: int) -> None:
        refused = refusal_of(name, arguments)
        if refused is not None:
            raise RefusedInView(*refused)
        self.aggregates |= name in AGGREGATES
        self.makes_rows |= name in GENERATORS

    def _call(self, name: str, of: connect.UnresolvedFunction) -> SqlPiece:
        if name == "struct":
            return self._struct(of._args)
        if name == "count" and not of._is_distinct and len(of._args) == 1 and _is_every_column(of._args[0]):
            return sql("count(1)")
        arguments = [self.write(each) for each in of._args]
        if name in _INFIX and len(arguments) == 2:
            return sql("(", arguments[0], f" {_INFIX[name]} ", arguments[1], ")")
        if name in _AROUND and len(arguments) == 1:
            before, behind = _AROUND[name]
            return sql(before, arguments[0], behind)
        if name == "in":
            if len(arguments) == 1:
                return sql("FALSE")
            return sql("(", arguments[0], " IN (", join(", ", arguments[1:]), "))")
        if not _NAME.fullmatch(name):
            raise RefusedInView(f"the operator `{of._name}` is not known here", "use another function")
        return call(name, _kept_arguments(name, arguments), "DISTINCT " if of._is_distinct else "")

    def _struct(self, given: Sequence[connect.Expression]) -> SqlPiece:
        """A struct says the names of its fields, which SQL would take from its columns."""
        found: list[SqlPiece] = []
        for each in given:
            if isinstance(each, connect.ColumnAlias) and len(each._alias) == 1:
                name, value = each._alias[0], each._child
            elif isinstance(each, connect.ColumnReference):
                name, value = name_parts(each._unparsed_identifier)[-1], each
            else:
                raise RefusedInView("a field of a struct needs a name", 'write F.struct(value.alias("name"))')
            found += [sql(text_literal(name)), self.write(value)]
        return call("named_struct", found)

    def case(self, of: connect.CaseWhen) -> SqlPiece:
        found = sql("(CASE")
        for condition, value in of._branches:
            found = sql(found, " WHEN ", self.write(condition), " THEN ", self.write(value))
        if of._else_value is not None:
            found = sql(found, " ELSE ", self.write(of._else_value))
        return sql(found, " END)")

    def cast(self, of: connect.CastExpression) -> SqlPiece:
        kind = of._data_type
        text = kind.simpleString() if isinstance(kind, DataType) else str(kind)
        if not _TYPE.fullmatch(text):
            raise RefusedInView(f"{text!r} is no type", "write a type such as long, string or decimal(10, 2)")
        word = "TRY_CAST" if of._eval_mode == "try" else "CAST"
        return sql(f"{word}(", self.write(of._expr), f" AS {text})")

    def extract(self, of: connect.UnresolvedExtractValue) -> SqlPiece:
        return sql(self.write(of._child), "[", self.write(of._extraction), "]")

    def function_of_values(self, of: connect.LambdaFunction) -> SqlPiece:
        names = [self._variable(each) for each in of._arguments]
        shown = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return sql(f"{shown} -> ", self.write(of._function))

    def variable(self, of: connect.UnresolvedNamedLambdaVariable) -> SqlPiece:
        return sql(self._variable(of))

    def _variable(self, of: connect.UnresolvedNamedLambdaVariable) -> str:
        return self._variables.setdefault(of._name_parts[0], f"x{len(self._variables) + 1}")

    def alias(self, of: connect.ColumnAlias) -> SqlPiece:
        """A name within an expression says nothing, but for fields of structs."""
        return self.write(of._child)

    def text(self, of: connect.SQLExpression) -> SqlPiece:
        """An expression that the user wrote as SQL, with the columns that its names mean."""
        tree = parse_expression(of._expr)
        aggregates = [each for each in tree.find_all(exp.Func) if _called(each) in AGGREGATES]
        inside = {id(column) for each in aggregates for column in each.find_all(exp.Column)}
        for each in tree.find_all(exp.Func):
            self._note(_called(each), len(list(each.iter_expressions())))
        columns: list[SqlPiece] = []

        def marked(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column):
                return node
            columns.append(self.resolve([each.name for each in node.parts], None))
            if id(node) not in inside and not self._within:
                self.ungrouped.update(columns[-1].refs)
            return exp.column(f"{_MARK}{len(columns) - 1}")

        written = tree.transform(marked, copy=False).sql(dialect="spark", comments=False)
        pieces = re.split(rf"`?{_MARK}(\d+)`?", written)
        return sql("(", *(columns[int(each)] if at % 2 else each for at, each in enumerate(pieces)), ")")


def parse_expression(text: str) -> exp.Expr:
    """The tree of an expression. Raises RefusedInView."""
    _refuse_changed_call(text)
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError as error:
        raise RefusedInView(f"{text!r} is no expression of Spark SQL", str(error).splitlines()[0]) from error
    refused = (exp.Query, exp.Lambda, exp.Window, exp.Star, exp.Command, exp.Alias, exp.Aliases)
    if isinstance(tree, refused) or tree.find(*refused) is not None:
        raise RefusedInView(f"{text!r} has a part that is not read here", "write it with pyspark.sql.functions")
    return tree


def _refuse_changed_call(text: str) -> None:
    changed = find_changed_call(text)
    if changed is not None:
        raise RefusedInView(f"{text!r}: {changed.message}", changed.hint or "write it with other functions")


def _called(node: exp.Func) -> str:
    """The name by which Spark is called."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower()
    if isinstance(node, exp.Binary):
        return node.sql_name().lower()
    found = _CALLED.match(node.sql(dialect="spark", comments=False))
    return found[1].lower() if found else node.sql_name().lower()


def _kept_arguments(name: str, given: list[SqlPiece]) -> list[SqlPiece]:
    """The arguments of a call, whose defaults are said where sqlglot has others, and left out where it has none. Raises
    RefusedInView."""
    if name in ("listagg", "string_agg") and len(given) == 1:
        return [*given, sql(text_literal(""))]
    if name == "percentile" and len(given) == 3:
        if given[2] != sql("1"):
            raise RefusedInView("a frequency of `percentile` is not kept", "explode array_repeat of the value before")
        return given[:2]
    return given


def _other_kind(of: object) -> tuple[str, str]:
    return f"`{of}` cannot be written in a view", "write it with other functions, or the view in SQL"


_KIND_REFUSALS = {
    "CommonInlineUserDefinedFunction": (
        "a function of Python for each row cannot be a part of a view",
        "write it with pyspark.sql.functions, which are SQL",
    ),
    "WindowExpression": (
        "a window would see the rows of each step only, not those of the table",
        "store the rows, and use the window where they are queried",
    ),
    "SortOrder": ("rows of a table have no order", "order them where they are queried"),
    "UnresolvedStar": ("* is all columns, and this is one value", "name the columns"),
}
_WRITERS: dict[type, Callable[..., SqlPiece]] = {
    connect.ColumnReference: _Writer.reference,
    connect.LiteralExpression: _Writer.literal,
    connect.UnresolvedFunction: _Writer.function,
    connect.CaseWhen: _Writer.case,
    connect.CastExpression: _Writer.cast,
    connect.UnresolvedExtractValue: _Writer.extract,
    connect.LambdaFunction: _Writer.function_of_values,
    connect.UnresolvedNamedLambdaVariable: _Writer.variable,
    connect.ColumnAlias: _Writer.alias,
    connect.SQLExpression: _Writer.text,
}


def is_star(given: object) -> bool:
    """Whether all columns are meant."""
    return given == "*" if isinstance(given, str) else _is_every_column(getattr(given, "_expr", None))


def _is_every_column(expression: object) -> bool:
    """Whether it is `*`, of no one table."""
    is_any = isinstance(expression, connect.UnresolvedStar)
    return is_any and expression._unparsed_target is None and expression._plan_id is None  # type: ignore[attr-defined]


def reference(name: str, number: int) -> Column:
    """The column of a DataFrame, by its name and the DataFrame's number."""
    return Column(connect.ColumnReference(quote(name), number))


def column_of_text(text: str) -> Column:
    """An expression that is written as SQL: `a + 1 AS b`. Raises RefusedInView."""
    _refuse_changed_call(text)
    try:
        tree = sqlglot.parse_one(f"SELECT {text}", dialect="spark")
    except SqlglotError:
        tree = exp.Select()
    more = [part for part, value in tree.args.items() if value and part != "expressions"]
    if not isinstance(tree, exp.Select) or len(tree.selects) != 1 or more:
        raise RefusedInView(f"{text!r} is no column in SQL", "write one expression, with AS and its name")
    only = tree.selects[0]
    name = only.alias_or_name
    expression = connect.SQLExpression(only.unalias().sql(dialect="spark", comments=False))
    return Column(expression.alias(name) if name else expression)
