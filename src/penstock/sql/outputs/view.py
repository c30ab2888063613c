"""The rows of a materialized node as rows of its target: columns by name, in the target's order and types.

In: the compiled SELECT and the target. Out: `TargetRows`, a SELECT around it. Invariant: the result has every column
of the target and no other; a column that the node does not give takes its DEFAULT, or the default of its type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model.datasource import Column, DataSource
from penstock.model.pipe import Copied, Materialized, Node
from penstock.model.quick_dataclass import dataclass
from penstock.parse.cross_checks import missing_target
from penstock.sql.compiler.environment import Environment, SelectOutput
from penstock.sql.conversions.insert import convert_for_insert, insert_refusal
from penstock.sql.engines.column_expression import row_translator, stored_column_value
from penstock.sql.expr.typed import TypedSql
from penstock.sql.spark_dialect.compile_spark import parse_spark
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import column_default, spark_type
from penstock.sql.syntax.column_names import column_name
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tree import parse_query, parse_select_list

_UNION = re.compile("union|intersect|except", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TargetRows:
    """The rows of a materialized node, as rows of its target."""

    target: str
    output: SelectOutput


def view_rows(environment: Environment, node: Node, output: SelectOutput) -> TargetRows:
    """The rows for the target. Problems go to the environment's report. Raises ValueError if the node is not
    materialized."""
    kind = node.kind
    if not isinstance(kind, Materialized):
        raise ValueError(f"{node.name} is not materialized")
    target = find_target(environment, kind)
    if target is None:
        return TargetRows(kind.datasource, output)
    _check_shape(environment)
    check_column_names(environment, output, target)
    return TargetRows(target.name, _rows_of_target(environment, output, target))


def find_target(environment: Environment, kind: Materialized | Copied) -> DataSource | None:
    """The data source that the rows go to; None, with a problem in the report, if there is none."""
    target = environment.project.datasource(kind.datasource)
    if target is None:
        names = [source.name for source in environment.project.datasources]
        environment.report.problems.append(missing_target(kind, names))
    return target


def _check_shape(environment: Environment) -> None:
    with environment.report.collecting():
        if _may_be_union(environment) and isinstance(tree := _parse_text(environment), exp.SetOperation):
            message = "a materialized node cannot be a UNION"
            raise refusal(environment.text, tree, "unsupported-view", message, "write one node for each part")
        if not any(name.startswith("__new_") for name in environment.uses.datasources):
            message, hint = "a materialized node must read a data source", "its left-most table triggers it"
            raise refusal(environment.text, _parse_text(environment), "unsupported-view", message, hint)


def _may_be_union(environment: Environment) -> bool:
    """Whether to parse the SQL again to see if it is a UNION: most views do not contain the words."""
    return environment.dialect == "spark" or _UNION.search(environment.text.text) is not None


def check_column_names(environment: Environment, output: SelectOutput, target: DataSource) -> None:
    """Reports columns that the target lacks, and columns that are given twice."""
    seen: set[str] = set()
    for name, _ in output.columns:
        with environment.report.collecting():
            if name in seen:
                raise refused_column(environment, name, "duplicate-column", f"the column `{name}` is given twice")
            if target.column(name) is None:
                hint = did_you_mean(name, target.column_names)
                message = f"`{target.name}` has no column `{name}`"
                raise refused_column(environment, name, "unknown-column", message, hint)
        seen.add(name)


def refused_column(environment: Environment, name: str, code: str, message: str, hint: str | None = None) -> Exception:
    """The refusal of a column of the select list, at its place in the text."""
    return refusal(environment.text, _find_select_item(environment, name), code, message, hint)


def _parse_text(environment: Environment) -> exp.Query:
    return parse_spark(environment.text) if environment.dialect == "spark" else parse_query(environment.text)


def _find_select_item(environment: Environment, name: str) -> exp.Expr:
    """The expression of the select list with this name, or the whole query."""
    tree = _parse_text(environment)
    return next((each for each in tree.selects if column_name(each) == name), tree)


def _rows_of_target(environment: Environment, output: SelectOutput, target: DataSource) -> SelectOutput:
    """A SELECT of the target's columns around that of the node; DEFAULTs are computed over these in another SELECT
    around."""
    given = {name: TypedSql(f"q.{quote_identifier(name)}", value.type, value.spark) for name, value in output.columns}
    present = [column for column in target.columns if column.name in given]
    values = {}
    for column in present:
        with environment.report.collecting():
            values[column.name] = stored_value(environment, given[column.name], column)
    missing = [column for column in target.columns if column.name not in given]
    sql = f"SELECT {_select_list(values)} FROM ({output.sql}) AS q"
    if any(column.default is not None for column in missing):
        defaults = {c.name: _default_value(environment, c, present) for c in missing}
        both = {c.name: defaults.get(c.name, quote_identifier(c.name)) for c in target.columns}
        sql = f"SELECT {_select_list(both)} FROM ({sql})"
    elif missing:
        every = {c.name: values.get(c.name, column_default(c.type)) for c in target.columns}
        sql = f"SELECT {_select_list(every)} FROM ({output.sql}) AS q"
    columns = tuple((c.name, TypedSql(quote_identifier(c.name), c.type, spark_type(c.type))) for c in target.columns)
    return SelectOutput(sql, columns, output.grouped)


def _select_list(values: Mapping[str, str]) -> str:
    return ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in values.items())


def stored_value(environment: Environment, value: TypedSql, column: Column) -> str:
    """A value of the select list as the column stores it. Raises Refused."""
    sql = convert_for_insert(value, column.type)
    if sql is None:
        name = column.name
        message, hint = insert_refusal(value.type, column.type)
        raise refused_column(environment, name, "incompatible-type", f"column `{name}`: {message}", hint)
    return sql


def _default_value(environment: Environment, column: Column, present: list[Column]) -> str:
    """The DEFAULT of a column that the node does not give, computed over those it gives; else the default of the
    type."""
    if column.default is None:
        return column_default(column.type)
    with environment.report.collecting():
        tree = parse_select_list(column.default)
        tr = row_translator(column.default, {each.name: stored_column_value(each) for each in present})
        value = tr.translate(tree.expressions[0].unalias())
        sql = convert_for_insert(value, column.type)
        if sql is not None:
            return sql
        message, hint = insert_refusal(value.type, column.type)
        raise refusal(column.default, tree, "incompatible-type", f"DEFAULT of `{column.name}`: {message}", hint)
    return column_default(column.type)
