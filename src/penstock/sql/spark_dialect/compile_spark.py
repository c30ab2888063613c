"""SQL of DIALECT spark: tables become placeholders, columns are resolved and their types inferred by sqlglot.

In: the text of an environment. Out: its `SelectOutput`. Invariants: only one SELECT, of allowed syntax (see `allowed`),
over tables and columns that exist; a scalar that Spark computes may be NULL, so its ClickHouse type is Nullable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from penstock.errors import Problem, did_you_mean
from penstock.model import types as t
from penstock.model.datasource import Text
from penstock.model.pipe import Node, Pipe
from penstock.model.quick_dataclass import dataclass
from penstock.model.service_sources import ServiceSource
from penstock.model.types import Type
from penstock.sql.compiler.environment import Environment, SelectOutput
from penstock.sql.expr.typed import TypedSql
from penstock.sql.from_clause.service_tables import find_service_source
from penstock.sql.from_clause.tables import (
    find_node,
    inline_node,
    nearest_table_name,
    register_placeholder,
)
from penstock.sql.spark_dialect.allowed import STAND_IN_PREFIX, check_allowed
from penstock.sql.spark_dialect.clock_words import refuse_clock_words
from penstock.sql.spark_dialect.value_types import type_of_value
from penstock.sql.spark_text import (
    DIALECT,
    PARSE_ERRORS,
    parse_statements,
    quote_identifier,
    replace_placeholders,
    tokenize_spark,
)
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.error_messages import syntax_problem
from penstock.sql.syntax.problems import Refused, odd_statement, refusal
from penstock.sql.syntax.tree import refuse_depth, refuse_unfinished


@dataclass(frozen=True, slots=True)
class _SparkTable:
    """A table as sqlglot's schema has it: stand-in name, columns, and either the SQL of a node or a placeholder."""

    name: str
    columns: Mapping[str, TypedSql]
    sql: str | None = None
    placeholder: str | None = None


def parse_spark(text: Text) -> exp.Query:
    """The one SELECT of a text. Raises Refused."""
    try:
        tokens = tokenize_spark(text.text)
        refuse_depth(text, tokens)
        found = parse_statements(text.text)
    except PARSE_ERRORS as error:
        raise syntax_problem(text, error) from error
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise Refused(Problem("not-a-query", "only one SELECT is allowed here", odd_statement(text, tokens)))
    refuse_unfinished(text, tokens, found[0])
    _balance_conditions(found[0])
    _refuse_tree_depth(text, found[0])
    _refuse_alias_growth(text, found[0])
    return found[0]


SHORT_CHAIN = 16


def _balance_conditions(tree: exp.Expr) -> None:
    """Makes a balanced tree of each long chain of AND or of OR, whose meaning and text it keeps. sqlglot makes a chain
    as deep as it is long, and its time to resolve the names in one grows with the square of its depth."""
    for kind in (exp.And, exp.Or):
        for top in [each for each in tree.find_all(kind) if type(each.parent) is not kind]:
            level = _operands(top, kind)
            if len(level) > SHORT_CHAIN:
                while len(level) > 2:
                    pairs = [level[at : at + 2] for at in range(0, len(level), 2)]
                    level = [kind(this=pair[0], expression=pair[1]) if pair[1:] else pair[0] for pair in pairs]
                top.set("this", level[0])
                top.set("expression", level[1])


def _operands(top: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """What a chain of an operator connects, in its order."""
    found, waiting = [], [top]
    while waiting:
        node = waiting.pop()
        if type(node) is kind:
            waiting += [node.args["expression"], node.args["this"]]
        else:
            found.append(node)
    return found


MOST_EXPANDED = 20_000
"""The most nodes of an expression after sqlglot has put its aliases' expressions in their place."""


def _refuse_alias_growth(text: Text, tree: exp.Expr) -> None:
    """Raises Refused for aliases that each name the one before twice: with 30 of them, the text would have a billion
    nodes."""
    for select in tree.find_all(exp.Select):
        sizes: dict[str, int] = {}
        for each in select.expressions:
            nodes = list(each.walk())
            names = [node.name.lower() for node in nodes if isinstance(node, exp.Column) and not node.table]
            size = len(nodes) + sum(sizes.get(name, 0) for name in names)
            if size > MOST_EXPANDED + len(nodes):
                message = "the aliases of this SELECT stand for each other again and again"
                raise refusal(text, each, "too-complex", message, "compute them in a node that this one reads")
            sizes[each.alias_or_name.lower()] = size


DEEPEST_TREE = 400
"""sqlglot's time to resolve names grows with the square of the depth, and it keeps every other thread waiting: here for
a second."""


def _refuse_tree_depth(text: Text, tree: exp.Expr) -> None:
    """Raises Refused for a chain of thousands of operators, such as `a = b = c …`."""
    level: list[exp.Expr] = [tree]
    depth = 0
    while level:
        depth += 1
        if depth > DEEPEST_TREE:
            message = f"the SQL nests more than {DEEPEST_TREE:,} operators"
            raise refusal(text, level[0], "too-deep", message, "write a list with IN, or move parts of it into nodes")
        level = [child for node in level for child in node.iter_expressions()]


def compile_spark(environment: Environment) -> SelectOutput:
    """The text of the environment. Raises Refused."""
    budget = environment.uses.budget
    tree = parse_spark(environment.text)
    budget.check_time()
    check_allowed(environment.text, tree)
    sources = _replace_tables(environment, tree)
    schema = MappingSchema({each.name: _quoted_columns(each) for each in sources.values()}, dialect=DIALECT)
    budget.check_time()
    qualified = _qualify_columns(environment, tree, schema)
    refuse_clock_words(environment.text, qualified)
    budget.check_time()
    _restore_columns(environment, qualified, sources)
    _restore_result_names(qualified)
    columns = tuple(_result_column(environment, each, sources) for each in qualified.selects)
    texts = {
        quote_identifier(each.name): str(each.placeholder) if each.sql is None else f"({each.sql})"
        for each in sources.values()
    }
    sql = replace_placeholders(qualified.sql(dialect=DIALECT, comments=False), texts)
    grouped = any(each.find(exp.AggFunc) is not None for each in tree.find_all(exp.Select))
    return SelectOutput(sql, columns, grouped)


def _replace_tables(environment: Environment, tree: exp.Query) -> dict[str, _SparkTable]:
    """Replaces each table by a stand-in name, and gives the tables by these names."""
    first = _left_most_table(tree)
    sources: dict[str, _SparkTable] = {}
    for node in [each for each in tree.find_all(exp.Table) if _find_cte(each) is None]:
        inner = environment if node is first else environment.without_trigger()
        source = _read_table(inner, node, f"{STAND_IN_PREFIX}{len(sources)}")
        sources[source.name] = source
        alias = node.alias or node.name
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        node.set("this", exp.to_identifier(source.name, quoted=True))
        node.set("db", None)
    return sources


def _find_cte(table: exp.Table) -> exp.CTE | None:
    """The CTE that a table's name means where it stands, or None if it means a data source.

    A CTE is visible in the SELECT of its WITH and in the CTEs after it.
    """
    inside: exp.Expr = table
    node: exp.Expr | None = table.parent
    while node is not None and not table.args.get("db"):
        clause = node if isinstance(node, exp.With) else node.args.get("with_")
        for cte in clause.expressions if clause is not None else ():
            if cte is inside:
                break
            if isinstance(cte, exp.CTE) and cte.alias == table.name:
                return cte
        # The clause of this SELECT has just been searched, so go on around the SELECT.
        inside, node = node, node.parent
        if isinstance(inside, exp.With) and node is not None:
            inside, node = node, node.parent
    return None


def _left_most_table(tree: exp.Expr) -> exp.Expr | None:
    """The table that triggers a view: the first of FROM, followed through subqueries and CTEs of the text."""
    node: exp.Expr | None = tree
    while node is not None:
        if isinstance(node, exp.Table):
            cte = _find_cte(node)
            if cte is None:
                return node
            node = cte.this
        elif isinstance(node, exp.Select):
            clause = node.args.get("from_")
            node = clause.this if clause is not None else None
        elif isinstance(node, exp.SetOperation):
            node = node.this
        else:
            node = node.this if isinstance(node, exp.Subquery) else None
    return None


def _read_table(environment: Environment, node: exp.Table, name: str) -> _SparkTable:
    own, service = not node.args.get("db"), find_service_source(environment, node)
    if service is None:
        environment.check_name(node.name)
    found = _find_query(environment, node, service)
    if found is not None:
        output = inline_node(environment, node, found)
        return _SparkTable(name, dict(output.columns), sql=output.sql)
    source = service.datasource if service is not None else environment.project.datasource(node.name) if own else None
    if source is None:
        hint = nearest_table_name(environment, node.name)
        raise refusal(environment.text, node, "unknown-table", f"unknown data source or pipe `{node.name}`", hint)
    placeholder = register_placeholder(environment, source)
    columns = {column.name: TypedSql(column.name, column.type, spark_type(column.type)) for column in source.columns}
    return _SparkTable(name, columns, placeholder=placeholder)


def _find_query(environment: Environment, node: exp.Table, service: ServiceSource | None) -> tuple[Pipe, Node] | None:
    """The node that a table is, if it is a query."""
    if service is not None:
        return (service.pipe, service.pipe.result) if service.pipe is not None else None
    return find_node(environment, node.name) if not node.args.get("db") else None


def _quoted_columns(table: _SparkTable) -> dict[str, str]:
    """The columns for sqlglot's schema. Quoted: otherwise a name such as `@timestamp` is read as an expression."""
    return {quote_identifier(name): value.spark for name, value in table.columns.items()}


def _qualify_columns(environment: Environment, tree: exp.Query, schema: MappingSchema) -> exp.Query:
    """The query with every column qualified by its table, stars expanded and types inferred. Raises Refused."""
    try:
        done = qualify(tree, schema=schema, dialect=DIALECT, quote_identifiers=True, validate_qualify_columns=False)
        annotate_types(done, schema=schema, dialect=DIALECT)
    except (SqlglotError, AttributeError, TypeError, LookupError, ValueError) as error:
        message = str(error).splitlines()[0]
        raise refusal(environment.text, tree, "invalid-sql", f"the SQL cannot be resolved: {message}") from error
    assert isinstance(done, exp.Query)
    return done


def _restore_columns(environment: Environment, tree: exp.Query, sources: Mapping[str, _SparkTable]) -> None:
    """Gives each column of a table the case that its name has there (names are resolved in lower case), and notes the
    columns of data sources that are read. Raises Refused for a column of no table."""
    for scope in traverse_scope(tree):
        tables = {alias: node.name for alias, node in scope.sources.items() if isinstance(node, exp.Table)}
        for column in scope.columns:
            source = sources.get(tables.get(column.table, ""))
            if (
                source is None
                and column.table not in scope.sources
                and column.name not in _other_aliases(scope, column)
            ):
                known = {name for each in sources.values() for name in each.columns}
                hint = did_you_mean(column.name, known)
                raise refusal(environment.text, column, "unknown-column", f"unknown column `{column.name}`", hint)
            if source is not None:
                _restore_column(environment, column, source)


def _restore_column(environment: Environment, column: exp.Column, source: _SparkTable) -> None:
    """Gives a column and the fields that are read of it their own case. Raises Refused where names differ only in
    case."""
    names = [name for name in source.columns if name.lower() == column.name.lower()]
    if len(names) > 1:
        message = f"{' and '.join(f'`{name}`' for name in names)} are one name in DIALECT spark"
        raise refusal(environment.text, column, "unknown-column", message, "rename one of them, or use ClickHouse SQL")
    for name in names:
        column.this.set("this", name)
        _restore_fields(column, source.columns[name].type)
        if source.placeholder is not None:
            environment.uses.add_column(source.placeholder, name)


def _restore_fields(node: exp.Expr, of: Type) -> None:
    above, inner = node.parent, t.unwrap_type(of)
    while isinstance(inner, t.Array):
        inner = t.unwrap_type(inner.of)
    if not isinstance(above, exp.Dot) or above.this is not node or not isinstance(inner, t.Tuple):
        return
    field = above.expression
    for name, its in inner.fields:
        if name is not None and name.lower() == field.name.lower():
            field.set("this", name)
            _restore_fields(above, its)


def _restore_result_names(tree: exp.Query) -> None:
    """Gives a column of the result that is a column of a table, without another name, the name that it has there; so
    too where ORDER BY names it."""
    renamed = {}
    for each in tree.selects:
        if isinstance(each, exp.Alias) and isinstance(each.this, exp.Column) and each.this.name.lower() == each.alias:
            renamed[each.alias] = each.this.name
            each.args["alias"].set("this", each.this.name)
    order = tree.args.get("order")
    for column in order.find_all(exp.Column) if order is not None else ():
        if not column.table and column.name in renamed:
            column.this.set("this", renamed[column.name])


def _other_aliases(scope: Scope, column: exp.Column) -> set[str]:
    """The aliases of the select list, except that of the column itself."""
    select = scope.expression
    selects = select.selects if isinstance(select, exp.Query) else []
    return {each.alias for each in selects if isinstance(each, exp.Alias) and each.this is not column}


def _result_column(
    environment: Environment, node: exp.Expr, sources: Mapping[str, _SparkTable]
) -> tuple[str, TypedSql]:
    """A column of the result: in its own type if it is a column of a table, else in the type that sqlglot infers."""
    inner = node.unalias()
    name = node.alias_or_name
    if isinstance(inner, exp.Column):
        for source in sources.values():
            found = source.columns.get(inner.name)
            if found is not None and _belongs_to(inner, source):
                return name, replace(found, sql=quote_identifier(name))
    of = type_of_value(inner)
    if of is None:
        message = f"the type of `{name}` cannot be inferred"
        raise refusal(environment.text, inner, "unknown-type", message, "CAST it")
    return name, TypedSql(quote_identifier(name), of, spark_type(of))


def _belongs_to(column: exp.Column, source: _SparkTable) -> bool:
    """Whether the column's table, in the SELECT that it stands in, is this one."""
    select = column.find_ancestor(exp.Select)
    if select is None:
        return False
    named = select.meta.get(_TABLES)
    if named is None:  # a walk through all of the SELECT, which is not to be repeated for each of its columns
        named = select.meta[_TABLES] = {(each.alias_or_name, each.name) for each in select.find_all(exp.Table)}
    return (column.table, source.name) in named


_TABLES = "tables"
"""Key in a SELECT's meta: the tables in it, by alias and name."""
