"""`penstock.NAME`, `tinybird.NAME` and `organization.NAME` in FROM: which service data source is meant.

In: a table with a namespace. Out: its `ServiceSource`, or None for a table that has none. Invariant: the caller's own
text reads only what the caller may read; a view reads none of them, since its rows would depend on when it ran.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model.datasource import SERVICE_PREFIX
from penstock.model.service_sources import SERVICE_NAMESPACES, SERVICE_SOURCES, ServiceSource
from penstock.sql.compiler.environment import Environment
from penstock.sql.syntax.problems import Refused, refusal


def find_service_source(environment: Environment, node: exp.Table) -> ServiceSource | None:
    """The service data source that a table is; None if it has another namespace, or none. Raises Refused if there is no
    such one, or if it cannot be read here."""
    if node.args.get("catalog") is not None or node.db not in SERVICE_NAMESPACES:
        return None
    found = SERVICE_SOURCES.get(f"{SERVICE_PREFIX}{node.name}")
    if found is None:
        raise _unknown_source(environment, node)
    environment.check_name(f"{SERVICE_PREFIX}{found.name}")
    name = f"{node.db}.{found.name}"
    if environment.feeds_view:
        message = f"a materialized view cannot read `{name}`: it is no stream of rows"
        hint = "a copy can store its rows, on a schedule"
        raise refusal(environment.text, node, "unsupported-view", message, hint)
    if found.is_private and environment.pipe is not None:
        message = f"a pipe cannot read `{name}`: everybody who may call the pipe would see it"
        raise refusal(environment.text, node, "unknown-table", message, "`/v0/sql` reads it, with the scope `admin`")
    return found


def _unknown_source(environment: Environment, node: exp.Table) -> Refused:
    name, known = f"{node.db}.{node.name}", [source.name for source in SERVICE_SOURCES.values()]
    message = f"unknown service data source `{name}`"
    return refusal(environment.text, node, "unknown-table", message, did_you_mean(node.name, known))
