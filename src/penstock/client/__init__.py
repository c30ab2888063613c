"""The client of programs: rows in, answers out, without and with asyncio.

In: names such as `Client`. Out: the same names. Invariant: importing this package loads nothing; asking it for a name
loads HTTP and Pydantic, and only what is used loads Arrow. Spark and pandas are never imported: who has a DataFrame
has imported them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.objects.row_insertion import FailedRecord, InsertOptions, InsertResult
    from penstock.client.async_client import AsyncClient
    from penstock.client.client_error import ClientError
    from penstock.client.http_answers import ClientOptions
    from penstock.client.requests import EndpointQuery
    from penstock.client.rows.row_batches import BatchLimits
    from penstock.client.sync_client import Client

_MODULES = {
    "AsyncClient": "penstock.client.async_client",
    "BatchLimits": "penstock.client.rows.row_batches",
    "Client": "penstock.client.sync_client",
    "ClientError": "penstock.client.client_error",
    "ClientOptions": "penstock.client.http_answers",
    "EndpointQuery": "penstock.client.requests",
    "FailedRecord": "penstock.api.objects.row_insertion",
    "InsertOptions": "penstock.api.objects.row_insertion",
    "InsertResult": "penstock.api.objects.row_insertion",
}
__all__ = [
    "AsyncClient",
    "BatchLimits",
    "Client",
    "ClientError",
    "ClientOptions",
    "EndpointQuery",
    "FailedRecord",
    "InsertOptions",
    "InsertResult",
]


def __getattr__(name: str) -> object:
    """A public name. Modules are not looked for here."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
