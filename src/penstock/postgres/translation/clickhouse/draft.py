"""The statements of a phase while they are being made.

In: the schema as it is. Out: the steps, in order. Invariant: `schema` is what the steps so far lead to, so that the
next operation starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from penstock.postgres.translation.clickhouse.schema import (
    ClickHouseColumn,
    ClickHouseSchema,
    ClickHouseTable,
    ClickHouseView,
    quoted_name,
    text_literal,
)
from penstock.postgres.translation.clickhouse.view_query import ViewQuery
from penstock.postgres.translation.refusal import CannotTranslate, refuse_view
from penstock.postgres.translation.store_step import StoreStep


@dataclass(frozen=True, slots=True)
class ViewChoices:
    """What the user says of the views of a store."""

    chosen: frozenset[str] = frozenset()
    """The views that a new or dropped column follows into their targets."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """The new query of a view, where the tool does not make it."""


ChoicesOf: TypeAlias = Callable[[str], ViewChoices]
"""What the user says of the views for a migration, by its id."""


class ClickHouseDraft:
    """Steps of one migration on one table."""

    is_stopped = False
    """Whether the consumer stands at the change, so that no row arrives meanwhile."""

    def __init__(self, schema: ClickHouseSchema, table: str, choices: ViewChoices, mark: str):
        self.schema = schema
        self.table = table
        self.choices = choices
        self.mark = mark
        """The id of the migration, which marks columns."""
        self.steps: list[StoreStep] = []

    @property
    def source(self) -> ClickHouseTable:
        """Raises CannotTranslate if the store has no such table."""
        return self.require(self.table)

    def require(self, name: str) -> ClickHouseTable:
        found = self.schema.table(name)
        if found is None:
            hint = "make it, or say its name in [stores.NAME.tables] of penstock.toml"
            raise CannotTranslate(f"the database {self.schema.database} has no table `{name}`", hint)
        return found

    def views(self, table: str) -> list[ClickHouseView]:
        """The views that read a table. Raises CannotTranslate for one that owns its target."""
        found = [*self.schema.views_of(table)]
        for each in found:
            if each.target is None:
                hint = "make it anew with TO and a table of its own: only that table can be altered"
                raise CannotTranslate(f"the view {each.name} has no TO: it owns its target", hint)
        return found

    def alter(self, table: str, change: str, step: StoreStep) -> None:
        """ALTER TABLE, waited for; the step says the rest."""
        text = f"ALTER TABLE {self.name(table)} {change} SETTINGS mutations_sync = 2, alter_sync = 2"
        self.steps.append(replace(step, text=text))

    def modify_query(self, view: ClickHouseView, query: ViewQuery, about: str) -> None:
        """Give a view another query; a view whose query the user said gets that one."""
        said = self.choices.queries.get(view.name)
        made = ViewQuery(said) if said is not None else query
        text, undo = (self.query_statement(view.name, each) for each in (made, view.query))
        self.steps.append(StoreStep(text, about, undo=undo))
        views = tuple(replace(each, query=made) if each.name == view.name else each for each in self.schema.views)
        self.schema = replace(self.schema, views=views)

    def query_statement(self, view: str, query: ViewQuery) -> str:
        """The statement that gives a view a query."""
        return f"ALTER TABLE {self.name(view)} MODIFY QUERY {query.text}"

    def change_columns(
        self, table: str, change: Callable[[tuple[ClickHouseColumn, ...]], tuple[ClickHouseColumn, ...]]
    ) -> None:
        """Tell the draft what a statement did to the columns of a table."""
        tables = tuple(
            replace(each, columns=change(each.columns)) if each.name == table else each for each in self.schema.tables
        )
        self.schema = replace(self.schema, tables=tables)

    def rename_table(self, to: str) -> None:
        """Tell the draft that the table has another name, by which its views read it."""
        readers = {each.name for each in self.views(self.table)}
        views = tuple(
            replace(each, query=each.query.with_table(self.table, to)) if each.name in readers else each
            for each in self.schema.views
        )
        tables = tuple(replace(each, name=to) if each.name == self.table else each for each in self.schema.tables)
        self.schema, self.table = replace(self.schema, tables=tables, views=views), to

    def followers(self, table: str, column: str) -> list[tuple[ClickHouseView, str, str]]:
        """The columns of targets that views fill with a column as it is: view, target, column; those furthest away
        first. Raises CannotTranslate for a view that does more with it, and whose query the user did not say."""
        found: list[tuple[ClickHouseView, str, str]] = []
        for view in self.views(table):
            use = view.query.use(column)
            if use in ("computed", "unclear") and view.name not in self.choices.queries:
                does = "computes with" if use == "computed" else "may read"
                raise refuse_view(view.name, f"{does} the column `{column}` of {table}")
            target = view.target or ""
            for output in view.query.outputs(column):
                if target and self.require(target).column(output) is not None:
                    found += [*self.followers(target, output), (view, target, output)]
        return found

    def name(self, table: str) -> str:
        return f"{quoted_name(self.schema.database)}.{quoted_name(table)}"

    def count_columns(self, table: str, condition: str) -> str:
        """A query of the number of columns of a table for which a condition holds."""
        where = f"database = {text_literal(self.schema.database)} AND table = {text_literal(table)}"
        return f"SELECT count() FROM system.columns WHERE {where} AND {condition}"
