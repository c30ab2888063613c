"""FROM with its joins: the Spark SQL of FROM, and the relations in which names are looked up.

In: a `SelectBlock` with the tree of one SELECT. Out: the block with `source` and a scope. Invariant: columns of a side
that may have no row read as defaults of their types, or as NULL with join_use_nulls = 1.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.any_join_filters import combine_any_joins
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.from_clause.array_join import array_join
from penstock.sql.from_clause.from_subquery import wrap_in_subquery
from penstock.sql.from_clause.join_kinds import read_join_kind
from penstock.sql.from_clause.joins import join_table
from penstock.sql.from_clause.tables import TableReference, read_table, system_one
from penstock.sql.syntax.problems import refusal

_FILTERS = ("prewhere", "where", "having", "qualify")


def read_from(block: SelectBlock) -> SelectBlock:
    """The block with FROM compiled. Raises Refused."""
    clause = block.tree.args.get("from_")
    if clause is None:
        return _with_table(block, system_one("system.one")) if _reads_system_one(block) else block
    joins = block.tree.args.get("joins") or []
    first = read_table(block.environment, clause.this, len(block.translator.scope.relations))
    block = replace(block, source=first.sql, source_grouped=first.grouped, below=first.totals, any_join=first.any_join)
    block = _with_table(block, first)
    for node in joins:
        if node.args.get("kind") == "ARRAY":
            block = array_join(block, node)
        else:
            block = _add_join(wrap_in_subquery(block) if block.unnested else block, node)
    for key in _FILTERS:
        _check_any_join_filter(block, key.upper(), block.tree.args.get(key))
    return block


def _reads_system_one(block: SelectBlock) -> bool:
    """Whether a SELECT without FROM reads the column `dummy` of system.one."""
    return any(
        isinstance(each, exp.Star) or (isinstance(each, exp.Column) and each.name == "dummy")
        for each in block.tree.expressions
    )


def _check_unnamed(block: SelectBlock, node: exp.Join, right: TableReference) -> None:
    """Raises Refused where a joined SELECT or table function has no alias and shares a column with another table: no
    name tells the two apart. The format takes such a join where all names differ."""
    clause = block.tree.args["from_"]
    tables = (clause.this, *(each.this for each in block.tree.args["joins"] if each.args.get("kind") != "ARRAY"))
    unnamed = next((each for each in tables if _is_unnamed(each)), None)
    if unnamed is None:
        return
    once = {name.name for name in node.args.get("using") or ()}
    known = set(block.translator.scope.column_names) - once
    twice = next((name for name in right.relation.columns if name in known), None)
    if twice is not None:
        message = f"a SELECT or table function that is joined needs an alias: another table has a column `{twice}` too"
        raise refusal(block.environment.text, unnamed, "missing-alias", message, "(SELECT …) AS name")


def _is_unnamed(node: exp.Expr) -> bool:
    is_function = isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous)
    return (is_function or isinstance(node, (exp.Subquery, exp.Values))) and not node.alias


def _add_join(block: SelectBlock, node: exp.Join) -> SelectBlock:
    environment = block.environment.without_trigger()
    right = read_table(environment, node.this, len(block.translator.scope.relations))
    _check_unnamed(block, node, right)
    done = join_table(block, node, right)
    scope = replace(block.translator.scope, relations=done.relations)
    below, any_join = block.below or right.totals, combine_any_joins(block.any_join, right.any_join)
    translator = block.translator.with_scope(scope)
    block = replace(block, source=done.source, translator=translator, below=below, any_join=any_join)
    if right.any_join is not None or read_join_kind(translator, node).spark != "LEFT JOIN":
        for each in [node.args.get("on"), *(exp.Column(this=name.copy()) for name in node.args.get("using") or [])]:
            _check_any_join_filter(block, "a JOIN", each)
    return replace(block, any_join=combine_any_joins(done.any_join, any_join))


def _check_any_join_filter(block: SelectBlock, what: str, node: exp.Expr | None) -> None:
    """Raises Refused for a filter that could change which rows an ANY JOIN takes.

    ClickHouse may apply such a filter before or after it takes a row.
    """
    any_join = block.any_join
    if any_join is None or node is None or any_join.allows(node, block.translator.scope):
        return
    clash = "ClickHouse may filter before or after choosing the row"
    message = f"{what} together with {any_join.words} is not supported: {clash}"
    hint = f"write the condition in ON of {any_join.words}, or put a SELECT with a LIMIT between them"
    raise refusal(block.environment.text, node, "unsupported-clause", message, hint)


def _with_table(block: SelectBlock, found: TableReference) -> SelectBlock:
    scope = replace(block.translator.scope, relations=(found.relation,))
    source = block.source or found.sql
    return replace(block, source=source, translator=block.translator.with_scope(scope))
