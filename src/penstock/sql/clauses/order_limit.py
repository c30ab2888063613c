"""Passes for ORDER BY, LIMIT BY, LIMIT and OFFSET.

In: a `SelectBlock` with its select list. Out: the block with sort keys and limits. Invariant: limits are whole numbers
that are known when the SQL is compiled; only LIMIT and OFFSET without BY and WITH TIES may be computed by a SELECT.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.clauses.positional_arguments import key_sql, resolve_position
from penstock.sql.compiler.constants import known_constant
from penstock.sql.compiler.select_block import ComputedLimit, LimitBy, OrderKey, SelectBlock
from penstock.sql.compiler.translator import Translator, check_not_correlated
from penstock.sql.expr.typed import Constant, TypedSql
from penstock.sql.operators.sort_keys import check_distinguishable, sort_keys, sort_values
from penstock.sql.syntax.problems import refusal

_MOST_BITS = 64


def translate_order_by(block: SelectBlock) -> SelectBlock:
    """Pass: ORDER BY as sort keys."""
    clause = block.tree.args.get("order")
    keys: list[OrderKey] = []
    for node in _expand_order_all(block, clause.expressions if clause is not None else []):
        with block.environment.report.collecting():
            keys += _translate_sort_keys(block, node)
    return replace(block, order=tuple(sql for key in keys for sql in key.sqls), keys=tuple(keys))


def _expand_order_all(block: SelectBlock, nodes: list[exp.Expr]) -> list[exp.Expr]:
    """The sort keys as written; ORDER BY ALL as the positions of all columns of the select list."""
    first = nodes[0] if len(nodes) == 1 else None
    name = first.this.this if first is not None and isinstance(first.this, exp.Column) else None
    if first is None or not isinstance(name, exp.Identifier) or name.quoted or name.name.upper() != "ALL":
        return nodes
    places = range(1, len(block.selected) + 1)
    return [exp.Ordered(**{**first.args, "this": exp.Literal.number(place)}) for place in places]


def _translate_sort_keys(block: SelectBlock, node: exp.Expr) -> list[OrderKey]:
    """The sort keys of one expression (a tuple has several)."""
    tr = block.translator.with_new_trace()
    found = []
    for value in sort_values(tr, node, resolve_position(block, node.this)):
        given = replace(value, sql=key_sql(value))
        check_not_correlated(block.environment.text, node, given.sql, "ORDER BY")
        found.append(OrderKey(given, node, tuple(sort_keys(given, node)), tr.trace.windows > 0))
        _check_distinct(block, node, given, tr)
    return found


def _check_distinct(block: SelectBlock, node: exp.Expr, value: TypedSql, tr: Translator) -> None:
    """Raises Refused if a SELECT DISTINCT is sorted by more than its columns: distinct rows have nothing else."""
    shown = {item.value.sql for item in block.items}
    clause = block.tree.args.get("distinct")
    if not isinstance(clause, exp.Distinct) or clause.args.get("on") or value.sql in shown:
        return
    made_of = {block.translator.with_new_trace().translate(each).sql for each in tr.trace.free}
    if block.grouped or tr.trace.windows or not made_of <= shown:
        message = "a SELECT DISTINCT can be ordered by what it selects only"
        raise refusal(block.environment.text, node, "unsupported-clause", message, "select the key, or use GROUP BY")


def translate_limit_by(block: SelectBlock) -> SelectBlock:
    """Pass: LIMIT BY and DISTINCT ON."""
    clause = block.tree.args.get("distribute")
    first = block.tree.args.get("distinct")
    on = first.args.get("on") if isinstance(first, exp.Distinct) else None
    if on is not None:
        return _distinct_on(block, on)
    if clause is None:
        return block
    count, skip, *keys = (each.this for each in clause.expressions)
    shown = _limit_by_keys(block, keys)
    with block.environment.report.collecting():
        return replace(block, limit_by=LimitBy(_constant_limit(block, count), _constant_limit(block, skip), shown))
    return block


def _limit_by_keys(block: SelectBlock, keys: list[exp.Expr]) -> tuple[str, ...]:
    shown: list[str] = []
    for key in keys:
        with block.environment.report.collecting():
            value = block.translator.with_new_trace().translate(resolve_position(block, key))
            check_not_correlated(block.environment.text, key, value.sql, "LIMIT BY")
            check_distinguishable(block.translator, key, value)
            shown.append(key_sql(value))
    return tuple(shown)


def _distinct_on(block: SelectBlock, on: exp.Expr) -> SelectBlock:
    """DISTINCT ON (keys) as LIMIT 1 BY keys."""
    if block.tree.args.get("distribute") is not None:
        with block.environment.report.collecting():
            message = "DISTINCT ON and LIMIT BY cannot be used together"
            raise refusal(block.environment.text, on, "unsupported-clause", message)
    return replace(block, limit_by=LimitBy(1, 0, _limit_by_keys(block, on.expressions)))


def translate_limit(block: SelectBlock) -> SelectBlock:
    """Pass: LIMIT, WITH TIES and OFFSET."""
    limit, offset = block.tree.args.get("limit"), block.tree.args.get("offset")
    options = limit.args.get("limit_options") if limit is not None else None
    with block.environment.report.collecting():
        count_node = limit.args.get("count") or limit.expression if limit is not None else None
        skip_node = offset.expression if offset is not None else None
        if count_node is not None and options is not None and options.args.get("with_ties"):
            skip = _constant_limit(block, skip_node) if skip_node is not None else 0
            return _limit_with_ties(block, skip, _constant_limit(block, count_node))
        if any(each is not None and _holds_query(block, each) for each in (count_node, skip_node)):
            return replace(block, computed_limit=_computed_limit(block, skip_node, count_node))
        shown = (("LIMIT", count_node), ("OFFSET", skip_node))
        texts = (f" {word} {_constant_limit(block, each)}" for word, each in shown if each is not None)
        return replace(block, limit="".join(texts))
    return block


def _limit_with_ties(block: SelectBlock, skip: int, count: int) -> SelectBlock:
    if not block.keys:
        limit = block.tree.args["limit"]
        message = "WITH TIES needs ORDER BY"
        raise refusal(block.environment.text, limit, "unsupported-clause", message)
    return replace(block, ties=(skip, count))


def _constant_limit(block: SelectBlock, node: exp.Expr) -> int:
    value = known_constant(block.translator.with_new_trace(), node)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        message = "expected a number from 0 that is known when the SQL is compiled"
        raise refusal(block.environment.text, node, "invalid-limit", message, _hint_for_limit(value))
    return value


def _hint_for_limit(value: Constant | None) -> str | None:
    """What to write instead of the last rows, or of a share of the rows."""
    if isinstance(value, float):
        return "number the rows in a subquery, and filter by this number and count() OVER ()"
    return "ORDER BY the other way round has the last rows first" if isinstance(value, int) else None


def _holds_query(block: SelectBlock, node: exp.Expr) -> bool:
    """Whether a limit is computed with a SELECT of rows, written there or named by WITH."""
    if known_constant(block.translator.with_new_trace(), node) is not None:
        return False
    aliases = block.translator.scope.aliases
    named = (aliases[each.name] for each in node.find_all(exp.Column) if not each.table and each.name in aliases)
    return any(each.find(exp.Query) is not None for each in (node, *named))


def _computed_limit(block: SelectBlock, skip: exp.Expr | None, count: exp.Expr | None) -> ComputedLimit:
    """Raises Refused for a limit that reads a column of the rows."""
    skipped = _computed_number(block, skip) if skip is not None else "0"
    return ComputedLimit(skipped, _computed_number(block, count) if count is not None else None)


def _computed_number(block: SelectBlock, node: exp.Expr) -> str:
    """Spark SQL of a whole number from 0; of anything else an error when it runs."""
    tr = block.translator.with_new_trace()
    value = tr.translate(node)
    if not isinstance(value.bare, t.Int) or value.bare.bits > _MOST_BITS or tr.trace.free or tr.trace.aggregates:
        message = f"expected a whole number from 0 that needs no column of the rows, this is {value.type}"
        raise refusal(block.environment.text, node, "invalid-limit", message)
    number = f"CAST({value.sql} AS DECIMAL(38,0))"
    return f"coalesce(if({number} >= 0, {number}, NULL), raise_error('LIMIT and OFFSET take a number from 0'))"
