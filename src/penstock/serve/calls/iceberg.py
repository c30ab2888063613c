"""The Iceberg REST catalog protocol, read only: namespaces are versions, tables are their data sources.

In: names. Out: JSON as the protocol has it. Invariant: what a token may not read is neither listed nor loaded; nothing
is written. A HEAD of an address asks whether it exists. Source: apache/iceberg,
open-api/rest-catalog-open-api.yaml.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from penstock.deploy.queries.open_namespaces import REFERENCES, NoSuchNamespace
from penstock.errors import NotFound
from penstock.model.deployment import Deployment
from penstock.serve.http.access import may_read
from penstock.serve.http.iceberg_error import NoChanges
from penstock.serve.http.json_response import json_response
from penstock.serve.http.json_web_tokens import require_all_rows
from penstock.serve.http.pipeline_host import PipelineHost

ENDPOINTS = tuple(
    f"{method} /v1/{{prefix}}/{path}"
    for method, path in (
        ("GET", "namespaces"),
        ("GET", "namespaces/{namespace}"),
        ("HEAD", "namespaces/{namespace}"),
        ("GET", "namespaces/{namespace}/tables"),
        ("GET", "namespaces/{namespace}/tables/{table}"),
        ("HEAD", "namespaces/{namespace}/tables/{table}"),
    )
)
"""What readers may ask for; they do not try anything else."""
LEVELS = "\x1f"
"""Separates the levels of a namespace; ours have one."""
CHANGES = "changes"
"""Under this name below a table, Spark shows its changes, as far as the snapshots go that it was given."""


def show_config(host: PipelineHost, request: Request) -> Response:
    """`GET /iceberg/v1/config`. The prefix, which follows `/v1/`, is the warehouse: the version that was asked for."""
    found, warehouse = host.pipeline.open_tables.namespaces, request.query_params.get("warehouse", "") or "live"
    if warehouse not in REFERENCES:
        found.find(warehouse)
    # Readers in Java would else ask for another token each hour.
    config = {"prefix": warehouse, "token-refresh-enabled": "false"}
    return json_response({"defaults": {}, "overrides": config, "endpoints": list(ENDPOINTS)})


def list_namespaces(host: PipelineHost, request: Request) -> Response:
    """`GET /iceberg/v1/namespaces`. Namespaces have no others below them. All are one page, which the protocol allows
    whatever `pageSize` says."""
    found, parent = host.pipeline.open_tables.namespaces, request.query_params.get("parent", "")
    if parent:
        found.find(_namespace_name(parent))
        return json_response({"namespaces": []})
    return json_response({"namespaces": [[name] for name in found.names()]})


def show_namespace(host: PipelineHost, request: Request) -> Response:
    """`GET /iceberg/v1/namespaces/NAMESPACE`."""
    name = _namespace_name(request.path_params["ref"])
    found = host.pipeline.open_tables.namespaces.find(name)
    if request.method == "HEAD":
        return Response(status_code=204)
    return json_response({"namespace": [name], "properties": _namespace_properties(found)})


def list_tables(host: PipelineHost, request: Request) -> Response:
    """`GET /iceberg/v1/namespaces/NAMESPACE/tables`: those that the token may read."""
    namespace, shows = _namespace_name(request.path_params["ref"]), may_read(request)
    names = [name for name in host.pipeline.open_tables.namespaces.tables(namespace) if shows(name)]
    return json_response({"identifiers": [{"namespace": [namespace], "name": name} for name in names]})


def load_table(host: PipelineHost, request: Request) -> Response:
    """`GET /iceberg/v1/namespaces/NAMESPACE/tables/TABLE`. A table of a namespace that is not there is no table: Spark
    asks for `live.hits.files`, and if that is no table, for `live.hits`, of which it shows the files."""
    if LEVELS in request.path_params["ref"] and request.path_params["name"].casefold() == CHANGES:
        raise NoChanges()
    try:
        return _load_table(host, request)
    except NoSuchNamespace as error:
        raise NotFound(error.message, error.problems, hint=error.hint) from error


def _load_table(host: PipelineHost, request: Request) -> Response:
    namespace, name = _namespace_name(request.path_params["ref"]), request.path_params["name"]
    require_all_rows(request, name)
    if request.method == "HEAD":
        host.pipeline.open_tables.namespaces.table(namespace, name)
        return Response(status_code=204)
    host.require_spark()
    found = host.pipeline.open_tables.load(namespace, name, _misread_defaults(request))
    return json_response({"metadata-location": found.location, "metadata": found.document, "config": {}})


def _misread_defaults(request: Request) -> tuple[str, ...]:
    """The types of which a reader takes no defaults. A filter of PyIceberg 0.12 compares a date with a number, and so
    finds no row by a default (`_ColumnNameTranslator` in its `expressions/visitors.py`)."""
    reader = request.headers.get("user-agent", "")
    return ("date", "timestamp", "timestamptz") if reader.startswith("PyIceberg/") else ()


def _namespace_properties(found: Deployment) -> dict[str, str]:
    return {"deployment": str(found.id), "name": found.name, "state": found.state}


def _namespace_name(text: str) -> str:
    if LEVELS in text:
        shown = text.replace(LEVELS, ".")
        raise NoSuchNamespace(f"there is no namespace `{shown}`", hint="a namespace is one name, such as `live`")
    return text
