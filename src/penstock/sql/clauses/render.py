"""The Spark SQL of a finished `SelectBlock`, in nested SELECTs if one level is not enough.

Order of the levels, from the inside: select list, QUALIFY and DISTINCT, LIMIT BY, WITH FILL, ORDER BY and LIMIT.
Invariant: each clause works on the rows that the ones before it leave, in ClickHouse's order; what fits into one SELECT
stays one SELECT. Of an empty grouping set there is a row even where there are none to group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.sql.compiler.environment import SelectOutput
from penstock.sql.compiler.fill_column import FillRole, FillSlot, fill_rows, mark_all_real, rows_or_placeholder
from penstock.sql.compiler.select_block import (
    ComputedLimit,
    OrderKey,
    SelectBlock,
    finished_select,
    render_from_through_having,
    split_sort_key,
    stored_sql,
)
from penstock.sql.expr.spark_types import value_default
from penstock.sql.expr.typed import NEVER
from penstock.sql.spark_text import quote_identifier


def render_block(block: SelectBlock) -> SelectOutput:
    """The SQL and columns of a finished block."""
    plain = finished_select(block)
    if not _needs_levels(block):
        return plain
    return replace(plain, sql=_nested_sql(block))


def _needs_levels(block: SelectBlock) -> bool:
    hidden = block.limit_by is not None or any(not _is_selected(block, key) for key in block.keys)
    hidden = hidden or bool(block.qualify and block.keys)
    distinct = block.tree.args.get("distinct") is not None
    computed = any(not _reads_selected(block, key) for key in block.keys)
    over_sets = bool(block.translator.absent)
    windows = any(key.windows for key in block.keys)
    around = block.fills or block.ties or block.computed_limit
    twice = len({item.name for item in block.items}) < len(block.items)
    if twice and (block.keys or block.limit_by or block.qualify):
        return True  # a level around would not know which column a name means
    # Above HAVING, too, Spark sorts by nothing but what is selected, if a key of GROUP BY is computed.
    return bool(around or over_sets or (distinct and (hidden or computed)) or windows or (block.having and computed))


def _is_selected(block: SelectBlock, key: OrderKey) -> bool:
    return any(item.value.sql == key.value.sql for item in block.items)


def _reads_selected(block: SelectBlock, key: OrderKey) -> bool:
    """Whether Spark sorts by columns of the select list as they are: after DISTINCT it cannot compute others (where
    NaN goes, the number of an enum's value) from those of the tables."""
    shown = {stored_sql(item.value) for item in block.items}
    return all(split_sort_key(each)[0] in shown for each in key.sqls)


def _sort_key_columns(block: SelectBlock) -> list[tuple[str, str, str]]:
    """Name, SQL and direction of each of Spark's sort keys, as columns of the inner SELECT."""
    fills = {fill.key for fill in block.fills}
    found: list[tuple[str, str, str]] = []
    for key in block.keys:
        for place, each in enumerate(key.sqls, 1):
            name = f"`__k{len(found)}`"
            sql, direction = split_sort_key(each)
            is_value = place == len(key.sqls) and name in fills
            found.append((name, stored_sql(key.value) if is_value else sql, direction))
    return found


def _nested_sql(block: SelectBlock) -> str:
    names = _sort_key_columns(block)
    order = ", ".join(f"{name}{direction}" for name, _, direction in names)
    rows = _apply_limit_by(block, _inner_select(block), order)
    if block.fills:
        rows = _apply_fills(block, rows)
    shown = ", ".join(
        f"{_column_name(place)} AS {quote_identifier(item.name)}" for place, item in enumerate(block.items)
    )
    sorting = f" ORDER BY {order}" if order else ""
    if block.computed_limit is not None:
        place = f"row_number() OVER (ORDER BY {order or 'CAST(1 AS INT)'}) AS `__at`"
        return (
            f"SELECT {shown} FROM (SELECT *, {place} FROM ({rows})) WHERE {_is_within(block.computed_limit)}{sorting}"
        )
    if block.ties is None:
        return f"SELECT {shown} FROM ({rows}){sorting}{block.limit}"
    skip, count = block.ties
    places = f"row_number() OVER (ORDER BY {order}) AS `__at`, rank() OVER (ORDER BY {order}) AS `__rank`"
    kept = f"`__at` > {skip} AND `__rank` <= {skip + count}" if count else NEVER
    return f"SELECT {shown} FROM (SELECT *, {places} FROM ({rows})) WHERE {kept}{sorting}"


def _is_within(limit: ComputedLimit) -> str:
    """Whether the place of a row is among those that a computed limit keeps."""
    end = "" if limit.count is None else f" AND `__at` <= {limit.skip} + {limit.count}"
    return f"`__at` > {limit.skip}{end}"


def _column_name(place: int) -> str:
    return f"`__c{place}`"


def _inner_select(block: SelectBlock) -> str:
    """The SELECT of the columns, the sort keys and the keys of LIMIT BY, after QUALIFY and DISTINCT."""
    shown = {_column_name(place): stored_sql(item.value) for place, item in enumerate(block.items)}
    shown |= {name: sql for name, sql, _ in _sort_key_columns(block)}
    if block.limit_by is not None:
        shown |= {f"`__b{place}`": key for place, key in enumerate(block.limit_by.keys)}
    distinct = "DISTINCT " if _is_distinct(block) else ""
    if not block.qualify:
        return _selected_rows(block, shown, distinct)
    inner = _selected_rows(block, {**shown, "`__qualify`": block.qualify}, "")
    return f"SELECT {distinct}{', '.join(shown)} FROM ({inner}) WHERE `__qualify`"


def _selected_rows(block: SelectBlock, columns: Mapping[str, str], distinct: str) -> str:
    """The SELECT of named SQL from FROM to HAVING; with an empty grouping set also its row where no rows are grouped,
    for which Spark has none."""
    listed = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
    rows = f"SELECT {distinct}{listed}{render_from_through_having(block)}"
    if block.empty_set is None:
        return rows
    for sql, there in block.empty_set.texts:
        listed = listed.replace(sql, there)
    ungrouped = replace(block, group=None, having="")
    none = render_from_through_having(replace(ungrouped, where=(*block.where, NEVER)))
    some = f"EXISTS (SELECT 1{render_from_through_having(ungrouped)})"
    return f"{rows} UNION ALL SELECT {listed}{none} HAVING count(1) = 0 AND NOT {some}"


def _is_distinct(block: SelectBlock) -> bool:
    clause = block.tree.args.get("distinct")
    return isinstance(clause, exp.Distinct) and not clause.args.get("on")


def _apply_limit_by(block: SelectBlock, rows: str, order: str) -> str:
    by = block.limit_by
    if by is None:
        return rows
    keys = ", ".join(f"`__b{place}`" for place in range(len(by.keys)))
    place = f"row_number() OVER (PARTITION BY {keys} ORDER BY {order or 'CAST(1 AS INT)'}) AS `__place`"
    test = f"`__place` > {by.skip} AND `__place` <= {by.skip + by.count}"
    return f"SELECT * FROM (SELECT *, {place} FROM ({rows})) WHERE {test}"


def _apply_fills(block: SelectBlock, rows: str) -> str:
    first = block.fills[0]
    slots = _fill_slots(block, 0)
    rows = rows_or_placeholder(rows, slots) if first.start and first.stop else mark_all_real(rows)
    partition = _fill_partition(block)
    for place, fill in enumerate(block.fills):
        rows = fill_rows(rows, fill, partition, _fill_slots(block, place))
        partition = (*partition, fill.key)
    return rows


def _fill_partition(block: SelectBlock) -> tuple[str, ...]:
    """The sort keys before the first one that is filled: each combination of their values is filled on its own."""
    names = [name for name, _, _ in _sort_key_columns(block)]
    return tuple(names[: _first_sort_key(block, block.fills[0].key)])


def _first_sort_key(block: SelectBlock, name: str) -> int:
    """The index of the first Spark sort key that belongs to the same key as the named one, which is its last."""
    start = 0
    for key in block.keys:
        if name in [f"`__k{place}`" for place in range(start, start + len(key.sqls))]:
            return start
        start += len(key.sqls)
    return start


def _fill_slots(block: SelectBlock, at: int) -> tuple[FillSlot, ...]:
    """What WITH FILL writes into each column of an added row while the key number `at` is filled."""
    names = _sort_key_columns(block)
    fills = [fill.key for fill in block.fills]
    kept = {*_fill_partition(block), *fills[:at]}
    sqls = {name: key.value.sql for name, key in _value_keys(block).items()}
    kept_sqls = {sqls[name] for name in kept if name in sqls}
    found = []
    for place, item in enumerate(block.items):
        role: FillRole = "kept" if item.value.sql in kept_sqls else "empty"
        if role == "empty" and item.value.sql == sqls[fills[at]]:
            role = "key"
        spark = "INT" if stored_sql(item.value) != item.value.sql else item.value.spark
        zero = f"CAST({value_default(item.value.type)} AS {spark})"
        found.append(FillSlot(_column_name(place), role, zero, block.interpolated.get(place)))
    for name, _, _ in names:
        zero = "NULL" if name in sqls else "0"
        found.append(FillSlot(name, "kept" if name in kept else "key" if name == fills[at] else "empty", zero))
    return tuple(found)


def _value_keys(block: SelectBlock) -> dict[str, OrderKey]:
    """The sort keys by the name of the Spark sort key that holds their value (one before it may sort NaN)."""
    found, last = {}, -1
    for key in block.keys:
        last += len(key.sqls)
        found[f"`__k{last}`"] = key
    return found
