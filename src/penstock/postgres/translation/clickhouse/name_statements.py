"""Statements that give columns and tables other names below materialized views.

In: a draft and an operation. Out: more steps of the draft. Invariants: between any two statements the table can be
read, and inserts go through the views: while a column is renamed they read it by a pattern that fits both names; a
swap is one ALTER, with an alias for the second name, and a comment that follows the renames says whether it was made.
"""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.postgres.translation.clickhouse.column_statements import change_type, refuse_nested, required_column
from penstock.postgres.translation.clickhouse.draft import ClickHouseDraft
from penstock.postgres.translation.clickhouse.key_rebuild import KeyChange, rebuild_table
from penstock.postgres.translation.clickhouse.schema import ClickHouseColumn, quoted_name, text_literal
from penstock.postgres.translation.clickhouse.type_capacity import holds_values
from penstock.postgres.translation.refusal import CannotTranslate, refuse_view
from penstock.postgres.translation.store_step import StoreStep


def rename_column(draft: ClickHouseDraft, name: str, to: str) -> None:
    """Views that read both names; the rename; views that read the new name. Targets keep their names."""
    if draft.source.column(name) is None and draft.source.column(to) is not None:
        return
    column = required_column(draft.source, name)
    refuse_nested(name, to)
    if draft.source.column(to) is not None:
        raise CannotTranslate(
            f"{draft.table} has a column `{to}` already, whose name `{name}` is to take",
            "carry out what drops or renames it first; or take it away by hand",
        )
    readers = [each for each in draft.views(draft.table) if each.query.use(name) != "none"]
    either = f"tupleElement(tuple(COLUMNS('^({_pattern(name)}|{_pattern(to)})$')), 1)"
    former = {each.name: each.query for each in readers}
    for view in readers:
        said = view.name in draft.choices.queries
        if not said and (view.query.use(name) == "unclear" or view.query.passes_all):
            raise refuse_view(view.name, f"may read the column `{name}`, which is renamed to `{to}`")
        if not said:
            draft.modify_query(view, view.query.with_expression(name, either), "reads both names")
    if column.is_key:
        rebuild_table(draft, draft.table, KeyChange(names={name: to}))
    else:
        _rename(draft, name, to)
    for view in draft.views(draft.table):
        if view.name in former:
            draft.modify_query(view, former[view.name].with_expression(name, quoted_name(to)), "reads the new name")


def _rename(draft: ClickHouseDraft, name: str, to: str) -> None:
    rename = f"RENAME COLUMN IF EXISTS {quoted_name(name)} TO {quoted_name(to)}"
    is_renamed = draft.count_columns(draft.table, f"name = {text_literal(to)}")
    undo = f"ALTER TABLE {draft.name(draft.table)} RENAME COLUMN IF EXISTS {quoted_name(to)} TO {quoted_name(name)}"
    draft.alter(draft.table, rename, StoreStep("", "the rename", is_renamed, undo))
    draft.change_columns(
        draft.table, lambda columns: tuple(replace(each, name=to) if each.name == name else each for each in columns)
    )


def _pattern(name: str) -> str:
    """A name as a part of a regular expression within a text."""
    return text_literal(re.sub(r"([^A-Za-z0-9_])", r"\\\1", name))[1:-1]


def swap_columns(draft: ClickHouseDraft, name: str, other: str) -> None:
    """Types that hold both in the targets; a mark; both renames at once; then the alias becomes the column."""
    one, two = required_column(draft.source, name), required_column(draft.source, other)
    refuse_nested(name, other)
    if one.type != two.type:
        _widen_targets(draft, one, two.type)
        _widen_targets(draft, two, one.type)
    if one.is_key or two.is_key:
        types = {name: two.type, other: one.type} if one.type != two.type else {}
        rebuild_table(draft, draft.table, KeyChange(types, rows_of={name: other, other: name}))
    else:
        _swap(draft, one, two)


def _swap(draft: ClickHouseDraft, one: ClickHouseColumn, two: ClickHouseColumn) -> None:
    name, other = one.name, two.name
    mark = f"penstock: {draft.mark}: was {name}"
    between = f"_swapped_{name}_{draft.mark}"
    marked = f"comment = {text_literal(mark)}"
    draft.alter(
        draft.table,
        f"COMMENT COLUMN {quoted_name(name)} {text_literal(mark)}",
        StoreStep("", "a mark that follows the renames", draft.count_columns(draft.table, marked)),
    )
    away = f"RENAME COLUMN {quoted_name(name)} TO {quoted_name(between)}"
    first = f"{away}, RENAME COLUMN {quoted_name(other)} TO {quoted_name(name)}"
    alias = f"ADD COLUMN {quoted_name(other)} {one.type} ALIAS {quoted_name(between)}"
    moved = draft.count_columns(draft.table, f"{marked} AND name != {text_literal(name)}")
    draft.alter(draft.table, f"{first}, {alias}", StoreStep("", "both names at once", moved))
    last = f"DROP COLUMN {quoted_name(other)}, RENAME COLUMN {quoted_name(between)} TO {quoted_name(other)}"
    arrived = draft.count_columns(draft.table, f"{marked} AND name = {text_literal(other)}")
    draft.alter(draft.table, last, StoreStep("", "the alias becomes the column", arrived))
    comment = f"COMMENT COLUMN IF EXISTS {quoted_name(other)} {text_literal(one.comment)}"
    draft.alter(draft.table, comment, StoreStep("", "the mark is taken away"))
    names = {name: other, other: name}
    draft.change_columns(
        draft.table, lambda columns: tuple(replace(each, name=names.get(each.name, each.name)) for each in columns)
    )


def _widen_targets(draft: ClickHouseDraft, column: ClickHouseColumn, type_name: str) -> None:
    """Let the targets of a column hold what the other one has."""
    if not holds_values(column.type, type_name):
        followers = draft.followers(draft.table, column.name)
        if followers and not holds_values(type_name, column.type):
            raise refuse_view(followers[0][0].name, f"passes `{column.name}` on, whose type becomes {type_name}")
        for _, target, output in followers:
            inner = ClickHouseDraft(draft.schema, target, draft.choices, draft.mark)
            inner.is_stopped = draft.is_stopped
            change_type(inner, output, type_name)
            draft.steps += inner.steps
            draft.schema = inner.schema


def rename_table(draft: ClickHouseDraft, to: str) -> None:
    """The views end, the table is renamed, the views begin: they would stop in silence. The consumer is stopped."""
    views = draft.views(draft.table)
    for view in views:
        drop = f"DROP VIEW IF EXISTS {draft.name(view.name)} SYNC"
        draft.steps.append(StoreStep(drop, "it would stop in silence", _count(draft, to)))
    rename = f"RENAME TABLE IF EXISTS {draft.name(draft.table)} TO {draft.name(to)}"
    draft.steps.append(StoreStep(rename, "the rename", _count(draft, to)))
    for view in views:
        query = draft.choices.queries.get(view.name) or view.query.with_table(draft.table, to).text
        create = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {draft.name(view.name)} TO {draft.name(view.target or '')}"
        draft.steps.append(StoreStep(f"{create} AS {query}", "it reads the new name"))
    draft.rename_table(to)


def _count(draft: ClickHouseDraft, table: str) -> str:
    where = f"database = {text_literal(draft.schema.database)} AND name = {text_literal(table)}"
    return f"SELECT count() FROM system.tables WHERE {where}"
