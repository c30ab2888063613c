"""JSON documents that the server gives, and the parameters of the calls for them.

In: values. Out: the types of documents and parameters. Invariant: it loads no HTTP client, so a command that needs no
server starts without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Json: TypeAlias = "dict[str, Any]"
Parameters: TypeAlias = Mapping[str, str]


def query_parameters(**given: object) -> dict[str, str]:
    """Query parameters: None is left out, booleans become `true` and `false`."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }
