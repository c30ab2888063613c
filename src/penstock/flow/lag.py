"""How far the tables of a deployment are behind the batch log, and which tables a failing flow blocks.

In: a manifest, the table registry, the failing flows. Out: the flows that are behind, per stream; blocked tables.
Invariant: a flow that derives from a stream is behind until the stream's batch is in its own table, however many
views away; a failing flow blocks its own table and those that derive from it, and no other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from penstock.flow.history_copy import is_copy_complete
from penstock.flow.table_registry import TableRegistry
from penstock.model.manifest import Copy, Landing, Manifest, View


@dataclass(frozen=True, slots=True)
class FlowLag:
    """A flow that has processed a stream only up to batch `at`, while the last batch of the stream is `head`."""

    table: str
    flow: str
    stream: str
    at: int
    head: int


def find_lags(registry: TableRegistry, manifest: Manifest, heads: Mapping[str, int]) -> tuple[FlowLag, ...]:
    """The flows of a deployment that have not processed their streams up to the batches `heads` (by stream). Those
    into a damaged table have processed nothing."""
    carried = manifest.streams_by_table
    found: list[FlowLag] = []
    for flow in manifest.flows:
        match flow:
            case Copy(id, _, table):
                at = registry.readable(table).progress.get(id)
                if not is_copy_complete(at.cursor if at is not None else None):
                    found.append(FlowLag(table, id, "", 0, 1))
            case Landing() | View():
                progress = registry.readable(flow.table).progress.get(flow.id)
                if progress is None and isinstance(flow, View) and flow.starts in ("met", "resumed"):
                    found.append(FlowLag(flow.table, flow.id, "", 0, 1))
                watermarks = progress.watermarks if progress else {}
                streams = {flow.stream} if isinstance(flow, Landing) else carried[flow.trigger.binding.table]
                found += [
                    FlowLag(flow.table, flow.id, stream, watermarks.get(stream, 0), heads[stream])
                    for stream in sorted(streams)
                    if watermarks.get(stream, 0) < heads.get(stream, 0)
                ]
    return tuple(found)


def has_arrived(registry: TableRegistry, manifest: Manifest, stream: str, batch: int) -> bool:
    """Whether a batch of a stream is in every table that derives from the stream. Looks at the flows of that stream
    only: there may be many waiters and many tables."""
    for flow in manifest.flows_of_stream(stream):
        progress = registry.readable(flow.table).progress.get(flow.id)
        if progress is None or progress.watermarks.get(stream, 0) < batch:
            return False
    return True


def blocked_tables(manifest: Manifest, failing: Collection[tuple[str, str]]) -> frozenset[str]:
    """The tables into which a flow fails (given as table and flow), and all that derive from them."""
    failed = {flow.table for flow in manifest.flows if (flow.table, flow.id) in failing}
    return frozenset({*failed, *manifest.table_graph.downstream(*failed)})
