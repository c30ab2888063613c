"""`postgresql(…)`, `url(…)`, `s3(…)` and the like in FROM: tables outside of this server, which only a copy reads.

In: the call. Out: a placeholder for the table's rows, and its columns. Invariants: columns that the call names are
those of the table, and nobody is asked for them; no login is in the SQL that is made here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import field

from sqlglot import exp

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.external_tables import (
    DatabaseTable,
    ExternalColumns,
    ExternalTable,
    ReadColumns,
    RemoteFiles,
    UnreadableTable,
)
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import LowCardinality, String, Type
from penstock.sql.compiler.environment import Environment
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.expr.typed import TypedSql
from penstock.sql.from_clause.external_databases import DATABASES, database_table
from penstock.sql.from_clause.external_files import FILE_FUNCTIONS, remote_files
from penstock.sql.from_clause.file_options import VIRTUAL_COLUMNS
from penstock.sql.from_clause.iceberg_calls import ICEBERG_FUNCTIONS, iceberg_table
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.problems import refusal
from penstock.sql.syntax.tree import call_name

EXTERNAL_FUNCTIONS = (*DATABASES, *FILE_FUNCTIONS, *ICEBERG_FUNCTIONS)


def external_table(environment: Environment, node: exp.Table) -> tuple[str, ScopeTable]:
    """The placeholder of the table that a call of one of EXTERNAL_FUNCTIONS means, and its columns. Raises Refused."""
    function = call_name(node.this) or ""
    if environment.external is None:
        message = f"`{function}(…)` is read by copies only: a version's rows and answers depend on nothing elsewhere"
        hint = "copy its rows into a data source with a pipe of TYPE copy, and read that"
        raise refusal(environment.text, node.this, "external-table", message, hint)
    table = _table_of_call(environment, node.this, function)
    alias = node.alias or function
    names = _names_used(node, alias)
    try:
        found = _columns_of(table, environment.external, names)
    except UnreadableTable as error:
        raise refusal(environment.text, node.this, "unreadable-table", error.message, error.hint) from error
    placeholder = _placeholder(environment, table)
    environment.uses.add_external(placeholder, table)
    virtual = {name: _PLACE for name in VIRTUAL_COLUMNS if isinstance(table, RemoteFiles) and name not in found.types}
    columns = {
        name: TypedSql(f"{quote_identifier(alias)}.{quote_identifier(name)}", of, spark_type(of))
        for name, of in {**found.types, **virtual}.items()
    }
    for name, why in found.unreadable.items():
        if _reads_all(node) or name in names:
            hint = _CAST if isinstance(table, DatabaseTable) else "name the columns to read, without this one"
            raise refusal(environment.text, node.this, "unreadable-column", f"the column `{name}` {why}", hint)
    return placeholder, ScopeTable(alias, columns, placeholder, frozenset(virtual), table_name=table.name)


_PLACE = LowCardinality(String())
"""The type of the columns that say which file a row is of."""


def _table_of_call(environment: Environment, call: exp.Expr, function: str) -> ExternalTable:
    if function in DATABASES:
        return database_table(environment, call, DATABASES[function])
    if function in ICEBERG_FUNCTIONS:
        return iceberg_table(environment, call, function)
    return remote_files(environment, call, function)


def _columns_of(table: ExternalTable, ask: ReadColumns, names: frozenset[str]) -> ExternalColumns:
    """The columns that the call names, else those that the table has."""
    if isinstance(table, RemoteFiles) and table.columns:
        return ExternalColumns(dict(table.columns))
    return ask(table, names)


_CAST = "make a view in the database that casts it, and read the view"


def _placeholder(environment: Environment, table: ExternalTable) -> str:
    """A name for the table: the same for the same one, so that equal SQL means equal tables."""
    known = environment.uses.externals
    same = next((name for name, each in known.items() if each == table), None)
    return same or f"__external_{len(known)}_{hashlib.sha256(repr(table).encode()).hexdigest()[:16]}__"


def _names_used(node: exp.Table, alias: str) -> frozenset[str]:
    """The names by which the SELECT around a table may mean its columns."""
    around = node.find_ancestor(exp.Select) or node
    named = (each.name for each in around.find_all(exp.Column) if each.table in ("", alias))
    joined = (each.name for each in around.find_all(exp.Join) for each in each.args.get("using") or ())
    return frozenset(name for name in (*named, *joined) if name)


def _reads_all(node: exp.Table) -> bool:
    """Whether the SELECT around a table has a `*`."""
    around = node.find_ancestor(exp.Select)
    listed = around.expressions if around is not None else []
    return any(isinstance(each.this if isinstance(each, exp.Column) else each, exp.Star) for each in listed)


@dataclass(slots=True)
class GuessedColumns:
    """Stands for the database where there is none, as in `penstock check`: a table has the columns that are named,
    with the type that the copy's target has under that name, or else one that is tried."""

    target: DataSource | None
    tried: Type
    used: bool = field(default=False)
    """Whether a table was guessed: another guess may do better."""

    def __call__(self, table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        self.used = True
        known = {each.name: each.type for each in self.target.columns} if self.target is not None else {}
        others = dict.fromkeys(sorted(names - known.keys()), self.tried)
        return ExternalColumns({**known, **others})


def as_warnings(problems: Sequence[Problem]) -> list[Problem]:
    """The problems of a copy that was compiled with guessed columns: an error is what no column could mend."""
    hint = "its tables of another database are known when it runs"
    return [
        each if each.code in _CERTAIN else Problem(each.code, each.message, each.location, each.hint or hint, "warning")
        for each in problems
    ]


_CERTAIN = (
    "external-table",
    "unsupported-source",
    "unknown-table",
    "unknown-function",
    "invalid-sql",
    "not-a-query",
    "cyclic-pipes",
)
