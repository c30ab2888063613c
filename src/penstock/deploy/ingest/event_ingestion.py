"""Posted rows: find their stream, store them, and wait until they can be queried.

In: a data source's name and a body of NDJSON. Out: a `Receipt` with the number of the batch and the counts of rows
that fit and that do not. Invariant: a receipt exists only for rows that are on disk and in the batch log.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.errors import Conflict, InvalidRequest, NotFound, Timeout, did_you_mean
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.lag import has_arrived
from penstock.flow.landing.json_row import InvalidRow, decode_json
from penstock.flow.landing.row_parser import RowParser
from penstock.flow.scheduler import ANY_TABLE
from penstock.flow.table_registry import TableRegistry
from penstock.model.cursor import BatchCursor, PostTerms, SourceSpan
from penstock.model.deployment import Deployment
from penstock.model.json_path import parse_json_path
from penstock.model.manifest import Landing
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import BatchLog
from penstock.state.positions.stream_positions import StoredPosition


@dataclass(frozen=True, slots=True)
class Receipt:
    """The confirmation of a POST; its rows are counted by the rules of the live version."""

    stream: str
    batch: int
    """The number of the rows' batch in the stream's batch log."""
    successful_rows: int
    quarantined_rows: int
    """Rows that the live version rejects."""


class MissingColumns(Conflict):
    """Rows were sent with values that live has no column for."""

    code = "missing-columns"

    def __init__(self, name: str, missing: Sequence[str]):
        shown = ", ".join(f"`{each}`" for each in missing)
        super().__init__(
            f"no column of `{name}` reads {shown}; none of these rows is kept",
            hint="deploy the column, then send the rows again",
        )
        self._missing = tuple(missing)

    def as_json(self) -> dict[str, object]:
        return {**super().as_json(), "columns": list(self._missing)}


class EventIngestion:
    """Appends posted rows to the inbox. Thread-safe."""

    def __init__(self, board: DeploymentBoard, flows: RunningFlows, inbox: Inbox, batches: BatchLog):
        self._board = board
        self._flows = flows
        self._inbox = inbox
        self._batches = batches

    def append(self, name: str, body: bytes, key: str | None) -> Receipt:
        """Store the rows of a body durably; `key` is its idempotency key.

        Raises NotFound if no data source has the name, InvalidRequest if no line of the body is JSON, TooLarge.
        """
        return self.append_on_terms(name, body, PostTerms(key))

    def append_on_terms(self, name: str, body: bytes, terms: PostTerms) -> Receipt:
        """Store the rows of a body durably. Raises what `append` raises, OtherPosition if they do not follow what is
        stored of their source, MissingColumns if live has no column for a value; then nothing is stored."""
        missing = _unread_keys(self.landing_of(name), terms.columns)
        if missing:
            raise MissingColumns(name, missing)
        stream, lines, counts = self.examine(name, body)
        return Receipt(stream, self._inbox.append(stream, lines, terms.key, terms.span), *counts)

    def append_file_rows(self, name: str, lines: Sequence[bytes], span: SourceSpan) -> Receipt:
        """Store rows of files; each that is no JSON is one that does not fit. Raises NotFound, OtherPosition if they do
        not follow what is stored of their source, and what `Inbox.append` raises; then nothing is stored."""
        landing = _find_landing(self._board, name)
        quarantined = _count_rejected(_row_parser(landing), lines)
        number = self._inbox.append(landing.stream, lines, None, span)
        return Receipt(landing.stream, number, len(lines) - quarantined, quarantined)

    def count_rejected(self, name: str, lines: Sequence[bytes]) -> int:
        """How many of the rows do not fit. Raises NotFound."""
        return _count_rejected(_row_parser(_find_landing(self._board, name)), lines)

    def positions(self, name: str) -> Sequence[StoredPosition]:
        """How far the sources of a data source's rows have come. Raises NotFound."""
        found = self._batches.positions.of_stream(self.stream_of(name))
        return sorted(found.values(), key=lambda each: each.source)

    def examine(self, name: str, body: bytes) -> tuple[str, Sequence[bytes], tuple[int, int]]:
        """The stream of a data source, the rows of a body, and how many of these fit and do not. Raises NotFound, and
        InvalidRequest if no line is JSON."""
        landing = _find_landing(self._board, name)
        lines = [line for raw in body.split(b"\n") if (line := raw.strip())]
        quarantined = _count_rejected(_row_parser(landing), lines)
        if quarantined == len(lines) and (why := _why_no_json(lines)):
            raise _no_json_error(landing, name, lines[0] if lines else b"", why)
        return landing.stream, lines, (len(lines) - quarantined, quarantined)

    def landing_of(self, name: str) -> Landing:
        """How rows of a data source are read. Raises NotFound."""
        return _find_landing(self._board, name)

    def landings_of(self, name: str) -> Sequence[Landing]:
        """How each running version reads rows of a data source, the one whose rules hold first. Raises NotFound."""
        first = _find_landing(self._board, name)
        running = self._board.running.deployments
        others = [landing for each in running for landing in each.manifest.landings_of(first.stream)]
        return (first, *(each for each in dict.fromkeys(others) if each != first))

    def stream_of(self, name: str) -> str:
        """The stream of a data source. Raises NotFound."""
        return _find_landing(self._board, name).stream

    def unlanded(self, deployment: Deployment) -> dict[str, int]:
        """For each data source of a running deployment, how many batches it has accepted and not landed yet; those with
        none are left out. What was accepted before the call counts, and no table that cannot be read is up to date."""
        left = {
            bound.name: self._head(landing.stream) - _landed_number(self._flows.registry, landing)
            for bound in deployment.manifest.bindings
            if (landing := deployment.manifest.landing(bound.name)) is not None
        }
        return {name: count for name, count in left.items() if count > 0}

    def _head(self, stream: str) -> int:
        """The last number of a stream. A batch whose commit was not answered by the state store is in the log before
        anybody here is told of it."""
        return max(self._flows.arrivals.heads.get(stream, 0), self._batches.head(stream))

    def append_lines(self, stream: str, lines: Sequence[bytes], key: str | None) -> int:
        """Store the lines; returns the number of their batch. Raises Overloaded, StorageFull, Unavailable."""
        return self._inbox.append(stream, lines, key)

    def replace_lines(self, stream: str, lines: Iterable[bytes], key: BodyKey, span: SourceSpan | None = None) -> int:
        """Store the lines as what replaces all rows of the stream; returns the number of their last batch. `span` says
        which rows of a source they are. Raises Overloaded, StorageFull, OtherPosition, Unavailable."""
        return self._inbox.replace(stream, lines, key, span)

    def remove_rows(self, stream: str, removal: bytes, key: BodyKey) -> int:
        """Store a removal of rows of the stream; returns the number of its batch. Raises as `replace_lines` does."""
        return self._inbox.remove(stream, removal, key)

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        """Return when the receipt's batch is in every live table that derives from its stream.

        Raises Timeout after `timeout` seconds; the rows stay stored.
        """
        end = time.monotonic() + timeout
        while not self._has_arrived(receipt, live := self._board.live()):
            left = end - time.monotonic()
            if left <= 0 or self._flows.scheduler.stopping:
                raise Timeout("the rows are kept but not queryable yet", hint="see `penstock status` for failing flows")
            self._wait_in_version(receipt, live, left)
        return receipt

    def _wait_in_version(self, receipt: Receipt, live: Deployment | None, timeout: float) -> None:
        """Wait while `live` is the live version: in another one the rows go into other tables."""

        def over() -> bool:
            return self._board.live() is not live or self._has_arrived(receipt, live)

        tables = {flow.table for flow in live.manifest.flows_of_stream(receipt.stream)} if live is not None else ()
        self._flows.scheduler.wait(over, timeout, tables or (ANY_TABLE,))

    def _has_arrived(self, receipt: Receipt, live: Deployment | None) -> bool:
        return live is not None and has_arrived(self._flows.registry, live.manifest, receipt.stream, receipt.batch)


def _find_landing(board: DeploymentBoard, name: str) -> Landing:
    """The landing of a data source in live, or in a ready version if live has no data source of that name. Raises
    NotFound."""
    known: list[str] = []
    for deployment in sorted(board.running.deployments, key=lambda each: each.state != "live"):
        if deployment.state in ("live", "ready"):
            landing = deployment.manifest.landing(name)
            if landing is not None:
                return landing
            known += [binding.name for binding in deployment.manifest.bindings]
    raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known) or "deploy a project first")


def _unread_keys(landing: Landing, keys: Sequence[str]) -> list[str]:
    """Those of the keys of rows that no column reads."""
    paths = [parse_json_path(column.path) for column in landing.columns if column.path is not None]
    read = {path[0] for path in paths if path}
    return [] if () in paths else [key for key in keys if key not in read]


@lru_cache(maxsize=4096)
def _row_parser(landing: Landing) -> RowParser:
    return RowParser((landing,))


def _count_rejected(parser: RowParser, lines: Sequence[bytes]) -> int:
    return sum(1 for line in lines if parser.parse(line).rejects)


def _why_no_json(lines: Sequence[bytes]) -> str | None:
    """What is wrong with the first of some lines, if none of them is JSON; None if one is."""
    reasons: list[str] = []
    for line in lines:
        try:
            decode_json(line)
            return None
        except InvalidRow as error:
            reasons.append(str(error))
    return f"its first line: {reasons[0]}" if reasons else "it has no line"


def _no_json_error(landing: Landing, name: str, first: bytes, why: str) -> InvalidRequest:
    """The error for a body without JSON; it says so if the body seems to be a file of another kind."""
    kind = _kind_of_file(landing, first)
    if kind is None:
        return InvalidRequest(f"the body holds no JSON; {why}", hint="send one JSON object a line (NDJSON)")
    path = f"/v0/datasources?name={name}&mode=append&format={kind.lower()}"
    message = f"the body holds no JSON; it seems to be {kind}, which POST {path} takes"
    return InvalidRequest(message, hint=f"or `penstock datasource append {name} --file FILE`")


_DELIMITERS = (",", ";", "\t", "|")


def _kind_of_file(landing: Landing, first: bytes) -> str | None:
    """What a body seems to be that begins with this line: Parquet, or CSV with names of columns or as many values."""
    if first.startswith(b"PAR1"):
        return "Parquet"
    names = {column.name for column in landing.columns if column.path is not None}
    for delimiter in () if first.startswith((b"{", b"[")) else _DELIMITERS:
        parts = [each.strip().strip('"') for each in first.decode(errors="replace").split(delimiter)]
        is_header = 2 * sum(part in names for part in parts) >= len(parts)
        if len(parts) > 1 and (is_header or len(parts) == len(names)):
            return "CSV"
    return None


def landed_batch(warehouse: Warehouse, board: DeploymentBoard, stream: str) -> int:
    """Number of the last batch of a stream that live has landed, 0 if none. If live has no such stream: the lowest such
    number of the other running deployments. A new or stuck version never blocks posts to live."""
    live = board.live()
    numbers = _landed_numbers(warehouse, [live] if live is not None else [], stream)
    return min(numbers or _landed_numbers(warehouse, board.running.deployments, stream), default=0)


def _landed_numbers(warehouse: Warehouse, deployments: Iterable[Deployment], stream: str) -> list[int]:
    return [
        _landed_number(warehouse.registry, landing)
        for deployment in deployments
        for landing in deployment.manifest.landings_of(stream)
    ]


def _landed_number(registry: TableRegistry, landing: Landing) -> int:
    """Number of the last batch that a landing has brought into its table."""
    at = registry.readable(landing.table).progress.get(landing.id)
    return at.cursor.number if at is not None and isinstance(at.cursor, BatchCursor) else 0
