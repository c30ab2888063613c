"""`postgresql(…)` and `mysql(…)`: the tables of other databases that calls mean.

In: the arguments of a call. Out: `DatabaseTable`. Invariant: user and password come from secrets of the server.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.model.external_tables import DatabaseSystem, DatabaseTable
from penstock.sql.compiler.environment import Environment
from penstock.sql.from_clause.call_arguments import CallArguments
from penstock.sql.syntax.tree import call_parts

DATABASES: dict[str, DatabaseSystem] = {"postgresql": "postgresql", "mysql": "mysql"}
_ADDRESS = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_PORTS: dict[DatabaseSystem, int] = {"postgresql": 5432, "mysql": 3306}
_PARTS = ("address", "database", "table", "user", "password", "schema")
_LOGIN = "{{ tb_secret('user') }}, {{ tb_secret('password') }}"


def database_table(environment: Environment, call: exp.Expr, system: DatabaseSystem) -> DatabaseTable:
    """The table that a call means. Raises Refused."""
    most = len(_PARTS) if system == "postgresql" else len(_PARTS) - 1
    form = f"{system}('host:port', 'database', 'table', {_LOGIN}{'[, schema]' if system == 'postgresql' else ''})"
    read, (_, arguments) = CallArguments(environment, call, system, form), call_parts(call)
    if not len(_PARTS) - 1 <= len(arguments) <= most:
        takes = "5 or 6" if system == "postgresql" else "5"
        raise read.refuse(call, f"`{system}` takes {takes} arguments, {len(arguments)} are given")
    texts = [read.text(node, part) for node, part in zip(arguments, _PARTS, strict=False)]
    for node, part in zip(arguments[3:5], _PARTS[3:5], strict=True):
        read.check_secret(node, part)
    address, database, name, user, password = texts[:5]
    host, port = _read_address(read, arguments[0], address, _PORTS[system])
    return DatabaseTable(system, host, port, database, texts[5] if len(texts) > 5 else "", name, user, password)


def _read_address(read: CallArguments, node: exp.Expr, address: str, usual: int) -> tuple[str, int]:
    if read.is_unknown(address):
        return address, usual
    found = _ADDRESS.fullmatch(address)
    port = int(found.group(2) or usual) if found is not None else 0
    if found is None or not 0 < port < 2**16:
        message = f"the address of `{read.function}` must be a host and a port"
        raise read.refuse(node, message, f"such as 'db.example.com:{usual}'")
    return found.group(1).strip("[]"), port
