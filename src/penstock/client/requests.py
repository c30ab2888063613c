"""Calls of the server as values, which the client with and the one without asyncio send alike.

In: rows, SQL or the name of an endpoint. Out: `Request`. Invariant: values are sent beside the text, never in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote

from pydantic import BaseModel

from penstock.client.client_error import ClientError
from penstock.client.rows.row_batches import RowBatch
from penstock.client.rows.sendable_values import UnsendableValue, sendable_parts, write_row
from penstock.client.sql_parameters import bind_parameters

JSON_HEADERS = {"Content-Type": "application/json"}
_RESERVED = frozenset(
    ("q", "row_limit", "deployment", "__tb__deployment", "token", "output_format_json_quote_denormals")
)
ALWAYS_RETRIED = frozenset((429, 502, 503, 504))
"""Nothing was done, or nobody knows; asking again does no harm."""
KEYED_RETRIED = ALWAYS_RETRIED | {408, 500, 507}
"""A body with a key is stored once however often it is sent."""


@dataclass(frozen=True, slots=True)
class Request:
    """One call; `retried` are the statuses after which it is made again."""

    path: str
    content: bytes
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    retried: frozenset[int] = ALWAYS_RETRIED
    is_quick: bool = False
    """Whether a server that works answers soon, and a second call does no harm: a silent one is asked again early."""


class NamedEndpoint(Protocol):
    """An object with the name of an endpoint, such as an `Api`."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class EndpointQuery:
    """An endpoint, by its name or its object, with its parameters: what can be asked instead of SQL."""

    endpoint: str | NamedEndpoint
    parameters: Mapping[str, object] | BaseModel | None = None


def insert_request(name: str, batch: RowBatch, key: str, *, waits: bool) -> Request:
    """The call that stores a batch."""
    path = "/v0/datasources" if batch.form == "parquet" else "/v0/events"
    parameters = {"name": name, "format": batch.form} | ({"wait": "true"} if waits and batch.is_last else {})
    content, packing = batch.packed()
    headers = {"Idempotency-Key": f"{key}-{batch.number}", **packing}
    return Request(path, content, parameters, headers, KEYED_RETRIED, is_quick="wait" not in parameters)


def query_request(
    source: str | EndpointQuery, parameters: Mapping[str, object] | BaseModel | None, deployment: str | int | None
) -> Request:
    """The call that asks for rows in Arrow's streaming format. Raises ClientError."""
    asked = {"deployment": str(deployment)} if deployment is not None else {}
    if isinstance(source, EndpointQuery):
        if parameters is not None:
            raise ClientError("the parameters of an endpoint are given to the EndpointQuery", code="wrong-usage")
        name = source.endpoint if isinstance(source.endpoint, str) else source.endpoint.name
        sent = _sent_parameters(source.parameters)
        return Request(f"/v0/pipes/{quote(name, safe='')}.arrow", _body(sent), asked, JSON_HEADERS)
    text, sent = _sql_with_parameters(source, parameters)
    body = {**sent, "q": f"{text.strip().removesuffix(';')}\nFORMAT ArrowStream"}
    return Request("/v0/sql", _body(body), asked, JSON_HEADERS)


def _body(sent: Mapping[str, object]) -> bytes:
    try:
        return write_row(sent)
    except UnsendableValue as fault:
        raise ClientError(f"the query cannot be sent: {fault}", code="wrong-usage") from None


def _sql_with_parameters(
    text: str, parameters: Mapping[str, object] | BaseModel | None
) -> tuple[str, dict[str, object]]:
    """The SQL, and what is sent beside it. SQL that begins with % is a template with parameters of its own."""
    if not isinstance(text, str) or not text.strip():
        raise ClientError("a query is a text, and not empty", code="wrong-usage")
    if parameters is None or text.lstrip().startswith("%"):
        return text, _sent_parameters(parameters)
    given = _fields(parameters) if isinstance(parameters, BaseModel) else parameters
    bound = bind_parameters(text, given)
    return bound.text, dict(bound.values)


def _sent_parameters(parameters: Mapping[str, object] | BaseModel | None) -> dict[str, object]:
    """The parameters of a template as JSON: those that are None are left out. Raises ClientError."""
    given = _fields(parameters) if isinstance(parameters, BaseModel) else parameters or {}
    wrong = next((name for name in given if not isinstance(name, str) or name in _RESERVED), None)
    if wrong is not None:
        raise ClientError(f"no parameter is called `{wrong}`: the call has its own", code="wrong-usage")
    try:
        return sendable_parts({name: value for name, value in given.items() if value is not None})
    except UnsendableValue as fault:
        raise ClientError(f"a parameter cannot be sent: {fault}", code="wrong-usage") from None


def _fields(model: BaseModel) -> dict[str, object]:
    return {name: getattr(model, name) for name in type(model).model_fields}
