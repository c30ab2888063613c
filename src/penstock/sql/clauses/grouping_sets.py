"""GROUP BY … WITH ROLLUP, WITH CUBE, ROLLUP(…), CUBE(…) and GROUPING SETS (…).

In: a GROUP BY clause. Out: the `SelectBlock` grouped by Spark's GROUPING SETS. Invariant: a key that the grouping set
of a row lacks reads as the default of its type, as with ClickHouse's group_by_use_nulls = 0, also inside of
expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.calls.special_forms import is_key_absent
from penstock.sql.clauses.positional_arguments import is_literal_key, resolve_position
from penstock.sql.clauses.unstable_rows import find_unstable_word
from penstock.sql.compiler.select_block import RowWithoutGroups, SelectBlock
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import TypedSql
from penstock.sql.operators.sort_keys import check_hashable
from penstock.sql.syntax.problems import Refused, refusal
from penstock.sql.syntax.tree import is_aggregate

_MOST_KEYS = 8
_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)


@dataclass(frozen=True, slots=True)
class GroupingSetsClause:
    """A GROUP BY clause with grouping sets."""

    kind: str
    """ROLLUP, CUBE, SETS or mixed."""
    lists: tuple[tuple[exp.Expr, ...], ...]
    """The keys of each set; ROLLUP and CUBE have one list of keys."""


def read_grouping_sets(clause: exp.Expr) -> GroupingSetsClause | None:
    """The grouping sets of a GROUP BY clause; None for a plain GROUP BY."""
    for name, kind in (("rollup", "ROLLUP"), ("cube", "CUBE")):
        if clause.args.get(name):
            return GroupingSetsClause(kind, (tuple(clause.expressions),))
    found = next((each for each in clause.expressions if isinstance(each, _SETS)), None)
    if found is None:
        return None
    if len(clause.expressions) > 1:
        return GroupingSetsClause("mixed", ((found,),))
    kind = {exp.Rollup: "ROLLUP", exp.Cube: "CUBE"}.get(type(found), "SETS")
    if kind != "SETS":
        return GroupingSetsClause(kind, (tuple(found.expressions),))
    return GroupingSetsClause(kind, tuple(_set_members(each) for each in found.expressions))


def _set_members(node: exp.Expr) -> tuple[exp.Expr, ...]:
    if isinstance(node, exp.Tuple):
        return tuple(node.expressions)
    return (node.this,) if isinstance(node, exp.Paren) else (node,)


def apply_grouping_sets(block: SelectBlock, shape: GroupingSetsClause) -> SelectBlock:
    """The block grouped by the sets. Raises Refused."""
    keys: dict[str, TypedSql] = {}
    written: dict[str, str] = {}
    lists = [[_translate_key(block, node, keys, written) for node in nodes] for nodes in shape.lists]
    if shape.kind == "mixed" or len(keys) > _MOST_KEYS:
        raise _refusal(block, shape.lists[0][0], f"more than {_MOST_KEYS} keys, or further keys beside them")
    sets = _expand_sets(shape.kind, [tuple(dict.fromkeys(each)) for each in lists])
    if shape.kind == "SETS" and len({frozenset(each) for each in sets}) < len(sets):
        raise _refusal(block, shape.lists[-1][0] if shape.lists[-1] else block.tree, "a repeated set", "use UNION ALL")
    if not keys:
        return replace(block, grouped=True)
    shown = ", ".join(f"({', '.join(each)})" for each in sets)
    absent = {sql: _default_if_absent(value, len(keys) - 1 - place) for place, (sql, value) in enumerate(keys.items())}
    translator = replace(block.translator, keys=frozenset(keys), absent=absent)
    group = (f"{', '.join(keys)} GROUPING SETS ({shown})",)
    empty = _empty_set(block, absent) if shape.kind == "SETS" and () in sets else None
    return replace(block, group=group, grouped=True, translator=translator, empty_set=empty)


def _empty_set(block: SelectBlock, absent: Mapping[str, TypedSql]) -> RowWithoutGroups:
    """The set of no keys, unlike those of ROLLUP and CUBE. Raises Refused where it may not be certain whether there are
    rows to group."""
    if block.environment.feeds_view:
        what = "an empty set in a materialized view, which has a row for rows that do not arrive"
        raise _refusal(block, block.tree, what, "WITH ROLLUP has the sum of what arrives")
    unstable = find_unstable_word(" ".join((block.source, *block.where)))
    if unstable is not None:
        what = f"an empty set beside rows that may differ when they are read again (`{unstable}`)"
        raise _refusal(block, block.tree, what, "let a copy pipe keep those rows")
    defaults = [(value.sql, _default(value)) for value in absent.values()]
    bits = [(is_key_absent(bit), "true") for bit in range(len(absent))]
    return RowWithoutGroups((*sorted(defaults, key=lambda pair: -len(pair[0])), *bits))


def drop_row_without_aggregates(block: SelectBlock, aggregates: int) -> SelectBlock:
    """The block whose empty set has no row of no rows, as none has in ClickHouse if nothing is aggregated; `aggregates`
    are those of the select list. Raises Refused if others may be."""
    if block.empty_set is None or aggregates:
        return block
    clauses = (block.tree.args.get(key) for key in ("having", "qualify", "order", "distribute"))
    written = [*(each for each in clauses if each is not None), *block.environment.constants.values()]
    if any(is_aggregate(each) for node in written for each in node.walk()):
        what = "an empty set with aggregates in other clauses than the select list only"
        raise _refusal(block, block.tree, what, "add count() to the select list")
    return replace(block, empty_set=None)


def _translate_key(block: SelectBlock, node: exp.Expr, keys: dict[str, TypedSql], written: dict[str, str]) -> str:
    """The SQL of a key, which is added to `keys`, and to `written` as the user wrote it."""
    if isinstance(node, (*_SETS, exp.Tuple)):
        raise _refusal(block, node, "a nested list of keys")
    tr = block.translator.at("filter").with_new_trace()
    value = tr.translate(resolve_position(block, node))
    check_hashable(block.translator, node, value)
    if isinstance(value.bare, t.Tuple) and value.sql.startswith("named_struct("):
        what = "a key that is a tuple of others, which ClickHouse takes apart"
        raise _refusal(block, node, what, "list its elements: GROUP BY a, b WITH ROLLUP")
    if is_literal_key(value) or not tr.trace.free:
        raise _refusal(block, node, "a constant")
    if written.setdefault(value.sql, node.sql()) != node.sql():
        what = "two keys that are one value here, which ClickHouse takes for two"
        raise _refusal(block, node, what, "leave one of them out")
    keys.setdefault(value.sql, value)
    return value.sql


def _refusal(block: SelectBlock, node: exp.Expr, what: str, hint: str | None = None) -> Refused:
    message = f"ROLLUP, CUBE and GROUPING SETS do not support {what}"
    return refusal(block.environment.text, node, "unsupported-clause", message, hint)


def _expand_sets(kind: str, lists: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    if kind == "SETS":
        return lists
    (keys,) = lists
    sizes = range(len(keys), -1, -1)
    if kind == "ROLLUP":
        return [keys[:size] for size in sizes]
    return [each for size in sizes for each in combinations(keys, size)]


def _default_if_absent(value: TypedSql, bit: int) -> TypedSql:
    """The key, or its default if the grouping set of the row lacks it."""
    return replace(value, sql=f"if({is_key_absent(bit)}, {_default(value)}, {value.sql})")


def _default(value: TypedSql) -> str:
    return f"CAST({value_default(value.type)} AS {value.spark})"
