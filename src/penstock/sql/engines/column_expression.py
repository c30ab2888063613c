"""An expression over the columns of one table: a DEFAULT, or a key of an engine.

In: the text and the columns. Out: `CompiledExpression` with Spark SQL, type and the columns read. Invariant: it reads
columns of this table only; a SELECT, aggregate or window is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from penstock.model.datasource import Column, Text
from penstock.sql.calls.dispatch import HANDLERS
from penstock.sql.compiler.scope import ScopeTable, SelectScope, UsedSources
from penstock.sql.compiler.translator import OutputColumns, Translator
from penstock.sql.expr.typed import TypedSql
from penstock.sql.query import CompiledExpression
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.problems import Report, refusal
from penstock.sql.syntax.tree import parse_select_list

OWN_TABLE = "__own"
"""The placeholder under which `UsedSources` notes the columns that the expression reads."""


def compile_expression(text: Text, columns: Sequence[Column]) -> CompiledExpression:
    """A DEFAULT or key expression. Raises InvalidQuery with its problems."""
    report = Report()
    with report.collecting():
        tr = row_translator(text, {c.name: stored_column_value(c) for c in columns})
        value = tr.translate(_single_expression(text, parse_select_list(text)).unalias())
        used = tr.uses.columns[OWN_TABLE]
        return CompiledExpression(value.sql, value.type, tuple(c.name for c in columns if c.name in used))
    report.finish("the expression cannot be compiled")
    raise AssertionError("a refused expression has a problem")


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

    return Translator(text, scope, uses, HANDLERS, no_subquery, place="row")
