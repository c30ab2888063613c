"""An expression over the columns of one table: a DEFAULT, or a key of an engine.

In: the text and the columns. Out: `CompiledExpression` with Spark SQL, type and the columns read. Invariant: it reads
columns of this table only; a SELECT, aggregate, window or arrayJoin is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.types import Type, unwrap_type
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.calls.dispatch import HANDLERS
from penstock.sql.compiler.scope import ScopeTable, SelectScope, UsedSources
from penstock.sql.compiler.translator import OutputColumns, SubqueryCompiler, Translator
from penstock.sql.conversions.constants import written_constant
from penstock.sql.conversions.implicit import cast_column
from penstock.sql.conversions.insert import convert_for_insert, insert_refusal
from penstock.sql.conversions.literals import parse_literal
from penstock.sql.engines.constant_conversions import failing_text
from penstock.sql.engines.constant_numbers import constant_fraction, divides_by_zero, fraction_as
from penstock.sql.expr.typed import Constant, TypedSql
from penstock.sql.query import CompiledExpression
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.problems import Report, refusal
from penstock.sql.syntax.tree import parse_select_list

_NUMBER = re.compile(r"[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?")
OWN_TABLE = "__own"
"""The placeholder under which `UsedSources` notes the columns that the expression reads."""


def compile_expression(text: Text, columns: Sequence[Column]) -> CompiledExpression:
    """A DEFAULT or key expression. Raises InvalidQuery with its problems."""
    report = Report()
    with report.collecting():
        tr = row_translator(text, {c.name: stored_column_value(c) for c in columns})
        _, value = _translate_single(tr, text)
        used = tr.uses.columns[OWN_TABLE]
        return CompiledExpression(value.sql, value.type, tuple(c.name for c in columns if c.name in used))
    report.finish("the expression cannot be compiled")
    raise AssertionError("a refused expression has a problem")


def compile_default(text: Text, columns: Sequence[Column], column: Column) -> str:
    """The DEFAULT of a column as Spark SQL over the columns of its table, in the type of the column. Raises
    InvalidQuery with its problems."""
    report = Report()
    with report.collecting():
        tr = row_translator(text, {c.name: stored_column_value(c) for c in columns})
        tree, value = _translate_single(tr, text)
        failing = failing_text(tree, value.type)
        if failing is not None:
            message = f"DEFAULT of `{column.name}`: '{failing}' is not a {value.type}"
            raise tr.refusal(tree, "invalid-literal", message)
        if divides_by_zero(tree):
            message = f"DEFAULT of `{column.name}`: it divides by zero"
            raise tr.refusal(tree, "invalid-literal", message, "intDivOrZero and moduloOrZero give 0")
        exact = cast_column(value.sql, value.type, column.type)
        if exact is not None:
            return exact
        computed = _fraction_default(tr, tree, text, column)
        if computed is not None:
            return computed
        constant = _constant_default(tr, tree, value, column)
        if constant is not None:
            return f"CAST({constant} AS {spark_type(column.type)})"
        stored = convert_for_insert(value, column.type)
        if stored is not None:
            return stored
        message, hint = insert_refusal(value.type, column.type)
        raise tr.refusal(tree, "incompatible-type", f"DEFAULT of `{column.name}`: {message}", hint)
    report.finish("the DEFAULT cannot be compiled")
    raise AssertionError("a refused expression has a problem")


def _translate_single(tr: Translator, text: Text) -> tuple[exp.Expr, TypedSql]:
    """The one expression of a text, and its value. Raises Refused."""
    tree = _single_expression(text, parse_select_list(text)).unalias()
    value = tr.translate(tree)
    if tr.trace.spread:
        message = "arrayJoin is not allowed in this expression: it repeats rows"
        raise tr.refusal(tree, "unsupported-syntax", message)
    return tree, value


def _constant_default(tr: Translator, node: exp.Expr, value: TypedSql, column: Column) -> str | None:
    """A constant in literals and casts alone; None if it is none, or cannot be written so. Raises Refused for a literal
    that the type of the column does not have."""
    of, constant = unwrap_type(column.type), value.constant
    if constant is None:
        return None
    try:
        if _is_value_of(constant, of):
            return value.sql if isinstance(of, (t.Int, t.Float, t.Bool)) else written_constant(constant, of)
    except (ValueError, ArithmeticError):
        pass
    hint = "write `true` or `false`" if isinstance(of, t.Bool) else None
    written = column.default.text.strip() if column.default is not None else value.sql
    raise tr.refusal(node, "invalid-literal", f"DEFAULT of `{column.name}`: {written} is not a {column.type}", hint)


def _fraction_default(tr: Translator, tree: exp.Expr, text: Text, column: Column) -> str | None:
    """A fraction of numbers as a value of a whole number or Decimal; None if it is none. Raises Refused for one that
    the type of the column does not have."""
    value = constant_fraction(tree)
    if value is None or not isinstance(unwrap_type(column.type), (t.Int, t.Decimal)):
        return None
    found = fraction_as(value, column.type)
    if found is None:
        message = f"DEFAULT of `{column.name}`: {text.text.strip()} is {value:g}, which is not a {column.type}"
        raise tr.refusal(tree, "invalid-literal", message)
    return found


_TRUTH = frozenset(["true", "t", "yes", "y", "1", "false", "f", "no", "n", "0"])
"""The texts that Spark reads as a truth value; ClickHouse reads all of them so."""
_TYPES_WITH_LITERALS = (t.Enum, t.Date, t.DateTime, t.DateTime64, t.UUID, t.IPv4, t.IPv6)


def _is_value_of(constant: Constant | None, of: Type) -> bool:
    """Whether a literal is a value of a type; True for types whose literals are not looked at."""
    if isinstance(of, t.Int) and isinstance(constant, str):
        number = parse_whole_number(constant.strip().lstrip("+-"))
        return number is not None and of.low <= (-number if "-" in constant else number) <= of.high
    if isinstance(of, t.Int):
        return not isinstance(constant, (int, float)) or of.low <= constant <= of.high
    if isinstance(of, (t.Float, t.Decimal)) and isinstance(constant, str):
        return _NUMBER.fullmatch(constant.strip()) is not None
    if isinstance(constant, str) and isinstance(of, t.Bool):
        return constant.strip().lower() in _TRUTH
    if isinstance(constant, str) and isinstance(of, _TYPES_WITH_LITERALS):
        return parse_literal(constant, of) is not None
    return True


def stored_column_value(column: Column) -> TypedSql:
    """A column of the table as a value."""
    return TypedSql(quote_identifier(column.name), column.type, spark_type(column.type))


def _single_expression(text: Text, tree: exp.Select) -> exp.Expr:
    used = [key for key, value in tree.args.items() if value and key not in ("expressions", "kind")]
    if len(tree.expressions) != 1 or used:
        raise refusal(text, tree, "invalid-expression", "expected one expression")
    only: exp.Expr = tree.expressions[0]
    return only


def row_translator(text: Text, columns: Mapping[str, TypedSql]) -> Translator:
    """A translator for expressions over one row with these columns."""
    uses = UsedSources()
    uses.add_datasource(OWN_TABLE, OWN_TABLE)
    scope = SelectScope((ScopeTable(OWN_TABLE, columns, OWN_TABLE),))

    def no_subquery(tree: exp.Query) -> tuple[str, OutputColumns]:
        raise refusal(text, tree, "unsupported-syntax", "a SELECT is not allowed in this expression")

    return Translator(text, scope, uses, HANDLERS, SubqueryCompiler(no_subquery, lambda _: False), place="row")
