"""Replace or remove all rows of a data source, in every running version at one place of its stream.

In: a data source and the new rows, or none. Out: a `Receipt`. Invariant: every row of before that place is gone from
every version, and none that came after it: where views write the data source too, these have processed all that had
arrived before, and process nothing more before the rows are replaced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from penstock.deploy.ingest.event_ingestion import EventIngestion, Receipt
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict, InvalidRequest
from penstock.flow.lag import FlowLag
from penstock.model.cursor import SourceSpan
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Manifest, View
from penstock.state.batch_keys import BodyKey

ALIGN_SECONDS = 60.0
"""How long landing is held at most until the views have processed what had arrived."""
FILLING: tuple[DeploymentState, ...] = ("preparing", "backfilling")
ALL_RUNNING: tuple[DeploymentState, ...] = (*FILLING, "ready", "live", "previous")


def change_key(key: str, what: str, *lines: bytes) -> BodyKey:
    """The idempotency key of a change, with a digest of what it is: the same key is no other change, and no post."""
    found = hashlib.sha256(what.encode() + b"\n")
    for line in lines:
        found.update(line + b"\n")
    return BodyKey(key, found.hexdigest())


class RowReplacement:
    """Replaces rows. Thread-safe."""

    def __init__(self, core: Core, ingestion: EventIngestion):
        self._core = core
        self._ingestion = ingestion

    def replace(self, name: str, body: bytes, key: str) -> Receipt:
        """Put the rows of a body of NDJSON in the place of all rows of a data source. Raises what
        `EventIngestion.append` raises, InvalidRequest if no row fits, and Conflict where views write them too."""
        stream, lines, counts = self._ingestion.examine(name, body)
        if not counts[0]:
            raise InvalidRequest(
                f"none of the {counts[1]:,} rows fits `{name}`: nothing was replaced",
                hint="append them: their quarantine has the reasons; `penstock datasource truncate` removes all rows",
            )
        fed = next(self._fed_tables(stream), None)
        if fed is not None:
            raise Conflict(
                f"`{name}` cannot be replaced: a materialized view of deployment {fed[0].id} writes it too",
                hint="append the rows, or truncate it first: that waits for the views",
            )
        return Receipt(
            stream, self._ingestion.replace_lines(stream, lines, change_key(key, "replace", *lines)), *counts
        )

    def truncate(self, name: str, key: str, span: SourceSpan | None = None) -> Receipt:
        """Remove all rows of a data source; the materialized views below keep theirs. `span` says where in a source of
        its rows that stands. Raises NotFound, Conflict if the views into it cannot be brought to one place, and what
        storing raises."""
        stream = self._ingestion.stream_of(name)
        with self.views_aligned(name, stream):
            return Receipt(stream, self._ingestion.replace_lines(stream, (), change_key(key, "truncate"), span), 0, 0)

    def _fed_tables(self, stream: str) -> Iterator[tuple[Deployment, str]]:
        """The tables of a stream that views write too, each with its version."""
        for each in self._core.store.deployments.in_state(*ALL_RUNNING):
            for landing in each.manifest.landings_of(stream):
                if any(isinstance(flow, View) for flow in each.manifest.flows_into(landing.table)):
                    yield each, landing.table

    @contextmanager
    def views_aligned(self, name: str, stream: str) -> Iterator[None]:
        """Hold landing at one batch of every stream until the views into the data source have processed all up to it,
        and for the block. Without such views nothing is held. Raises Conflict."""
        fed = list(self._fed_tables(stream))
        if not fed:
            yield
            return
        filling = next((each for each, _ in fed if each.state in FILLING), None)
        if filling is not None:
            raise Conflict(
                f"rows of `{name}` cannot be removed while deployment {filling.id} computes them from their sources",
                hint="try again when it is ready, or discard it",
            )
        flows = self._core.flows
        heads = flows.arrivals.heads

        def late() -> list[FlowLag]:
            return [lag for each, table in fed for lag in self._late(each.manifest, table, heads)]

        try:
            with flows.stepper.limit_batches(heads):
                if not flows.scheduler.wait(lambda: not late(), ALIGN_SECONDS):
                    worst = max(late(), key=lambda lag: lag.head - lag.at, default=None)
                    where = f"{worst.flow} into {worst.table} is at batch {worst.at} of {worst.head}" if worst else ""
                    raise Conflict(
                        f"nothing was removed: the views that write `{name}` have not processed what arrived: {where}",
                        hint="see `penstock status`; try again once they have caught up",
                    )
                yield
        finally:
            flows.scheduler.wake()

    def _late(self, manifest: Manifest, table: str, heads: Mapping[str, int]) -> list[FlowLag]:
        needed = {table, *manifest.table_graph.upstream(table)}
        return [lag for lag in self._core.flows.late(manifest, heads, ()) if lag.table in needed]
