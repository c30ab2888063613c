"""What kind of resource a data source or a pipe is.

In: a pipe. Out: its kind, as plans, checks and graphs say it. Invariant: a pipe has one kind, whatever its nodes are.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.model.pipe import Pipe

ResourceKind: TypeAlias = Literal["datasource", "materialized", "endpoint", "copy", "sink", "pipe"]


def pipe_kind(pipe: Pipe) -> ResourceKind:
    """What a pipe is for."""
    if pipe.materialized is not None:
        return "materialized"
    if pipe.copied is not None:
        return "copy"
    if pipe.exported is not None:
        return "sink"
    return "endpoint" if pipe.endpoint is not None else "pipe"
