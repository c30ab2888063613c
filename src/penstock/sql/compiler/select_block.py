"""One SELECT while it is compiled clause by clause, and its Spark SQL at the end.

In: each clause module fills its fields in, by `replace`. Out: `SelectOutput`. Invariant: helper columns (`__…`) of an
inner SELECT never reach the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.environment import Environment, SelectOutput, Totals
from penstock.sql.compiler.fill_column import FillColumn
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import TypedSql
from penstock.sql.spark_text import quote_identifier


@dataclass(frozen=True, slots=True)
class SelectedColumn:
    """One column of the select list after `*` is expanded."""

    name: str
    node: exp.Expr


@dataclass(frozen=True, slots=True)
class TranslatedColumn:
    """A compiled column."""

    name: str
    value: TypedSql
    free: tuple[exp.Expr, ...] = ()
    """Columns in it that are neither grouped by nor aggregated."""


@dataclass(frozen=True, slots=True)
class LimitBy:
    """LIMIT count OFFSET skip BY keys."""

    count: int
    skip: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputedLimit:
    """LIMIT and OFFSET of which one is the result of a SELECT: Spark SQL without columns. Without LIMIT, `count` is
    None."""

    skip: str
    count: str | None


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of ORDER BY."""

    value: TypedSql
    node: exp.Expr
    sqls: tuple[str, ...]
    """Its Spark sort keys; the last one is the value itself."""
    windows: bool = False


@dataclass(frozen=True, slots=True)
class RowWithoutGroups:
    """The empty grouping set beside others: it has a row even where there are no rows to group."""

    texts: tuple[tuple[str, str], ...]
    """Spark SQL of keys and of grouping_id(), and what it is in that row."""


@dataclass(frozen=True, slots=True)
class SelectBlock:
    """A SELECT whose clauses are filled in one after the other."""

    environment: Environment
    tree: exp.Select
    translator: Translator
    source: str = ""
    source_grouped: bool = False
    unnested: bool = False
    """The source ends with a LATERAL VIEW."""
    selected: tuple[SelectedColumn, ...] = ()
    items: tuple[TranslatedColumn, ...] = ()
    group: tuple[str, ...] | None = None
    """The keys of GROUP BY; None without GROUP BY."""
    empty_set: RowWithoutGroups | None = None
    with_names: frozenset[str] = frozenset()
    """The names of its own WITH."""
    group_refused: bool = False
    """A problem of GROUP BY is reported, so that it is not known what is grouped by."""
    grouped: bool = False
    """Rows are grouped or aggregated, with or without GROUP BY."""
    where: tuple[str, ...] = ()
    having: str = ""
    qualify: str = ""
    order: tuple[str, ...] = ()
    """Spark's sort keys."""
    limit_by: LimitBy | None = None
    limit: str = ""
    keys: tuple[OrderKey, ...] = ()
    """The keys of ORDER BY that `order` was made from."""
    fills: tuple[FillColumn, ...] = ()
    """The columns of WITH FILL."""
    interpolated: Mapping[int, Callable[[str], str]] = field(default_factory=dict)
    """The formulas of INTERPOLATE, by the place of the column."""
    ties: tuple[int, int] | None = None
    """Offset and count of LIMIT WITH TIES."""
    computed_limit: ComputedLimit | None = None
    """Set instead of `limit`."""
    below: Totals | None = None
    """The totals of a subquery in FROM."""
    any_join: AnyJoinRows | None = None
    """Set where the rows come from an ANY JOIN."""


def finished_select(block: SelectBlock) -> SelectOutput:
    """The compiled SELECT of a block that all clauses have filled in."""
    columns = tuple((item.name, _result_column(item)) for item in block.items)
    sql = _filtering_select(block) if block.limit_by or block.qualify else _plain_select(block)
    return SelectOutput(sql, columns, block.grouped or block.source_grouped, any_join=_any_join_rows(block))


def _any_join_rows(block: SelectBlock) -> AnyJoinRows | None:
    """None after a LIMIT, which runs before any filter around it."""
    limited = block.limit or block.ties is not None or block.computed_limit is not None
    if block.any_join is None or limited:
        return None
    return block.any_join.for_outer_select([(each.name, each.node) for each in block.selected], block.translator.scope)


def stored_sql(value: TypedSql) -> str:
    """A value as a column stores it: a comparison becomes a number, unless its ClickHouse type is Bool."""
    if value.spark == "BOOLEAN" and not isinstance(value.bare, t.Bool):
        return f"CAST({value.sql} AS INT)"
    return value.sql


def _result_column(item: TranslatedColumn) -> TypedSql:
    number = item.value.spark == "BOOLEAN" and not isinstance(item.value.bare, t.Bool)
    return TypedSql(quote_identifier(item.name), item.value.type, "INT" if number else item.value.spark)


def _plain_select(block: SelectBlock) -> str:
    distinct = "DISTINCT " if block.tree.args.get("distinct") else ""
    shown = ", ".join(f"{stored_sql(item.value)} AS {quote_identifier(item.name)}" for item in block.items)
    order = f" ORDER BY {', '.join(_key_by_name(block, key) for key in block.order)}" if block.order else ""
    return f"SELECT {distinct}{shown}{render_from_through_having(block)}{order}{block.limit}"


def render_from_through_having(block: SelectBlock) -> str:
    """The SQL from FROM to HAVING, with a leading space."""
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
    """A sort key written as the name of the column that it equals, if there is exactly one."""
    sql, direction = split_sort_key(key)
    for item in block.items:
        if direction and item.value.sql == sql:
            same = [other for other in block.items if other.name == item.name]
            return quote_identifier(item.name) + direction if len(same) == 1 else key
    return key


def _filtering_select(block: SelectBlock) -> str:
    """LIMIT BY and QUALIFY: computed beside the columns and then filtered on by a SELECT around."""
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
    inner = f"SELECT {', '.join(hidden)}{render_from_through_having(block)}"
    return f"SELECT {distinct}{shown} FROM ({inner}) WHERE {' AND '.join(tests)}{order}{block.limit}"


def split_sort_key(key: str) -> tuple[str, str]:
    """The expression of a Spark sort key, and its direction (with NULLS FIRST or LAST)."""
    for direction in (" ASC NULLS LAST", " DESC NULLS LAST", " ASC NULLS FIRST", " DESC NULLS FIRST", " ASC", " DESC"):
        if key.endswith(direction):
            return key.removesuffix(direction), direction
    return key, ""
