"""The parameters, bodies and answers of each call, for the OpenAPI document.

In: nothing. Out: `SHAPES`, by method and path. Invariant: a test compares the keys with the table of calls, and another
one sends what is described here to the application.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from penstock.template import general_parameters

Json: TypeAlias = "dict[str, object]"

TEXT: Json = {"type": "string"}
BYTES: Json = {"type": "string", "format": "binary"}
FLAG: Json = {"type": "string", "enum": ["true", "false", "1", "0", "yes", "no", "on", "off"]}
OBJECT: Json = {"type": "object"}
JSON = "application/json"


def object_schema(**properties: Json) -> Json:
    """An object with these properties, all required."""
    return object_schema_with_optional(properties, {})


def object_schema_with_optional(needed: dict[str, Json], optional: dict[str, Json]) -> Json:
    """An object with these properties, the first ones required."""
    return {"type": "object", "required": list(needed), "properties": {**needed, **optional}}


def array_schema(of: Json) -> Json:
    return {"type": "array", "items": of}


PROBLEM = object_schema(
    code=TEXT,
    level={"enum": ["error", "warning"]},
    message=TEXT,
    file={"type": ["string", "null"]},
    line={"type": ["integer", "null"]},
    column={"type": ["integer", "null"]},
    hint={"type": ["string", "null"]},
)
ERROR = object_schema(error=TEXT, code=TEXT, documentation=TEXT, problems=array_schema(PROBLEM), request_id=TEXT)
ICEBERG_ERROR = object_schema(error=object_schema(message=TEXT, type=TEXT, code={"type": "integer"}), request_id=TEXT)
EVENT = object_schema(event={"enum": ["state", "progress", "lag"]}, data=TEXT)
"""One server-sent event; its data is a JSON object."""
COUNT: Json = {"type": "integer", "minimum": 0}
ROWS = object_schema_with_optional(
    {
        "meta": array_schema(object_schema(name=TEXT, type=TEXT)),
        "data": array_schema(OBJECT),
        "rows": COUNT,
        "rows_before_limit_at_least": COUNT,
        "statistics": OBJECT,
    },
    {"totals": OBJECT},
)
RESULT: Mapping[str, Json] = {
    JSON: ROWS,
    "text/csv": TEXT,
    "application/x-ndjson": TEXT,
    "application/vnd.apache.parquet": BYTES,
    "application/vnd.apache.arrow.stream": BYTES,
}
BACKUP = object_schema(destination=TEXT, made_at=TEXT, tables=COUNT, files=COUNT, bytes=COUNT, batches=COUNT)
TOKEN = object_schema(name=TEXT, scopes=array_schema(TEXT))
DEPLOYMENT = object_schema(
    id=COUNT, name=TEXT, state=TEXT, plan=OBJECT, problems=array_schema(OBJECT), files=array_schema(TEXT)
)
JOB = object_schema(id=COUNT, kind=TEXT, pipe=TEXT, datasource=TEXT, status=TEXT, parameters=OBJECT)
TRACES = object_schema(
    rows=COUNT,
    derived=array_schema(object_schema(name=TEXT, rows=COUNT)),
    copied=array_schema(object_schema(name=TEXT, pipe=TEXT, mode=TEXT)),
    quarantined_rows=COUNT,
    raw_rows=COUNT,
    raw_until={"type": ["string", "null"]},
    snapshot_seconds=COUNT,
    versions=array_schema(COUNT),
)
REMOVED = object_schema(datasource=TEXT, truncated={"type": "boolean"}, traces=TRACES)
DELETED = object_schema_with_optional(
    {"datasource": TEXT, "where": TEXT, "rows": COUNT, "deleted": {"type": "boolean"}, "traces": TRACES},
    {"rebuild": OBJECT, "deployment": OBJECT},
)
QUARANTINE = object_schema(
    rows=COUNT,
    reasons=array_schema(object_schema(column={"type": ["string", "null"]}, reason=TEXT, rows=COUNT)),
    newest=array_schema(object_schema(inserted_at=TEXT, raw=TEXT, problems=array_schema(TEXT))),
)
FORM = "application/x-www-form-urlencoded"
NDJSON = "application/x-ndjson"
CALLS_OF_ENDPOINTS: Json = {NDJSON: TEXT}
"""One JSON object a line: `{"endpoint": "top", "parameters": {"country": "DE"}}`."""
OUTCOME: Json = {"enum": ["same", "differs", "not_compared", "failed", "only_left", "only_right"]}
COMPARED = object_schema(name=TEXT, outcome=OUTCOME, rows=OBJECT, notes=array_schema(TEXT))
COMPARISON = object_schema(
    left=OBJECT,
    right=OBJECT,
    cut=object_schema(at=TEXT, batches=OBJECT),
    same={"type": "boolean"},
    differences=array_schema(PROBLEM),
    tables=array_schema(COMPARED),
    endpoints=array_schema(COMPARED),
)
COMPARED_TABLES = object_schema(
    deployment=OBJECT, left=TEXT, right=TEXT, cut=object_schema(at=TEXT, batches=OBJECT), table=COMPARED
)


def parameter_schema(name: str, place: str = "query", schema: Json = TEXT, needed: str = "no") -> Json:
    """One parameter of a call; those of a path are always required."""
    return {"name": name, "in": place, "schema": schema, "required": needed == "yes"}


def response_schema(status: str, kinds: Mapping[str, Json]) -> Json:
    return {"description": DONE.get(status, "Done"), "content": {kind: {"schema": of} for kind, of in kinds.items()}}


DONE = {"201": "Created", "202": "Stored, and queryable soon", "503": "Not ready yet"}


@dataclass(frozen=True, slots=True)
class CallSchema:
    """What the document says about a call."""

    about: str
    """One line."""
    parameters: tuple[Json, ...] = ()
    """Its parameters, without those of the path."""
    body: Json | None = None
    """The schema of its body, by content type."""
    answers: Mapping[str, Mapping[str, Json]] = field(default_factory=lambda: {"200": {JSON: OBJECT}})
    """The schemas of its answers, by status and content type."""
    has_template: bool = False
    """Whether it takes other parameters, too: those of a template."""


WHICH = (parameter_schema("deployment"),)
SIDES = tuple(parameter_schema(name) for name in ("left", "right", "expect", "rows", "calls"))
HEALTH = object_schema(status=TEXT, phase=TEXT, seconds={"type": "number"}, version=TEXT)
READINESS = object_schema(status=TEXT, phase=TEXT, reasons=array_schema(TEXT), checks=array_schema(OBJECT))
KEPT = object_schema(successful_rows=COUNT, quarantined_rows=COUNT)
EVENTS = (
    parameter_schema("name", needed="yes"),
    parameter_schema("wait", schema=FLAG),
    parameter_schema("format", schema={"type": "string", "enum": ["ndjson", "json"]}),
    parameter_schema("Idempotency-Key", "header", {"type": "string", "minLength": 1, "maxLength": 256}),
)
SPAN = (
    parameter_schema("Penstock-Source", "header", {"type": "string", "minLength": 1, "maxLength": 256}),
    parameter_schema("Penstock-Positions", "header"),
)
DEPLOY = (
    parameter_schema("check", schema=FLAG),
    parameter_schema("auto_promote", schema=FLAG),
    parameter_schema("allow_destructive_operations", schema=FLAG),
    parameter_schema("check_rows", schema=FLAG),
    parameter_schema("continue_candidate", schema=FLAG),
    parameter_schema("name"),
)
PROJECT: Json = {"multipart/form-data": {"schema": object_schema(files=array_schema(BYTES))}}
PARAMETERS: Json = {JSON: {"schema": OBJECT}, FORM: {"schema": OBJECT}}
QUERY: Json = {"text/plain": {"schema": TEXT}, **PARAMETERS}
ENDPOINT = CallSchema(
    "Query an endpoint: NAME.json, .ndjson, .csv, .parquet or .arrow",
    WHICH,
    answers={"200": RESULT},
    has_template=True,
)
ONE: Mapping[str, Mapping[str, Json]] = {"200": {JSON: DEPLOYMENT}}
ICEBERG = {
    f"{base}/namespaces{path}": about
    for base in ("/iceberg/v1", "/iceberg/v1/{warehouse}")
    for path, about in {
        "": "List the versions that other Iceberg readers can read",
        "/{ref}": "Show a version as a namespace",
        "/{ref}/tables": "List the tables of a version",
        "/{ref}/tables/{name}": "The metadata of a table, made for a version",
    }.items()
}
SHAPES: Mapping[tuple[str, str], CallSchema] = {
    ("GET", "/health"): CallSchema(
        "Whether the server is ready", answers={"200": {JSON: HEALTH}, "503": {JSON: HEALTH}}
    ),
    ("GET", "/health/live"): CallSchema("Whether the process answers", answers={"200": {JSON: OBJECT}}),
    ("GET", "/health/ready"): CallSchema(
        "Whether posts and queries can be served", answers={"200": {JSON: READINESS}, "503": {JSON: READINESS}}
    ),
    ("GET", "/openapi.json"): CallSchema("This document"),
    ("GET", "/metrics"): CallSchema("What the server counts, for Prometheus", answers={"200": {"text/plain": TEXT}}),
    ("GET", "/v0/status"): CallSchema("The running deployments, their progress, and what fails"),
    ("POST", "/v0/events"): CallSchema(
        "Append rows",
        (*EVENTS, parameter_schema("columns"), *SPAN),
        {"application/x-ndjson": {"schema": TEXT}},
        {"202": {JSON: KEPT}, "200": {JSON: KEPT}},
    ),
    ("GET", "/v0/datasources/{name}/positions"): CallSchema(
        "How far the sources of a data source's rows have come",
        answers={"200": {JSON: object_schema(positions=OBJECT)}},
    ),
    ("GET", "/v0/datasources"): CallSchema(
        "List the data sources", WHICH, None, {"200": {JSON: object_schema(datasources=array_schema(OBJECT))}}
    ),
    ("POST", "/v0/datasources"): CallSchema(
        "Append rows, or replace all rows by them",
        (
            *(each for each in EVENTS if each["name"] != "format"),
            parameter_schema("format", schema={"type": "string", "enum": ["ndjson", "json", "csv", "parquet"]}),
            parameter_schema("mode", schema={"type": "string", "enum": ["append", "replace"]}),
            *(parameter_schema(name, schema=FLAG) for name in ("header", "repeats_first")),
            parameter_schema("dialect_delimiter"),
        ),
        {"application/x-ndjson": {"schema": TEXT}},
        {"202": {JSON: KEPT}, "200": {JSON: KEPT}},
    ),
    ("POST", "/v0/datasources/{name}/truncate"): CallSchema(
        "Remove all rows of a data source",
        (parameter_schema("wait", schema=FLAG), parameter_schema("check", schema=FLAG), *SPAN),
        None,
        {"202": {JSON: REMOVED}, "200": {JSON: REMOVED}},
    ),
    ("POST", "/v0/datasources/{name}/delete"): CallSchema(
        "Remove the rows of a data source for which a condition is true",
        (
            *(parameter_schema(name) for name in ("where", "delete_condition")),
            *(
                parameter_schema(flag, schema=FLAG)
                for flag in ("wait", "check", "rebuild", "auto_promote", "allow_destructive_operations")
            ),
        ),
        PARAMETERS,
        {"202": {JSON: DELETED}, "200": {JSON: DELETED}},
    ),
    ("GET", "/v0/datasources/{name}"): CallSchema("Show a data source", WHICH),
    ("GET", "/v0/datasources/{name}/files"): CallSchema(
        "The files that a data source takes", (parameter_schema("limit"),), None, {"200": {JSON: OBJECT}}
    ),
    ("POST", "/v0/datasources/{name}/sync"): CallSchema(
        "Look for the files of a data source now",
        (parameter_schema("retry", schema=FLAG),),
        None,
        {"202": {JSON: object_schema(request=COUNT, tried_again=COUNT)}},
    ),
    ("GET", "/v0/datasources/{name}/quarantine"): CallSchema(
        "Why rows of a data source were rejected",
        (*WHICH, parameter_schema("limit")),
        None,
        {"200": {JSON: QUARANTINE}},
    ),
    ("POST", "/v0/datasources/{name}/quarantine/replay"): CallSchema(
        "Post the quarantined rows again that fit now", (), None, {"202": {JSON: object_schema(job=JOB)}}
    ),
    ("POST", "/v0/datasources/{name}/quarantine/clear"): CallSchema(
        "Remove the rows of a quarantine", (), None, {"200": {JSON: object_schema(removed_rows=COUNT)}}
    ),
    ("GET", "/v0/pipes"): CallSchema(
        "List the endpoints, or the pipes of another kind",
        (parameter_schema("kind"), *WHICH),
        None,
        {"200": {JSON: object_schema(pipes=array_schema(OBJECT))}},
    ),
    ("GET", "/"): CallSchema("The page with the endpoints", answers={"200": {"text/html": TEXT}}),
    ("GET", "/page/{file}"): CallSchema(
        "What the page loads", answers={"200": {"text/html": TEXT, "text/css": TEXT, "text/javascript": TEXT}}
    ),
    ("GET", "/v0/pipes/openapi.json"): CallSchema("The endpoints as an OpenAPI document", WHICH),
    ("GET", "/v0/pipes/{file}"): ENDPOINT,
    ("POST", "/v0/pipes/{file}"): CallSchema(ENDPOINT.about, WHICH, PARAMETERS, ENDPOINT.answers, has_template=True),
    ("POST", "/v0/pipes/{name}/copy"): CallSchema(
        "Run a copy", (), PARAMETERS, {"202": {JSON: object_schema(job=JOB)}}, has_template=True
    ),
    ("POST", "/v0/pipes/{name}/ranges"): CallSchema(
        "Run a copy for a range, once", (), PARAMETERS, {"202": {JSON: object_schema(job=JOB)}}, has_template=True
    ),
    ("GET", "/v0/pipes/{name}/ranges"): CallSchema(
        "List the jobs of a copy for ranges", answers={"200": {JSON: object_schema(jobs=array_schema(JOB))}}
    ),
    ("POST", "/v0/pipes/{name}/sink"): CallSchema(
        "Run a sink", (), PARAMETERS, {"202": {JSON: object_schema(job=JOB)}}, has_template=True
    ),
    ("GET", "/v0/topics"): CallSchema(
        "How the topics of data sources are read", answers={"200": {JSON: object_schema(topics=array_schema(OBJECT))}}
    ),
    ("POST", "/v0/topics/{name}/skip"): CallSchema(
        "Go on without what a topic has lost", (), None, {"200": {JSON: object_schema(given_up=OBJECT)}}
    ),
    ("GET", "/v0/jobs"): CallSchema(
        "List the newest jobs", answers={"200": {JSON: object_schema(jobs=array_schema(JOB))}}
    ),
    ("GET", "/v0/jobs/{id}"): CallSchema("Show a job", answers={"200": {JSON: JOB}}),
    ("POST", "/v0/jobs/{id}/cancel"): CallSchema("Cancel a job", answers={"200": {JSON: JOB}}),
    ("GET", "/v0/sql"): CallSchema(
        "Run a query", (parameter_schema("q", needed="yes"), *WHICH), None, {"200": RESULT}, has_template=True
    ),
    ("POST", "/v0/sql"): CallSchema("Run a query", WHICH, QUERY, {"200": RESULT}, has_template=True),
    ("GET", "/v0/audit"): CallSchema(
        "Who changed what",
        (parameter_schema("limit"),),
        None,
        {"200": {JSON: object_schema(entries=array_schema(OBJECT))}},
    ),
    ("GET", "/v0/logs"): CallSchema(
        "Lines of the server's log",
        (parameter_schema("lines"), parameter_schema("level"), parameter_schema("after")),
        None,
        {"200": {JSON: object_schema(lines=array_schema(TEXT), position=TEXT)}},
    ),
    ("GET", "/v0/tokens"): CallSchema(
        "List the tokens", answers={"200": {JSON: object_schema(tokens=array_schema(TOKEN))}}
    ),
    ("POST", "/v0/tokens"): CallSchema(
        "Create a token",
        (parameter_schema("name", needed="yes"), parameter_schema("scopes", needed="yes")),
        answers={"201": {JSON: object_schema(name=TEXT, scopes=array_schema(TEXT), token=TEXT)}},
    ),
    ("POST", "/v0/tokens/{name}/rotate"): CallSchema("Give a token a new secret"),
    ("DELETE", "/v0/tokens/{name}"): CallSchema("Remove a token"),
    ("GET", "/v0/diff"): CallSchema("Compare two versions at one cut", SIDES, answers={"200": {JSON: COMPARISON}}),
    ("POST", "/v0/diff"): CallSchema(
        "Compare two versions at one cut, with these calls of endpoints",
        SIDES,
        CALLS_OF_ENDPOINTS,
        {"200": {JSON: COMPARISON}},
    ),
    ("GET", "/v0/diff/tables"): CallSchema(
        "Compare two data sources of one version at one cut",
        (
            parameter_schema("left", needed="yes"),
            parameter_schema("right", needed="yes"),
            *(parameter_schema(name) for name in ("deployment", "expect", "rows")),
        ),
        answers={"200": {JSON: COMPARED_TABLES}},
    ),
    ("POST", "/v0/backups"): CallSchema(
        "Make a backup in a new folder of the server's machine",
        (parameter_schema("destination", needed="yes"),),
        answers={"201": {JSON: BACKUP}},
    ),
    ("GET", "/iceberg/v1/config"): CallSchema(
        "The configuration of other Iceberg readers", (parameter_schema("warehouse"),)
    ),
    **{("GET", path): CallSchema(about) for path, about in ICEBERG.items()},
    ("POST", "/v1/deploy"): CallSchema(
        "Deploy a project: one part a file", DEPLOY, PROJECT, {"201": {JSON: DEPLOYMENT}, "200": {JSON: DEPLOYMENT}}
    ),
    ("GET", "/v1/deployments"): CallSchema("List the deployments"),
    ("POST", "/v1/deployments/rollback"): CallSchema("Make the previous deployment live again", answers=ONE),
    ("GET", "/v1/deployments/{ref}"): CallSchema(
        "Show a deployment", (parameter_schema("unlanded", schema=FLAG),), answers=ONE
    ),
    ("DELETE", "/v1/deployments/{ref}"): CallSchema("Discard a deployment", answers=ONE),
    ("GET", "/v1/deployments/{ref}/events"): CallSchema(
        "The events of a deployment", answers={"200": {"text/event-stream": EVENT}}
    ),
    ("GET", "/v1/deployments/{ref}/files"): CallSchema(
        "The files of a deployment as they were sent",
        answers={
            "200": {JSON: object_schema(id=COUNT, name=TEXT, state=TEXT, files=OBJECT, withheld=array_schema(TEXT))}
        },
    ),
    ("POST", "/v1/deployments/{ref}/set-live"): CallSchema(
        "Make a deployment live",
        (parameter_schema("require_parity", schema=FLAG), parameter_schema("expect"), parameter_schema("calls")),
        CALLS_OF_ENDPOINTS,
        ONE,
    ),
    ("POST", "/v1/deployments/{ref}/retire"): CallSchema("Retire the previous deployment", answers=ONE),
    ("POST", "/v1/deployments/{ref}/pause"): CallSchema("Pause the filling of a deployment", answers=ONE),
    ("POST", "/v1/deployments/{ref}/resume"): CallSchema("Resume the filling of a deployment", answers=ONE),
}


@cache
def known_parameters(method: str, path: str) -> frozenset[str] | None:
    """The names of all parameters that a call takes, in its address or its body; None if it takes any: those of a
    template, or what other programs (a browser, Prometheus, readers of Iceberg) add."""
    shape = SHAPES[method, path]
    if shape.has_template or not path.startswith(("/v0/", "/v1/")):
        return None
    declared = frozenset(str(each["name"]) for each in shape.parameters if each["in"] == "query")
    version = general_parameters.DEPLOYMENT
    return declared | {"token", *(version if declared.intersection(version) else ())}


def takes_form(method: str, path: str) -> bool:
    """Whether the body of a call, if it has one, is parameters."""
    body = SHAPES[method, path].body
    return body is None or FORM in body
