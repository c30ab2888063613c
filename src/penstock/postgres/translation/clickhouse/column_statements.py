"""Statements that add, drop and change columns below materialized views.

In: a draft and an operation. Out: more steps of the draft. Invariants: a type becomes wider in the targets first, those
furthest away before the others, so that no insert wraps a value; what is dropped is hidden first, under a name that
tells where it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.postgres.catalog.replicated_table import ReplicatedColumn
from penstock.postgres.catalog.store_types import clickhouse_enum, clickhouse_type
from penstock.postgres.migration.operation import AddColumn, OldRowsValue
from penstock.postgres.translation.clickhouse.column_values import enum_values, value_expression
from penstock.postgres.translation.clickhouse.draft import ClickHouseDraft
from penstock.postgres.translation.clickhouse.key_rebuild import KeyChange, rebuild_table
from penstock.postgres.translation.clickhouse.schema import (
    ClickHouseColumn,
    ClickHouseTable,
    ClickHouseView,
    quoted_name,
    text_literal,
)
from penstock.postgres.translation.refusal import CannotTranslate, refuse_view
from penstock.postgres.translation.store_step import StoreStep

HIDDEN = "_dropped_"
"""What the name of a hidden column begins with."""


def hidden_name(column: str, mark: str) -> str:
    return f"{HIDDEN}{column}_{mark}"


def add_column(draft: ClickHouseDraft, operation: AddColumn) -> None:
    """The column in the source, then in the targets of the chosen views, then these views, the furthest first."""
    old = operation.old_rows
    is_set = isinstance(old, OldRowsValue) and old.value is not None
    column = ReplicatedColumn(0, operation.name, operation.type, not operation.nullable)
    if not operation.nullable and not is_set:
        column = replace(column, not_null=False)
    value = ""
    if isinstance(old, OldRowsValue) and old.value is not None:
        value = f" DEFAULT {value_expression(column, old.value)}"
    made = ClickHouseColumn(operation.name, clickhouse_type(column), "DEFAULT" if value else "", value[9:])
    place = f" AFTER {quoted_name(operation.after)}" if operation.after and draft.source.column(operation.after) else ""
    _add(draft, draft.table, made, place)
    _pass_on(draft, draft.table, made)


def _add(draft: ClickHouseDraft, table: str, made: ClickHouseColumn, place: str) -> None:
    found = draft.require(table).column(made.name)
    if found is not None and found.type != made.type:
        hint = "drop or rename that column first"
        raise CannotTranslate(f"the table {table} has a column `{made.name}` of type {found.type} already", hint)
    if found is not None:
        return
    default = f" DEFAULT {made.default}" if made.default else ""
    change = f"ADD COLUMN IF NOT EXISTS {quoted_name(made.name)} {made.type}{default}{place}"
    undo = f"ALTER TABLE {draft.name(table)} DROP COLUMN IF EXISTS {quoted_name(made.name)}"
    draft.alter(table, change, StoreStep("", f"{table} gets the column", undo=undo))
    draft.change_columns(table, lambda columns: (*columns, made))


def _pass_on(draft: ClickHouseDraft, table: str, made: ClickHouseColumn) -> None:
    for view in draft.views(table):
        if view.name not in draft.choices.chosen:
            continue
        target = draft.require(view.target or "")
        said = view.name in draft.choices.queries
        if not said and not view.query.passes_rows:
            raise refuse_view(view.name, f"groups or joins: how `{made.name}` goes through it is not told")
        if not said and target.adds_up:
            raise refuse_view(view.name, f"fills {target.name}, whose rows are added up")
        if said and made.name not in view.query.text and made.name not in draft.choices.queries[view.name]:
            raise refuse_view(view.name, f"is chosen, and its new query does not have `{made.name}`")
        _add(draft, target.name, made, "")
        _pass_on(draft, target.name, made)
        if said or view.query.use(made.name) == "none":
            draft.modify_query(view, view.query.with_column(made.name) if not said else view.query, "passes it on")


def drop_column(draft: ClickHouseDraft, name: str) -> None:
    """Views without the column, the furthest first; then the column is hidden, and later deleted."""
    column = draft.source.column(name)
    if column is None:
        return
    if column.is_key:
        raise CannotTranslate(f"the column `{name}` is in the key of {draft.table}", _KEY_HINT)
    hidden = _take_from_views(draft, draft.table, name)
    for table, each in [*hidden, (draft.table, name)]:
        _hide(draft, table, each)


_KEY_HINT = "make a table with another key, fill it by INSERT … SELECT while the consumer is stopped, EXCHANGE TABLES"


def _take_from_views(draft: ClickHouseDraft, table: str, name: str) -> list[tuple[str, str]]:
    """Take a column out of the views of a table. Returns the columns of targets that go with it, the furthest first."""
    hidden: list[tuple[str, str]] = []
    for view in draft.views(table):
        use = view.query.use(name)
        said = view.name in draft.choices.queries
        if use == "none" and not said:
            continue
        outputs = view.query.outputs(name)
        if view.name in draft.choices.chosen:
            for output in outputs:
                target = draft.require(view.target or "")
                found = target.column(output)
                if found is None or found.is_key:
                    raise refuse_view(view.name, f"fills the key of {target.name} with `{name}`")
                hidden += [*_take_from_views(draft, target.name, output), (target.name, output)]
        _modify_without(draft, view, name, said=said)
    return hidden


def _modify_without(draft: ClickHouseDraft, view: ClickHouseView, name: str, *, said: bool) -> None:
    query = view.query if said else view.query.without_column(name) if view.query.use(name) == "plain" else None
    if query is None:
        raise refuse_view(view.name, f"needs the column `{name}`")
    if said or query != view.query:
        draft.modify_query(view, query, f"goes on without {name}")


def refuse_nested(*names: str) -> None:
    """Raises CannotTranslate for a name with a dot: to ClickHouse it is a part of a Nested column."""
    found = next((each for each in names if "." in each), None)
    if found is not None:
        hint = "rename it in ClickHouse by hand, and record the phase with --by-hand"
        raise CannotTranslate(f"the name `{found}` has a dot, and ClickHouse does not rename such columns", hint)


def _hide(draft: ClickHouseDraft, table: str, name: str) -> None:
    refuse_nested(name)
    hidden = hidden_name(name, draft.mark)
    rename = f"RENAME COLUMN IF EXISTS {quoted_name(name)} TO {quoted_name(hidden)}"
    undo = f"ALTER TABLE {draft.name(table)} RENAME COLUMN IF EXISTS {quoted_name(hidden)} TO {quoted_name(name)}"
    is_hidden = draft.count_columns(table, f"name = {text_literal(hidden)}")
    draft.alter(table, rename, StoreStep("", f"hides it in {table}", is_hidden, undo))
    drop = f"DROP COLUMN IF EXISTS {quoted_name(hidden)}"
    draft.alter(table, drop, StoreStep("", f"deletes it from {table}", deletes=True))
    draft.change_columns(table, lambda columns: tuple(each for each in columns if each.name != name))


def change_type(draft: ClickHouseDraft, name: str, type_name: str) -> None:
    """The wider type in the targets, the furthest first; views with a query that the user said, then the source, and
    last the views that pass it on."""
    followers = draft.followers(draft.table, name)
    for table, each in dict.fromkeys((target, output) for _, target, output in followers):
        _modify(draft, table, each, type_name)
    for table, each in dict.fromkeys([*((target, output) for _, target, output in followers), (draft.table, name)]):
        for view in draft.views(table):
            if view.query.use(each) in ("computed", "unclear"):
                draft.modify_query(view, view.query, f"reads {each} as {type_name}")
    _modify(draft, draft.table, name, type_name)
    for view in {view.name: view for view, _, _ in followers}.values():
        draft.modify_query(view, view.query, "takes up the type")


def _modify(draft: ClickHouseDraft, table: str, name: str, type_name: str) -> None:
    column = required_column(draft.require(table), name)
    if column.type == type_name:
        return
    if column.is_key:
        rebuild_table(draft, table, KeyChange(types={name: type_name}))
        return
    undo = f"ALTER TABLE {draft.name(table)} MODIFY COLUMN {quoted_name(name)} {column.type}"
    draft.alter(
        table, f"MODIFY COLUMN {quoted_name(name)} {type_name}", StoreStep("", f"{table} gets the type", undo=undo)
    )
    draft.change_columns(
        table, lambda columns: tuple(replace(each, type=type_name) if each.name == name else each for each in columns)
    )


def replace_column(draft: ClickHouseDraft, name: str, type_name: str) -> None:
    """A column of another type beside the former one, which is hidden: its rows are read again from Postgres."""
    column = required_column(draft.source, name)
    if column.is_key:
        raise CannotTranslate(f"the column `{name}` is in the key of {draft.table}", _KEY_HINT)
    for view in draft.views(draft.table):
        if view.query.use(name) != "none" and view.name not in draft.choices.queries:
            raise refuse_view(view.name, f"reads `{name}`, which becomes {type_name}")
    if column.type == type_name:
        return
    hidden = hidden_name(name, draft.mark)
    nullable = type_name if type_name.startswith("Nullable(") else f"Nullable({type_name})"
    change = f"RENAME COLUMN {quoted_name(name)} TO {quoted_name(hidden)}, ADD COLUMN {quoted_name(name)} {nullable}"
    was = draft.count_columns(draft.table, f"name = {text_literal(hidden)}")
    draft.alter(draft.table, change, StoreStep("", "rows are read again from Postgres", was))
    drop = f"DROP COLUMN IF EXISTS {quoted_name(hidden)}"
    draft.alter(draft.table, drop, StoreStep("", "deletes the former column", deletes=True))
    made = ClickHouseColumn(name, nullable)
    draft.change_columns(draft.table, lambda columns: (*(each for each in columns if each.name != name), made))
    for view in draft.views(draft.table):
        if view.name in draft.choices.queries:
            draft.modify_query(view, view.query, f"reads the new {name}")


def drop_not_null(draft: ClickHouseDraft, name: str) -> None:
    column = required_column(draft.source, name)
    if not column.type.startswith("Nullable("):
        change_type(draft, name, f"Nullable({column.type})")


def set_not_null(draft: ClickHouseDraft, name: str) -> None:
    """The plain type, unless rows are NULL there: ClickHouse would make them 0 in silence. What a later version or a
    deletion of a row has replaced does not count: such a NULL may stay until ClickHouse merges. Views stay as they
    are."""
    column = required_column(draft.source, name)
    if not column.type.startswith("Nullable("):
        return
    plain = column.type.removeprefix("Nullable(").removesuffix(")")
    rows = draft.name(draft.table) + (" FINAL" if draft.source.replaces else "")
    nulls = f"SELECT count() FROM {rows} WHERE {quoted_name(name)} IS NULL"
    default = (
        f" DEFAULT {column.default}" if column.default else f" DEFAULT defaultValueOfTypeName({text_literal(plain)})"
    )
    undo = f"ALTER TABLE {draft.name(draft.table)} MODIFY COLUMN {quoted_name(name)} {column.type}"
    about = "no NULL any more; a column with NULLs keeps its type"
    draft.alter(draft.table, f"MODIFY COLUMN {quoted_name(name)} {plain}{default}", StoreStep("", about, nulls, undo))
    draft.change_columns(
        draft.table, lambda columns: tuple(replace(each, type=plain) if each.name == name else each for each in columns)
    )


def add_enum_value(draft: ClickHouseDraft, name: str, value: str) -> None:
    """The Enum with one label more, in the targets first; a column of texts takes any."""
    values = enum_values(required_column(draft.source, name).type)
    if values is None or value in values:
        return
    _change_labels(draft, name, {**values, value: max(values.values()) + 1})


def rename_enum_value(draft: ClickHouseDraft, name: str, value: str, to: str) -> None:
    """The label under its number; a column of texts gets the new one as its rows are read again."""
    values = enum_values(required_column(draft.source, name).type)
    if values is not None and value in values:
        _change_labels(draft, name, {to if label == value else label: number for label, number in values.items()})


def _change_labels(draft: ClickHouseDraft, name: str, values: dict[str, int]) -> None:
    column = required_column(draft.source, name)
    made = clickhouse_enum(values)
    change_type(draft, name, f"Nullable({made})" if column.type.startswith("Nullable(") else made)


def required_column(table: ClickHouseTable, name: str) -> ClickHouseColumn:
    found = table.column(name)
    if found is None:
        known: Sequence[str] = [each.name for each in table.columns]
        hint = f"its columns: {', '.join(known[:20])}; `penstock migrations check` compares the store with Postgres"
        raise CannotTranslate(f"the table {table.name} has no column `{name}`", hint)
    return found
