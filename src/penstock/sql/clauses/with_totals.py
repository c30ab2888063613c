"""GROUP BY … WITH TOTALS: the row of totals that ClickHouse shows beside the rows of an answer.

In: a finished `SelectBlock` and its `SelectOutput`. Out: the output with its `Totals`. Invariant: the totals are over
the rows of all groups that HAVING keeps, whatever ORDER BY and LIMIT leave of them; totals that would depend on the
order in which ClickHouse merges groups are refused.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sqlglot import exp

from penstock.sql.aggregates.name_parser import ParsedAggregate, parse_aggregate_name
from penstock.sql.clauses.grouping_sets import read_grouping_sets
from penstock.sql.clauses.positional_arguments import is_literal_key, resolve_position
from penstock.sql.clauses.projection import select_item_value
from penstock.sql.clauses.unstable_rows import find_unstable_word
from penstock.sql.compiler.environment import SelectOutput, Totals
from penstock.sql.compiler.select_block import SelectBlock, TranslatedColumn, render_from_through_having, stored_sql
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import TypedSql
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tree import call_name

_POSITION_COLUMN = " at"
"""The last column of the statement with totals: the position of a row; NULL in the row of totals, which comes last."""
_MERGE_ORDER_FUNCTIONS = re.compile(
    "argM|topK|boundingRatio|singleValue|windowFunnel|quantiles?Deterministic|.*Arg(Min|Max)$"
)
_HINT = "UNION ALL a SELECT without GROUP BY"


def add_totals(block: SelectBlock, output: SelectOutput) -> SelectOutput:
    """The output with its own totals, or with those of the subquery that it reads. A refusal is kept in the Totals."""
    if block.environment.report.problems:
        return output
    clause = block.tree.args.get("group")
    if clause is not None and clause.args.get("totals"):
        make = _own_totals
    elif block.below is not None and not block.grouped:
        make = _totals_of_subquery
    else:
        return output
    try:
        return replace(output, totals=Totals(make(block)))
    except Refused as problem:
        return replace(output, totals=Totals(refusal=problem))


def sql_with_totals(output: SelectOutput) -> str:
    """One statement of the rows in their order and then the totals; empty without totals.

    With two statements, each would read what is newest when it runs.
    """
    if output.totals is None:
        return ""
    rows = f"SELECT *, monotonically_increasing_id() AS {quote_identifier(_POSITION_COLUMN)} FROM ({output.sql})"
    last = f"SELECT *, CAST(NULL AS BIGINT) AS {quote_identifier(_POSITION_COLUMN)} FROM ({output.totals.sql})"
    return f"{rows} UNION ALL {last} ORDER BY {quote_identifier(_POSITION_COLUMN)} ASC NULLS LAST"


def _totals_of_subquery(block: SelectBlock) -> str:
    """The totals of the subquery in FROM, with the expressions of this SELECT. Raises Refused."""
    assert block.below is not None
    if block.below.refusal is not None:
        raise block.below.refusal
    _check_limit(block)
    windows = any(each.find(exp.Window) for each in _selected_expressions(block))
    if block.where or block.qualify or block.tree.args.get("joins") or windows or block.translator.trace.spread:
        message = "a subquery WITH TOTALS is read here with more than a select list, ORDER BY and LIMIT"
        hint = "WITH TOTALS in the outer SELECT only"
        raise refusal(block.environment.text, block.tree, "unsupported-clause", message, hint)
    return f"SELECT {_select_list(block.items)} FROM {block.below.sql}"


def _select_list(items: tuple[TranslatedColumn, ...]) -> str:
    return ", ".join(f"{stored_sql(item.value)} AS {quote_identifier(item.name)}" for item in items)


def _own_totals(block: SelectBlock) -> str:
    """The totals of this SELECT. Raises Refused."""
    _check_totals_defined(block)
    plain = replace(block, translator=replace(block.translator, keys=frozenset(), absent={}))
    keys = [key for node in _grouping_nodes(plain) if (key := _translate_key(plain, node)) is not None]
    absent = {key.sql: replace(key, sql=f"CAST({value_default(key.type)} AS {key.spark})") for key in keys}
    tr = replace(plain.translator, absent=absent)
    items, aggregates = [], 0
    for selected in block.selected:
        inner = tr.with_new_trace()
        value = select_item_value(inner, selected)
        if inner.trace.free:
            raise _refusal(block, selected.node, f"`{selected.name}` beside its key")
        items.append(TranslatedColumn(selected.name, value))
        aggregates += inner.trace.aggregates
    if not aggregates:
        return f"SELECT {_select_list(tuple(items))}"
    where = (*block.where, _kept_group_test(block, keys)) if block.having else block.where
    ungrouped = replace(block, where=where, group=None, having="")
    return f"SELECT {_select_list(tuple(items))}{render_from_through_having(ungrouped)}"


def _kept_group_test(block: SelectBlock, keys: list[TypedSql]) -> str:
    """Spark SQL: whether a row belongs to a group that HAVING keeps."""
    shown = ", ".join(f"{key.sql} AS `__k{place}`" for place, key in enumerate(keys))
    same = " AND ".join(f"`__kept`.`__k{place}` <=> {key.sql}" for place, key in enumerate(keys))
    found = f"SELECT 1 FROM (SELECT {shown or '1 AS `__k`'}{render_from_through_having(block)}) AS `__kept`"
    return f"EXISTS ({found}{' WHERE ' if same else ''}{same})"


def _check_limit(block: SelectBlock) -> None:
    """Raises Refused for LIMIT 0: ClickHouse may then read no row at all, not even for the totals."""
    if f"{block.limit} ".startswith(" LIMIT 0 ") or (block.ties is not None and block.ties[1] == 0):
        raise _refusal(block, block.tree.args["limit"], "LIMIT 0", "leave LIMIT out: the totals are beside the rows")
    if block.computed_limit is not None:
        raise _refusal(block, block.tree, "a LIMIT or OFFSET of a SELECT, which may be 0", "write a number")


def _check_totals_defined(block: SelectBlock) -> None:
    """Raises Refused if the totals would not be certain to equal ClickHouse's."""
    _check_limit(block)
    for node in _selected_expressions(block):
        for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
            found = parse_aggregate_name(call_name(each) or "")
            if isinstance(each, exp.Window) or call_name(each) == "grouping":
                raise _refusal(block, each, "window functions and `grouping`")
            if found is not None and _depends_on_merge_order(found):
                what = f"`{call_name(each)}`: its total depends on the order in which groups are merged"
                raise _refusal(block, each, what)
    if block.translator.trace.spread or block.qualify:
        raise _refusal(block, block.tree, "arrayJoin, QUALIFY, or HAVING of ROLLUP and CUBE")
    items = (each.value.sql for each in block.items)
    read_twice = " ".join((block.source, *block.where, *(block.group or ()), block.having, *items))
    unstable = find_unstable_word(read_twice)
    if unstable is not None:
        what = f"rows that may differ when they are read again (`{unstable}`)"
        raise _refusal(block, block.tree, what, "let a copy pipe keep those rows")


def _selected_expressions(block: SelectBlock) -> list[exp.Expr]:
    """The select list, and the expressions of its aliases and of those of WITH."""
    constants = block.environment.constants.values()
    return [*(each.node for each in block.selected), *block.translator.scope.aliases.values(), *constants]


def _depends_on_merge_order(found: ParsedAggregate) -> bool:
    return found.row.ordered or _MERGE_ORDER_FUNCTIONS.match(found.row.name) is not None


def _grouping_nodes(block: SelectBlock) -> list[exp.Expr]:
    """The expressions that are grouped by. Raises Refused."""
    clause = block.tree.args["group"]
    if clause.args.get("all"):
        return [each.node for each in block.selected if not _count_aggregates(block, each.node)]
    shape = read_grouping_sets(clause)
    if shape is None:
        return [part for node in clause.expressions for part in _tuple_parts(node)]
    if shape.kind not in ("ROLLUP", "CUBE"):
        raise _refusal(block, clause, "GROUPING SETS", "WITH ROLLUP and WITH CUBE may have totals")
    return list(shape.lists[0])


def _tuple_parts(node: exp.Expr) -> list[exp.Expr]:
    return list(node.expressions) if isinstance(node, exp.Tuple) else [node]


def _count_aggregates(block: SelectBlock, node: exp.Expr) -> int:
    tr = block.translator.with_new_trace()
    tr.translate(node)
    return tr.trace.aggregates


def _translate_key(block: SelectBlock, node: exp.Expr) -> TypedSql | None:
    """A key; None for a literal, which has the same value in the totals. Raises Refused."""
    tr = block.translator.at("filter").with_new_trace()
    value = tr.translate(resolve_position(block, node))
    if is_literal_key(value):
        return None
    if not tr.trace.free or "SELECT" in value.sql:
        raise _refusal(block, node, "a key without columns, or with a SELECT")
    return value


def _refusal(block: SelectBlock, node: exp.Expr, what: str, hint: str = _HINT) -> Refused:
    return refusal(block.environment.text, node, "unsupported-clause", f"WITH TOTALS does not support {what}", hint)
