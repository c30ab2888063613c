"""`postgresql(…)` in FROM: a table of another database, which only a copy reads.

In: the call. Out: a placeholder for the table's rows, and its columns. Invariants: user and password come from the
server's secrets, never from the text of a datafile or a parameter; they are in no SQL that is made here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.external_tables import ExternalColumns, ExternalTable, UnreadableTable
from penstock.model.types import Type
from penstock.sql.compiler.environment import Environment
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.expr.typed import TypedSql
from penstock.sql.spark_text import quote_identifier
from penstock.sql.stored_types import spark_type
from penstock.sql.syntax.problems import offset_of, refusal
from penstock.sql.syntax.tree import call_parts
from penstock.template.rendering import RenderedSql
from penstock.template.values import NO_VALUE

POSTGRESQL = "postgresql"
_FORM = "postgresql('host:port', 'database', 'table', {{ tb_secret('user') }}, {{ tb_secret('password') }}[, 'schema'])"
_ADDRESS = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_POSTGRES_PORT = 5432
_PARTS = ("address", "database", "table", "user", "password", "schema")


def external_table(environment: Environment, node: exp.Table) -> tuple[str, ScopeTable]:
    """The placeholder of the table that a call of `postgresql` means, and its columns. Raises Refused."""
    if environment.external is None:
        message = "`postgresql(…)` is read by copies only: a version's rows and answers depend on no other database"
        hint = "copy its rows into a data source with a pipe of TYPE copy, and read that"
        raise refusal(environment.text, node.this, "external-table", message, hint)
    table = _table_of_call(environment, node.this)
    alias = node.alias or POSTGRESQL
    try:
        found = environment.external(table, _names_used(node, alias))
    except UnreadableTable as error:
        raise refusal(environment.text, node.this, "unreadable-table", error.message, error.hint) from error
    placeholder = _placeholder(environment, table)
    environment.uses.add_external(placeholder, table)
    columns = {
        name: TypedSql(f"{quote_identifier(alias)}.{quote_identifier(name)}", of, spark_type(of))
        for name, of in found.types.items()
    }
    for name, why in found.unreadable.items():
        if _reads_all(node) or name in _names_used(node, alias):
            raise refusal(environment.text, node.this, "unreadable-column", f"the column `{name}` {why}", _CAST)
    return placeholder, ScopeTable(alias, columns, placeholder, table_name=table.name)


_CAST = "make a view in Postgres that casts it, and read the view"


def _placeholder(environment: Environment, table: ExternalTable) -> str:
    """A name for the table: the same for the same one, so that equal SQL means equal tables."""
    known = environment.uses.externals
    same = next((name for name, each in known.items() if each == table), None)
    where = "\0".join((table.host, str(table.port), table.database, table.schema, table.name))
    return same or f"__external_{len(known)}_{hashlib.sha256(where.encode()).hexdigest()[:16]}__"


def _table_of_call(environment: Environment, call: exp.Expr) -> ExternalTable:
    """What the arguments of a call say. Raises Refused."""
    _, arguments = call_parts(call)
    if not len(_PARTS) - 1 <= len(arguments) <= len(_PARTS):
        message = f"`postgresql` takes 5 or 6 arguments, {len(arguments)} are given"
        raise refusal(environment.text, call, "external-table", message, f"write {_FORM}")
    texts = [_text(environment, node, part) for node, part in zip(arguments, _PARTS, strict=False)]
    for node, part in zip(arguments[3:5], _PARTS[3:5], strict=True):
        _check_secret(environment, node, part)
    address, database, name, user, password = texts[:5]
    host, port = _read_address(environment, arguments[0], address)
    return ExternalTable(host, port, database, texts[5] if len(texts) > 5 else "", name, user, password)


def _text(environment: Environment, node: exp.Expr, part: str) -> str:
    """The text that an argument is; its value is in no message: it may be a secret."""
    if not isinstance(node, exp.Literal) or not node.args.get("is_string"):
        message = f"the {part} of `postgresql` must be a text in quotes, or a value of the template"
        raise refusal(environment.text, node, "external-table", message, f"write {_FORM}")
    if "\0" in node.name or (not node.name and part != "schema"):
        message = f"the {part} of `postgresql` is empty or has a character that no name has"
        raise refusal(environment.text, node, "external-table", message, f"write {_FORM}")
    return node.name


def _check_secret(environment: Environment, node: exp.Expr, part: str) -> None:
    """Raises Refused for a login that is written in the datafile, which is kept and shown, or given by a caller."""
    text, given, at = environment.text, environment.given, offset_of(node)
    is_value = isinstance(text, RenderedSql) and at is not None and text.is_value(at)
    is_secret = given.mode != "call" or node.name in (given.secrets or {}).values()
    if is_value and (is_secret or part == "user"):
        return
    message = f"the {part} of `postgresql` must come from a secret of the server: datafiles and jobs are kept and shown"
    hint = f"write {{{{ tb_secret('NAME') }}}}, and set PENSTOCK_SECRET_NAME to the {part} where the server runs"
    raise refusal(text, node, "external-table", message, hint)


def _read_address(environment: Environment, node: exp.Expr, address: str) -> tuple[str, int]:
    if address == NO_VALUE and environment.given.mode == "check":
        return address, _POSTGRES_PORT
    found = _ADDRESS.fullmatch(address)
    port = int(found.group(2) or _POSTGRES_PORT) if found is not None else 0
    if found is None or not 0 < port < 2**16:
        message = "the address of `postgresql` must be a host and a port"
        raise refusal(environment.text, node, "external-table", message, "such as 'db.example.com:5432'")
    return found.group(1).strip("[]"), port


def _names_used(node: exp.Table, alias: str) -> frozenset[str]:
    """The names by which the SELECT around a table may mean its columns."""
    around = node.find_ancestor(exp.Select) or node
    named = (each.name for each in around.find_all(exp.Column) if each.table in ("", alias, POSTGRESQL))
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
