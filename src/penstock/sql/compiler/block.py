"""One SELECT while the passes work on it, and its Spark SQL when they are done.

In: filled in by the passes, each with `replace`. Out: `Output`. Called by transpile. Invariant: hidden
columns (`__…`) of an inner SELECT never reach the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.environment import Environment, SelectOutput, Totals
from penstock.sql.compiler.fill_column import FillColumn
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import Typed
from penstock.sql.spark_text import quote_identifier


@dataclass(frozen=True, slots=True)
class SelectedColumn:
    """One column of the select list, stars expanded: its name and its node."""

    name: str
    node: exp.Expr


@dataclass(frozen=True, slots=True)
class TranslatedColumn:
    """A translated column. `free` are the columns in it that are neither grouped nor aggregated."""

    name: str
    value: Typed
    free: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitBy:
    """LIMIT count OFFSET skip BY keys."""

    count: int
    skip: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of ORDER BY, with Spark's keys for it (the last one is the value's own)."""

    value: Typed
    node: exp.Expr
    sqls: tuple[str, ...]
    windows: bool = False


@dataclass(frozen=True, slots=True)
class SelectBlock:
    """`keys` are what `order` was made of; `fills` and `interpolated` (by place) what WITH FILL adds; `ties`
    the offset and number of LIMIT WITH TIES. `group` is None without GROUP BY; `grouped` also where there are
    only aggregates. `unnested` says that
    the source ends with a LATERAL VIEW; `below` is what a table in FROM has WITH TOTALS, `taken` what is known of
    rows that an ANY JOIN took."""

    environment: Environment
    tree: exp.Select
    translator: Translator
    source: str = ""
    source_grouped: bool = False
    unnested: bool = False
    selected: tuple[SelectedColumn, ...] = ()
    items: tuple[TranslatedColumn, ...] = ()
    group: tuple[str, ...] | None = None
    grouped: bool = False
    where: tuple[str, ...] = ()
    having: str = ""
    qualify: str = ""
    order: tuple[str, ...] = ()
    limit_by: LimitBy | None = None
    limit: str = ""
    keys: tuple[OrderKey, ...] = ()
    fills: tuple[FillColumn, ...] = ()
    interpolated: Mapping[int, Callable[[str], str]] = field(default_factory=dict)
    ties: tuple[int, int] | None = None
    below: Totals | None = None
    taken: AnyJoinRows | None = None


def finished_select(block: SelectBlock) -> SelectOutput:
    """The finished block."""
    columns = tuple((item.name, _result_column(item)) for item in block.items)
    sql = _filtering_select(block) if block.limit_by or block.qualify else _plain_select(block)
    return SelectOutput(sql, columns, block.grouped or block.source_grouped, taken=_any_join_rows(block))


def _any_join_rows(block: SelectBlock) -> AnyJoinRows | None:
    """A LIMIT comes before whatever filters around it."""
    if block.taken is None or block.limit or block.ties is not None:
        return None
    return block.taken.shown([(each.name, each.node) for each in block.selected], block.translator.scope)


def stored_sql(value: Typed) -> str:
    """A value as a column has it: a comparison is a number, unless ClickHouse calls it Bool."""
    if value.spark == "BOOLEAN" and not isinstance(value.bare, t.Bool):
        return f"CAST({value.sql} AS INT)"
    return value.sql


def _result_column(item: TranslatedColumn) -> Typed:
    number = item.value.spark == "BOOLEAN" and not isinstance(item.value.bare, t.Bool)
    return Typed(quote_identifier(item.name), item.value.type, "INT" if number else item.value.spark)


def _plain_select(block: SelectBlock) -> str:
    distinct = "DISTINCT " if block.tree.args.get("distinct") else ""
    shown = ", ".join(f"{stored_sql(item.value)} AS {quote_identifier(item.name)}" for item in block.items)
    order = f" ORDER BY {', '.join(_key_by_name(block, key) for key in block.order)}" if block.order else ""
    return f"SELECT {distinct}{shown}{from_to_having(block)}{order}{block.limit}"


def from_to_having(block: SelectBlock) -> str:
    """FROM to HAVING."""
    parts = [f" FROM {block.source}" if block.source else ""]
    spread = block.translator.trace.spread.items()
    parts += [f" LATERAL VIEW explode({array}) {quote_identifier(name)} AS `value`" for array, name in spread]
    if block.where:
        parts.append(f" WHERE {' AND '.join(block.where)}")
    if block.group:
        parts.append(f" GROUP BY {', '.join(block.group)}")
    if block.having:
        parts.append(f" HAVING {block.having}")
    return "".join(parts)


def _key_by_name(block: SelectBlock, key: str) -> str:
    """A sort key by the name of the column that it is, where it is one."""
    sql, direction = split_sort_key(key)
    for item in block.items:
        if direction and item.value.sql == sql:
            same = [other for other in block.items if other.name == item.name]
            return quote_identifier(item.name) + direction if len(same) == 1 else key
    return key


def _filtering_select(block: SelectBlock) -> str:
    """LIMIT BY and QUALIFY: computed beside the columns, then filtered on in a SELECT around."""
    hidden = [f"{stored_sql(item.value)} AS {quote_identifier(item.name)}" for item in block.items]
    tests = []
    if block.qualify:
        hidden.append(f"{block.qualify} AS `__qualify`")
        tests.append("`__qualify`")
    if block.limit_by:
        by = block.limit_by
        order = ", ".join(block.order) or "CAST(1 AS INT)"
        hidden.append(f"row_number() OVER (PARTITION BY {', '.join(by.keys)} ORDER BY {order}) AS `__place`")
        tests.append(f"`__place` > {by.skip} AND `__place` <= {by.skip + by.count}")
    keys = []
    for place, key in enumerate(block.order):
        sql, direction = split_sort_key(key)
        hidden.append(f"{sql} AS `__order{place}`")
        keys.append(f"`__order{place}`{direction}")
    shown = ", ".join(quote_identifier(item.name) for item in block.items)
    distinct = "DISTINCT " if block.tree.args.get("distinct") else ""
    order = f" ORDER BY {', '.join(keys)}" if keys else ""
    inner = f"SELECT {', '.join(hidden)}{from_to_having(block)}"
    return f"SELECT {distinct}{shown} FROM ({inner}) WHERE {' AND '.join(tests)}{order}{block.limit}"


def split_sort_key(key: str) -> tuple[str, str]:
    """A sort key's expression and its direction, which is at its end."""
    for direction in (" ASC NULLS LAST", " DESC NULLS LAST", " ASC NULLS FIRST", " DESC NULLS FIRST", " ASC", " DESC"):
        if key.endswith(direction):
            return key.removesuffix(direction), direction
    return key, ""
