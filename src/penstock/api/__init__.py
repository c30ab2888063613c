"""Projects in Python: the objects that they are written with, and how a folder of them is read.

In: names such as `OlapTable`, which are those of `penstock.api.objects`. Out: the same names. Invariant: importing
this package loads no Pydantic; asking it for a name does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.api.objects import *  # noqa: F403

_PREFIXES = ("clickhouse_", "materialized_", "simple_")


def __getattr__(name: str) -> object:
    """A name of the objects. Modules, whose names are in lower case, are not looked for there."""
    if not (
        name[:1].isupper() or name.startswith(("clickhouse_", "materialized_", "simple_")) or name in ("__all__", "sql")
    ):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("penstock.api.objects"), name)
