"""Passes for WHERE, GROUP BY, the select list, HAVING and QUALIFY.

In: a `SelectBlock` whose names are resolved. Out: the block with the Spark SQL of these clauses. Invariant: if rows are
grouped, every column outside of an aggregate is a grouping key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.sql.clauses.group_array_join import ARRAY_JOINS
from penstock.sql.clauses.grouping_sets import apply_grouping_sets, drop_row_without_aggregates, read_grouping_sets
from penstock.sql.clauses.positional_arguments import key_sql, resolve_position
from penstock.sql.compiler.select_block import SelectBlock, SelectedColumn, TranslatedColumn
from penstock.sql.compiler.translator import Translator, check_not_correlated, refuse_intervals
from penstock.sql.expr.common_type import is_same_clickhouse_type
from penstock.sql.expr.typed import NOTHING, TypedSql, as_condition, integer, is_null
from penstock.sql.operators.logic import join_conditions
from penstock.sql.operators.sort_keys import check_distinguishable, check_hashable
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tree import call_name


def translate_where(block: SelectBlock) -> SelectBlock:
    """Pass: PREWHERE and WHERE."""
    tests: list[str] = []
    for key in ("prewhere", "where"):
        node = block.tree.args.get(key)
        if node is not None:
            with block.environment.report.collecting():
                _check_prewhere(block, node)
                tests.append(_filter_sql(block.translator.at("filter").with_new_trace(), node.this))
    return replace(block, where=tuple(tests))


def _check_prewhere(block: SelectBlock, node: exp.Expr) -> None:
    """Raises Refused for a PREWHERE over what is no data source, as ClickHouse does."""
    relations = block.translator.scope.relations
    if isinstance(node, exp.PreWhere) and (not relations or relations[0].placeholder is None):
        message = "PREWHERE filters the rows of a data source; this SELECT reads something else"
        raise refusal(block.environment.text, node, "unsupported-clause", message, "write WHERE")


def _filter_sql(tr: Translator, node: exp.Expr) -> str:
    value = tr.translate(node)
    if is_null(value):
        return "CAST(NULL AS BOOLEAN)"
    join_conditions(tr, node, "a filter", [value])
    return as_condition(value)


def translate_group_by(block: SelectBlock) -> SelectBlock:
    """Pass: GROUP BY, plain, ALL or with grouping sets."""
    problems = len(block.environment.report.problems)
    found = _translate_keys(block)
    return replace(found, group_refused=True) if len(block.environment.report.problems) > problems else found


def _translate_keys(block: SelectBlock) -> SelectBlock:
    clause = block.tree.args.get("group")
    if clause is None:
        return block
    if clause.args.get("all"):
        return _group_by_all(block)
    shape = read_grouping_sets(clause)
    if shape is not None:
        with block.environment.report.collecting():
            return apply_grouping_sets(block, shape)
        return block
    keys: list[TypedSql] = []
    for node in clause.expressions:
        for part in node.expressions if isinstance(node, exp.Tuple) else [node]:
            with block.environment.report.collecting():
                value = block.translator.at("filter").with_new_trace().translate(resolve_position(block, part))
                check_not_correlated(block.environment.text, part, value.sql, "GROUP BY")
                keys.append(value)
                check_hashable(block.translator, part, value)
    # GROUP BY () is one group of all rows, but no group if there are no rows: as grouping by a constant.
    return _with_grouping_keys(block, keys if clause.expressions != [exp.Tuple()] else [integer(1)])


def _group_by_all(block: SelectBlock) -> SelectBlock:
    """GROUP BY ALL: every column of the select list without an aggregate."""
    keys = []
    for selected in block.selected:
        with block.environment.report.collecting():
            tr = block.translator.with_new_trace()
            value = tr.translate(selected.node)
            if not tr.trace.aggregates:
                check_hashable(tr, selected.node, value)
                keys.append(value)
    return _with_grouping_keys(block, keys)


def _with_grouping_keys(block: SelectBlock, values: list[TypedSql]) -> SelectBlock:
    keys = [key_sql(value) for value in values]
    translator = replace(block.translator, keys=frozenset((*keys, *(value.sql for value in values))))
    return replace(block, group=tuple(dict.fromkeys(keys)), grouped=True, translator=translator)


def translate_select_list(block: SelectBlock) -> SelectBlock:
    """Pass: the columns of the select list."""
    found: list[TranslatedColumn] = []
    by_name: dict[str, TypedSql] = {}
    aggregates, kept = 0, False
    for selected in block.selected:
        with block.environment.report.collecting():
            tr = block.translator.with_new_trace()
            value = select_item_value(tr, selected)
            _check_column(block, by_name, selected, value)
            by_name.setdefault(selected.name, value)
            found.append(TranslatedColumn(selected.name, value, tuple(tr.trace.free)))
            aggregates += tr.trace.aggregates
            kept = kept or any(sql in value.sql for sql in tr.trace.aggregate_sqls)
        if selected.name not in by_name:
            block.environment.report.note_lost(selected.name)
    # Without HAVING, Spark would see rows where all aggregates are gone: SELECT isNull(count()) FROM t.
    having = block.having if block.grouped or not aggregates or kept else "true"
    with block.environment.report.collecting():
        block = drop_row_without_aggregates(block, aggregates)
    return replace(block, items=tuple(found), grouped=block.grouped or aggregates > 0, having=having)


def _check_column(
    block: SelectBlock, before: Mapping[str, TypedSql], selected: SelectedColumn, value: TypedSql
) -> None:
    """Raises Refused for what cannot be a column of a result. `before` has the first value of each name before it."""
    tr, node = block.translator, selected.node
    refuse_intervals(tr, node, [value])
    if value.type == NOTHING:
        raise tr.refusal(node, "wrong-argument-type", f"`{selected.name}` has no type", "CAST([], 'Array(String)')")
    distinct = block.tree.args.get("distinct")
    if isinstance(distinct, exp.Distinct) and not distinct.args.get("on"):
        check_distinguishable(tr, node, value)
    other = before.get(selected.name, value)
    if not is_same_clickhouse_type(other.type, value.type):
        message = f"two columns are called `{selected.name}`, of {other.type} and {value.type}"
        raise tr.refusal(node, "duplicate-column", message, "give one of them another alias")


def select_item_value(tr: Translator, selected: SelectedColumn) -> TypedSql:
    """The value of a column. Inside of its own expression, its alias means the column of that name, not itself."""
    inner = tr.inside(selected.name) if isinstance(selected.node, exp.Alias) else tr
    return inner.translate(selected.node)


def translate_having(block: SelectBlock) -> SelectBlock:
    """Pass: HAVING; without GROUP BY and aggregates it is another WHERE."""
    node = block.tree.args.get("having")
    if node is None:
        return block
    tr = block.translator.with_new_trace()
    with block.environment.report.collecting():
        test = _filter_sql(tr, node.this)
        if not block.grouped and not tr.trace.aggregates and not tr.trace.windows:
            return replace(block, where=(*block.where, test))
        if block.translator.absent:
            return _having_as_qualify(block, node, test)
        block = replace(block, having=test, grouped=True)
        _check_grouped(block, tr.trace.free)
    return check_grouping(block)


def _having_as_qualify(block: SelectBlock, node: exp.Expr, test: str) -> SelectBlock:
    """HAVING over grouping sets as a QUALIFY: Spark cannot refer to their keys in HAVING."""
    found = block.tree.find(exp.Window) or block.tree.args.get("qualify")
    if found is not None:
        message = "HAVING beside window functions and grouping sets is not supported"
        raise refusal(block.environment.text, found, "unsupported-clause", message, "use a subquery")
    return replace(block, qualify=test)


def translate_qualify(block: SelectBlock) -> SelectBlock:
    """Pass: QUALIFY."""
    node = block.tree.args.get("qualify")
    if node is None:
        return block
    with block.environment.report.collecting():
        return replace(block, qualify=_filter_sql(block.translator.with_new_trace(), node.this))
    return block


def check_grouping(block: SelectBlock) -> SelectBlock:
    """Pass: refuses columns of the select list that are neither grouped by nor aggregated."""
    for item in block.items:
        with block.environment.report.collecting():
            _check_grouped(block, list(item.free))
    return block


def _check_grouped(block: SelectBlock, free: list[exp.Expr]) -> None:
    if block.grouped and free and not block.group_refused:
        node = free[0]
        name = call_name(node) or node.name
        message, hint = f"`{name}` is neither grouped by nor aggregated", "add it to GROUP BY, or use any(…)"
        if name in ARRAY_JOINS:
            message = f"`{name}` beside these aggregates or clauses is not supported"
            hint = "group in a subquery, and use it around that"
        raise refusal(block.environment.text, node, "not-grouped", message, hint)
