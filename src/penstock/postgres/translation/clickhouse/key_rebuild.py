"""Statements that make a table anew, where a column of its key changes its name or type.

In: a draft whose consumer is stopped, and the changes. Out: more steps of the draft. Invariants: the new table is made
with all rows by one statement, and takes the place of the former one by another (EXCHANGE TABLES), so that every query
sees one of the two; its comment says which one it is. The former table is deleted after the delay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import sqlglot
from sqlglot.tokens import TokenType

from penstock.postgres.translation.clickhouse.draft import ClickHouseDraft
from penstock.postgres.translation.clickhouse.schema import (
    ClickHouseColumn,
    ClickHouseTable,
    quoted_name,
    text_literal,
)
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep

_COMPUTED = ("MATERIALIZED", "ALIAS", "EPHEMERAL")


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What is different in the new table."""

    types: Mapping[str, str] = field(default_factory=dict)
    """The new type of a column, by its name before."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The new name of a column; keys and defaults that have it are renamed with it."""
    rows_of: Mapping[str, str] = field(default_factory=dict)
    """The column whose values a column gets, if these are not its own."""


def rebuild_table(draft: ClickHouseDraft, table: str, change: KeyChange) -> None:
    """Make the table anew. Raises CannotTranslate while the consumer is not stopped, and for a table that cannot be."""
    found = draft.require(table)
    _refuse(draft, found, change)
    other = f"_rebuilt_{table}_{draft.mark}"
    mark = f"penstock: {draft.mark}: {'; '.join(sorted({*change.types, *change.names, *change.rows_of}))}"
    definition = _definition(found, change)
    columns = [each for each in found.columns if each.default_kind not in _COMPUTED]
    # By position: an alias would stand for a column of the same name.
    select = ", ".join(quoted_name(change.rows_of.get(each.name, each.name)) for each in columns)
    rows = f"SELECT {select} FROM {draft.name(table)}"
    create = f"CREATE OR REPLACE TABLE {draft.name(other)} {definition} COMMENT {text_literal(mark)} AS {rows}"
    is_there = (
        f"SELECT count() FROM system.tables WHERE database = {text_literal(draft.schema.database)}"
        f" AND name = {text_literal(table)} AND comment = {text_literal(mark)}"
    )
    exchange = f"EXCHANGE TABLES {draft.name(table)} AND {draft.name(other)}"
    draft.steps.append(StoreStep(create, f"{table} with its new key, and all rows", is_there))
    draft.steps.append(StoreStep(exchange, "it takes the place of the former one", is_there))
    comment = f"ALTER TABLE {draft.name(table)} MODIFY COMMENT {text_literal(found.comment)}"
    draft.steps.append(StoreStep(comment, "the mark is taken away"))
    drop = f"DROP TABLE IF EXISTS {draft.name(other)} SYNC"
    draft.steps.append(StoreStep(drop, "deletes the former table", deletes=True))
    draft.change_columns(table, lambda before: tuple(_changed(each, change) for each in before))


def _refuse(draft: ClickHouseDraft, table: ClickHouseTable, change: KeyChange) -> None:
    about = ", ".join(sorted({*change.types, *change.names, *change.rows_of}))
    if not draft.is_stopped:
        hint = "set the phase of the operation to at_lsn: the table is made anew while the consumer is stopped there"
        raise CannotTranslate(
            f"a column is in the key of {table.name} ({about}), and keys do not change in place", hint
        )
    if "MergeTree" not in table.engine or ("Replicated" in table.engine and "{uuid}" not in table.created):
        hint = "make a table with the new key by hand, fill it, EXCHANGE TABLES, and record the phase with --by-hand"
        raise CannotTranslate(f"the table {table.name} ({table.engine}) cannot be made anew by the tool", hint)


def _definition(table: ClickHouseTable, change: KeyChange) -> str:
    """The columns and the engine of the new table, as ClickHouse wrote those of the former one."""
    text = table.created.removesuffix(f" COMMENT {text_literal(table.comment)}") if table.comment else table.created
    text = text[text.index("(`") :]
    for name, type_name in change.types.items():
        column = table.column(name)
        was = f"{quoted_name(name)} {column.type if column else ''}"
        if text.count(was) != 1:
            raise CannotTranslate(f"the definition of {table.name} does not have `{name}` once", "change it by hand")
        text = text.replace(was, f"{quoted_name(name)} {type_name}")
    tokens = sqlglot.tokenize(text, read="clickhouse")
    for token, following in reversed([*zip(tokens, [*tokens[1:], None], strict=True)]):
        is_name = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER) or token.text.isidentifier()
        is_call = following is not None and following.token_type is TokenType.L_PAREN
        if is_name and not is_call and token.token_type is not TokenType.STRING and token.text in change.names:
            text = text[: token.start] + quoted_name(change.names[token.text]) + text[token.end + 1 :]
    return text


def _changed(column: ClickHouseColumn, change: KeyChange) -> ClickHouseColumn:
    name = change.names.get(column.name, column.name)
    return replace(column, name=name, type=change.types.get(column.name, column.type))
