"""One table of FROM: a data source, pipe, node, CTE, subquery or table function, as a `TableReference`.

Nodes, pipes and CTEs are compiled in place, so that the left-most table of a materialized node may be the data source
that triggers it. `_unique_columns` finds columns in which no two rows of a SELECT have equal values (by GROUP BY,
DISTINCT or LIMIT 1 BY); it never returns columns in which two rows may agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.errors import InvalidQuery, did_you_mean
from penstock.model.datasource import DataSource
from penstock.model.pipe import Node, Pipe
from penstock.model.quick_dataclass import dataclass
from penstock.model.service_sources import ServiceSource
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.environment import Environment, SelectOutput, Totals
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.translator import check_length
from penstock.sql.engines.merge_rules import MergeRuleResult, merge_rule
from penstock.sql.expr.bind_once import is_generated_name
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql
from penstock.sql.from_clause.external_tables import EXTERNAL_FUNCTIONS, external_table
from penstock.sql.from_clause.sample import refuse_sample, sampled_rows
from penstock.sql.from_clause.service_tables import find_service_source
from penstock.sql.from_clause.table_functions import GeneratedRows, query_of_values, rows_of_function
from penstock.sql.functions.function import UINT8, UINT64
from penstock.sql.query import FINAL
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tree import call_name, call_parts


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table with its alias, as Spark SQL."""

    sql: str
    relation: ScopeTable
    grouped: bool = False
    unique: frozenset[str] | None = None
    """Columns in which no two rows have equal values, if known."""
    totals: Totals | None = None
    """The totals of a SELECT WITH TOTALS."""
    any_join: AnyJoinRows | None = None
    """Restricts filters around it (see `SelectOutput`)."""


def read_table(environment: Environment, node: exp.Expr, place: int) -> TableReference:
    """The table of a node; `place` numbers the tables of FROM. Raises Refused."""
    if is_generated_name(node.alias_or_name):
        message = f"a table cannot be called `{node.alias_or_name}`"
        raise refusal(environment.text, node, "invalid-name", message, "give it an alias that begins with a letter")
    found = _table_of_node(environment, node, place)
    check_length(environment.text, node, found.sql)
    return found


def _table_of_node(environment: Environment, node: exp.Expr, place: int) -> TableReference:
    if isinstance(node, exp.Final):
        return _table_with_final(environment, node)
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        refuse_sample(environment, node, "a SELECT")
        return _table_of_subquery(environment, node, place)
    if isinstance(node, exp.Values):
        rows = exp.Subquery(this=query_of_values(environment, node), alias=node.args.get("alias"))
        return _table_of_subquery(environment, rows, place)
    if not isinstance(node, exp.Table):
        raise refusal(environment.text, node, "unsupported-clause", "expected a table or a SELECT in FROM")
    _check_alias(environment, node)
    if node.args.get("version") or node.args.get("when"):
        message = "time travel (an older version of a table) is not supported"
        raise refusal(environment.text, node, "unsupported-clause", message)
    if isinstance(node.this, exp.Anonymous):
        refuse_sample(environment, node, "a table function")
        return _table_of_function(environment, node, place)
    if node.db == "system" and node.name == "one":
        refuse_sample(environment, node, "system.one")
        return system_one(node.alias or "one")
    service = find_service_source(environment, node)
    if service is not None:
        refuse_sample(environment, node, "a service data source")
        return _table_of_service_source(environment, node, service)
    if node.args.get("db") is not None:
        near = _INSTEAD_OF_SYSTEM_TABLES.get(node.name) if node.db == "system" else None
        hint = near or nearest_table_name(environment, node.name)
        raise refusal(environment.text, node, "unknown-table", f"unknown table `{node.db}.{node.name}`", hint)
    return _table_by_name(environment, node, node.alias or node.name)


_INSTEAD_OF_SYSTEM_TABLES = {
    "numbers": "numbers(n) has as many numbers as are needed",
    "tables": "SHOW TABLES lists the data sources and pipes",
    "columns": "DESCRIBE name lists the columns of a data source, a pipe or a SELECT",
}
"""What answers the question that is asked of a table of ClickHouse's system database."""


def _table_of_service_source(environment: Environment, node: exp.Table, service: ServiceSource) -> TableReference:
    alias, pipe = node.alias or node.name, service.pipe
    if pipe is None:
        return _table_of_datasource(environment, service.datasource, alias)
    return _table_of_output(environment, node, inline_node(environment, node, (pipe, pipe.result)), alias)


def _check_alias(environment: Environment, node: exp.Expr) -> None:
    """Raises Refused for `table AS alias(column, …)`."""
    alias = node.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
        message = "column names after the alias of a table are not supported"
        raise refusal(environment.text, node, "unsupported-clause", message)


def nearest_table_name(environment: Environment, name: str) -> str | None:
    """A hint with the nearest name that SQL may read here."""
    nodes = [node.name for node in environment.pipe.nodes] if environment.pipe is not None else []
    return did_you_mean(name, [*environment.ctes, *nodes, *environment.project.names])


def _table_of_subquery(environment: Environment, node: exp.Subquery, place: int) -> TableReference:
    """A SELECT in parentheses. Raises Refused."""
    output = environment.compile(environment, node.this)
    _check_alias(environment, node)
    found = _table_of_output(environment, node, output, node.alias or f"__t{place}")
    return replace(found, unique=_unique_columns(node.this))


def _table_of_output(environment: Environment, node: exp.Expr, output: SelectOutput, alias: str) -> TableReference:
    """The rows of a SELECT as a table. Where it gives a name twice, the name means the first of these columns, as in
    ClickHouse; the others get names that nothing reads. Raises Refused."""
    names = tuple(name for name, _ in output.columns)
    columns = {
        name: TypedSql(f"{quote_identifier(alias)}.{quote_identifier(name)}", value.type, value.spark)
        for name, value in reversed(output.columns)
    }
    relation = ScopeTable(alias, {name: columns[name] for name in names})
    named = quote_identifier(alias)
    if len(columns) < len(names):
        _refuse_twice(environment, node, output, names)
        relation = replace(relation, repeated=names)
        named += f"({', '.join(map(quote_identifier, _single_names(names)))})"
    totals = output.totals and replace(output.totals, sql=f"({output.totals.sql}) AS {named}")
    any_join = output.any_join and output.any_join.as_table(alias)
    return TableReference(f"({output.sql}) AS {named}", relation, output.grouped, totals=totals, any_join=any_join)


def _refuse_twice(environment: Environment, node: exp.Expr, output: SelectOutput, names: Sequence[str]) -> None:
    """Raises Refused for a column that is given twice by a SELECT whose columns are read by their names later."""
    if output.totals is None and output.any_join is None:
        return
    twice = next(name for name in names if names.count(name) > 1)
    message = f"this SELECT gives the column `{twice}` twice"
    raise refusal(environment.text, node, "duplicate-column", message, "give one of them an alias")


def _single_names(names: Sequence[str]) -> list[str]:
    """The names, with another in the place of each that was there before."""
    return [f"__again{place}" if name in names[:place] else name for place, name in enumerate(names)]


def _table_by_name(environment: Environment, node: exp.Table, alias: str) -> TableReference:
    """A CTE, a node of this pipe, another pipe or a data source, in this order. Raises Refused."""
    name = node.name
    cte = environment.ctes.get(name)
    if cte is not None:
        refuse_sample(environment, node, "a SELECT")
        inner = replace(cte.environment, triggers=environment.triggers)
        output = environment.compile_once(id(cte), cte, lambda: inner.compile(inner, cte.query))
        rows = _table_of_output(environment, node, output, alias)
        return replace(rows, relation=replace(rows.relation, table_name=name), unique=_unique_columns(cte.query))
    environment.check_name(name)
    found = find_node(environment, name)
    if found is not None:
        refuse_sample(environment, node, "a pipe")
        return _table_of_output(environment, node, inline_node(environment, node, found), alias)
    source = environment.project.datasource(name)
    if source is None:
        raise _unknown_table(environment, node, name)
    stored = _table_of_datasource(environment, source, alias)
    if not node.args.get("sample"):
        return stored
    sample = sampled_rows(environment, node, source, register_placeholder(environment, source))
    return replace(stored, sql=f"{sample} AS {quote_identifier(alias)}")


def find_node(environment: Environment, name: str) -> tuple[Pipe, Node] | None:
    """The node that a name means: one of this pipe, or the result of another pipe."""
    if environment.pipe is not None:
        node = next((each for each in environment.pipe.nodes if each.name == name), None)
        if node is not None:
            return environment.pipe, node
    pipe = environment.project.pipe(name)
    return (pipe, pipe.result) if pipe is not None else None


def inline_node(environment: Environment, place: exp.Expr, found: tuple[Pipe, Node]) -> SelectOutput:
    """A node compiled where it is read. Raises Refused if it reads itself."""
    pipe, node = found
    if node.handler is not None:
        message = f"`{pipe.name}` answers by a function in Python, which SQL cannot read"
        raise refusal(environment.text, place, "unsupported-clause", message, "read the tables that it reads")
    if f"{pipe.name}.{node.name}" in environment.inside:
        way = " → ".join((*environment.inside, f"{pipe.name}.{node.name}"))
        raise refusal(environment.text, place, "cyclic-pipes", f"the SQL reads itself: {way}")
    inner, nodes = environment.for_node(pipe, node), environment.uses.budget.caller.nodes
    if nodes is not None and environment.external is None and not environment.join_nulls:
        return nodes.compile(inner, pipe.name, node.name)
    return environment.compile_once((pipe.name, node.name), node, lambda: inner.compile_text(inner))


def _table_of_datasource(environment: Environment, source: DataSource, alias: str) -> TableReference:
    return _stored_table(source, alias, register_placeholder(environment, source))


def _stored_table(source: DataSource, alias: str, placeholder: str) -> TableReference:
    columns = {
        column.name: TypedSql(
            f"{quote_identifier(alias)}.{quote_identifier(column.name)}", column.type, spark_type(column.type)
        )
        for column in source.columns
    }
    return TableReference(
        f"{placeholder} AS {quote_identifier(alias)}", ScopeTable(alias, columns, placeholder, table_name=source.name)
    )


def _table_with_final(environment: Environment, node: exp.Final) -> TableReference:
    """A data source with FINAL: its rows merged by the rule of its engine. Raises Refused."""
    of = node.this
    source = None
    if isinstance(of, exp.Table) and of.name not in environment.ctes:
        environment.check_name(of.name)
        source = environment.project.datasource(of.name)
        if source is None and not of.args.get("db") and of.name and find_node(environment, of.name) is None:
            raise _unknown_table(environment, of, of.name)
    if source is None:
        message = "FINAL needs a data source whose engine merges rows"
        raise refusal(environment.text, node, "unsupported-clause", message, "leave FINAL out")
    refuse_sample(environment, of, "rows that FINAL merges")
    ruling = _merge_rule_of(environment, node, source)
    if ruling.rule is None:
        raise refusal(environment.text, node, "unsupported-clause", ruling.why, ruling.hint)
    _check_prewhere(environment, node, source)
    if environment.triggers:
        message = "a materialized node cannot read the rows that trigger it with FINAL"
        raise refusal(environment.text, node, "unsupported-view", message, "leave FINAL out: it sees what is inserted")
    placeholder = f"{FINAL}{source.name}__"
    environment.uses.add_datasource(placeholder, source.name)
    return _stored_table(source, of.alias or of.name, placeholder)


def _unknown_table(environment: Environment, node: exp.Table, name: str) -> Refused:
    hint = nearest_table_name(environment, name)
    return refusal(environment.text, node, "unknown-table", f"unknown data source or pipe `{name}`", hint)


def _check_prewhere(environment: Environment, node: exp.Final, source: DataSource) -> None:
    """Raises Refused for PREWHERE of more than sorting keys: ClickHouse filters by it before it merges, and by WHERE
    after. Rows that are merged have the same keys, so a filter of these keeps or drops them together."""
    around = node.find_ancestor(exp.Select)
    test = around.args.get("prewhere") if around is not None else None
    if around is None or test is None:
        return
    aliases = {each.alias for each in around.find_all(exp.Alias)}
    keys = {each.strip("`") for each in source.engine.sorting_key} - aliases
    named = (each for each in test.walk(prune=lambda each: isinstance(each, exp.Query)) if isinstance(each, exp.Column))
    other = next((each for each in named if each.name not in keys or each.args.get("db") is not None), None)
    if other is not None:
        message = "PREWHERE with FINAL filters rows before they are merged: it is supported for sorting keys only"
        raise refusal(environment.text, other, "unsupported-clause", message, "WHERE filters merged rows")


def _merge_rule_of(environment: Environment, node: exp.Final, source: DataSource) -> MergeRuleResult:
    try:
        return merge_rule(source)
    except InvalidQuery as error:
        message = f"FINAL is not possible on `{source.name}`: its keys do not compile"
        raise refusal(environment.text, node, "unsupported-clause", message, error.hint) from error


def register_placeholder(environment: Environment, source: DataSource) -> str:
    """The placeholder that stands for a data source in the SQL; noted as read."""
    placeholder = f"__{'new' if environment.triggers else 'all'}_{source.name}__"
    environment.uses.add_datasource(placeholder, source.name)
    return placeholder


def _table_of_function(environment: Environment, node: exp.Table, place: int) -> TableReference:
    """A table function: numbers(n), view(SELECT …) …; without an alias, it has no name that a column could follow."""
    _, arguments = call_parts(node.this)
    if call_name(node.this) == "view" and len(arguments) == 1 and isinstance(arguments[0], exp.Query):
        output = environment.compile(environment, arguments[0])
        return _table_of_output(environment, node, output, node.alias or f"__t{place}")
    if call_name(node.this) in EXTERNAL_FUNCTIONS:
        placeholder, relation = external_table(environment, node)
        return TableReference(f"{placeholder} AS {quote_identifier(relation.name)}", relation)
    return _table_of_rows(rows_of_function(environment, node.this), node.alias or f"__t{place}")


def _table_of_rows(rows: GeneratedRows, alias: str) -> TableReference:
    value = TypedSql(f"{quote_identifier(alias)}.{quote_identifier(rows.column)}", rows.type, value_type(rows.type))
    column = replace(value, spark="BIGINT") if rows.type == UINT64 else value
    return TableReference(f"({rows.sql}) AS {quote_identifier(alias)}", ScopeTable(alias, {rows.column: column}))


def system_one(alias: str) -> TableReference:
    """The table system.one, of one row, which a SELECT without FROM reads as well."""
    return _table_of_rows(GeneratedRows("SELECT 0 AS `dummy`", "dummy", UINT8), alias)


def _unique_columns(tree: exp.Expr) -> frozenset[str] | None:
    """The columns, by the names that the SELECT gives them; None if nothing is known."""
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    if not isinstance(tree, exp.Select) or any(each.find(exp.Star) for each in tree.expressions):
        return None
    if any(_has_array_join(each) for each in tree.expressions):
        return None
    limit = tree.args.get("distribute")
    if limit is not None and _is_limit_one(limit):
        return _names_of_keys(tree, [each.this for each in limit.expressions[2:]])
    group = tree.args.get("group")
    if group is not None and {key for key, value in group.args.items() if value} == {"expressions"}:
        return _names_of_keys(tree, _flatten_tuples(group.expressions))
    if tree.args.get("distinct") and group is None:
        return frozenset(each.alias_or_name for each in tree.expressions)
    return None


def _is_limit_one(limit: exp.Expr) -> bool:
    count = limit.expressions[0].this
    return isinstance(count, exp.Literal) and parse_whole_number(count.name) == 1


def _has_array_join(node: exp.Expr) -> bool:
    """Whether arrayJoin in the expression multiplies rows."""
    return any(each.name.lower().startswith("arrayjoin") for each in node.find_all(exp.Anonymous))


def _flatten_tuples(nodes: list[exp.Expr]) -> list[exp.Expr]:
    return [part for node in nodes for part in (node.expressions if isinstance(node, exp.Tuple) else [node])]


def _names_of_keys(tree: exp.Select, keys: list[exp.Expr]) -> frozenset[str] | None:
    """The names of the columns that are the keys; None if a key is not in the select list."""
    found = [_name_of_key(tree, key) for key in keys]
    names = frozenset(name for name in found if name)
    return names if keys and all(found) else None


def _name_of_key(tree: exp.Select, key: exp.Expr) -> str | None:
    place = parse_whole_number(key.name) if isinstance(key, exp.Literal) and not key.args.get("is_string") else None
    if place is not None:
        return str(tree.expressions[place - 1].alias_or_name) if 1 <= place <= len(tree.expressions) else None
    for each in tree.expressions:
        same_name = isinstance(key, exp.Column) and not key.table and each.alias_or_name == key.name
        if same_name or each.unalias() == key:
            return str(each.alias_or_name)
    return None
