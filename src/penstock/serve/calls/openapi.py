"""The OpenAPI documents (https://spec.openapis.org/oas/v3.1.0): of all calls, and of a deployment's endpoints.

In: the table of calls, and the endpoints with the parameters of their templates. Out: JSON. Invariant: every call is in
the document as `openapi_schemas` describes it; a schema never refuses what a template takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from penstock import __version__
from penstock.deploy.queries.answers.answer_formats import EXTENSIONS
from penstock.errors import NotFound
from penstock.model.pipe import Pipe
from penstock.serve.calls.openapi_schemas import (
    ENDPOINT,
    ERROR,
    ICEBERG_ERROR,
    SHAPES,
    CallSchema,
    Json,
    parameter_schema,
    response_schema,
)
from penstock.serve.http.access import may_read
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import deployment_parameter
from penstock.template.declared_parameters import DeclaredParameter
from penstock.template.parameter_types import FLOATS, INTS

HEAD: Json = {"openapi": "3.1.0", "info": {"title": "Penstock", "version": __version__}}


class DescribedCall(Protocol):
    """The properties of a call that the document contains; `app.ApiCall` has them."""

    @property
    def methods(self) -> tuple[str, ...]: ...
    @property
    def path(self) -> str: ...
    @property
    def scope(self) -> str | None: ...


def show_openapi(host: PipelineHost, request: Request) -> Response:
    """`GET /openapi.json`."""
    return json_response(_document_of_calls(request.app.state.calls))


def show_endpoints(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/pipes/openapi.json`: the endpoints of a deployment that the token may read."""
    pipeline, ref, shows = host.pipeline, deployment_parameter(request.query_params), may_read(request)
    try:
        found = pipeline.store.find(ref)
    except NotFound:
        if ref != "live":
            raise
        return json_response(document_of_endpoints(()))
    parameters = pipeline.projects.endpoint_parameters(found)
    pipes = [each for each in pipeline.projects.load(found).project.pipes if each.name in parameters]
    return json_response(document_of_endpoints([(each, parameters[each.name]) for each in pipes if shows(each.name)]))


@lru_cache(maxsize=2)
def _document_of_calls(calls: tuple[DescribedCall, ...]) -> Json:
    """As `document_of_calls`, made once: the calls of a server do not change."""
    return document_of_calls(calls)


def document_of_calls(calls: Sequence[DescribedCall]) -> Json:
    """The OpenAPI document of all calls."""
    paths: dict[str, Json] = {}
    for call in calls:
        for method in call.methods:
            operation = _operation(call.path, SHAPES[method, call.path], call.scope)
            paths.setdefault(call.path, {})[method.lower()] = operation
    return {**HEAD, "paths": paths, "components": _components()}


def document_of_endpoints(endpoints: Iterable[tuple[Pipe, Sequence[DeclaredParameter]]]) -> Json:
    """The OpenAPI document of endpoints, with the parameters of their templates."""
    paths: dict[str, Json] = {}
    for pipe, declared in endpoints:
        own = [describe_parameter(each) for each in declared]
        for extension in EXTENSIONS:
            path = f"/v0/pipes/{pipe.name}.{extension}"
            operation = _operation(path, ENDPOINT, "read")
            general = [each for each in ENDPOINT.parameters if each["name"] not in {one["name"] for one in own}]
            about = {"summary": pipe.description or pipe.name, "parameters": [*own, *general]}
            paths[path] = {"get": {**operation, **about}}
    return {**HEAD, "paths": paths, "components": _components()}


def _operation(path: str, shape: CallSchema, scope: str | None) -> Json:
    names = re.findall(r"{(\w+)}", path)
    error = "IcebergError" if path.startswith("/iceberg/") else "Error"
    operation: Json = {
        "summary": shape.about,
        "parameters": [*(parameter_schema(name, "path", needed="yes") for name in names), *shape.parameters],
        "responses": {
            **{status: response_schema(status, kinds) for status, kinds in shape.answers.items()},
            "default": {"$ref": f"#/components/responses/{error}"},
        },
        "security": [] if scope is None else [{"bearer": []}, {"token": []}],
    }
    if scope is not None:
        operation["description"] = f"Needs a token with the scope `{scope}`."
    if shape.body is not None:
        operation["requestBody"] = {"content": shape.body, "required": True}
    return operation


def _components() -> Json:
    return {
        "securitySchemes": {
            "bearer": {"type": "http", "scheme": "bearer"},
            "token": {"type": "apiKey", "in": "query", "name": "token"},
        },
        "schemas": {"Error": ERROR, "IcebergError": ICEBERG_ERROR},
        "responses": {name: _error_response(name) for name in ("Error", "IcebergError")},
    }


def _error_response(name: str) -> Json:
    return {
        "description": "The error, and its place",
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}},
    }


def describe_parameter(parameter: DeclaredParameter) -> Json:
    """A template's parameter: type, default, allowed values, description and example."""
    found: Json = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.is_required,
        "schema": _parameter_schema(parameter),
    }
    if parameter.description:
        found["description"] = parameter.description
    if parameter.example is not None:
        found["example"] = parameter.example
    if parameter.type.startswith("Array("):
        found |= {"style": "form", "explode": False}
    return found


def _parameter_schema(parameter: DeclaredParameter) -> Json:
    of = parameter.type
    is_array = of.startswith("Array(")
    schema = _scalar_schema(of.removeprefix("Array(").rstrip(")"))
    if parameter.enum:
        schema["enum"] = list(parameter.enum)
    if is_array:
        schema = {"type": "array", "items": schema}
    schema["x-clickhouse-type"] = of
    if parameter.format:
        schema["format"] = parameter.format
    if parameter.default is not None:
        split = is_array and isinstance(parameter.default, str)
        schema["default"] = str(parameter.default).split(",") if split else parameter.default
    return schema


def _scalar_schema(name: str) -> Json:
    """The schema of a scalar in an address; times stay strings, since they need not have the form `date-time`."""
    if name in (*INTS, "Int", "Integer"):
        return {"type": "integer"}
    if name in FLOATS:
        return {"type": "number"}
    if name in ("Boolean", "bool"):
        return {"type": "boolean"}
    return {"type": "string", "format": "date"} if name == "Date" else {"type": "string"}
