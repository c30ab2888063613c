"""The ingestion of Penstock without Spark: the real HTTP interface, inbox, state store and positions.

In: posted rows. Out: what a landing table would have: of each key the row of the latest version, unless it is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.deploy.ingest.event_ingestion import MissingColumns
from penstock.deploy.ingest.row_replacement import change_key
from penstock.errors import Unavailable
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.model.cursor import PostTerms, SourceSpan
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.state.batches import BatchLog
from penstock.state.database import open_database
from penstock.state.positions.stream_positions import StoredPosition
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline, Receipt
from unit.serve.web_server import web_server

OWN = ("cdc_version", "cdc_is_deleted", "cdc_commit_lsn", "cdc_ordinal")


class InboxPipeline(MemoryPipeline):
    """A pipeline whose rows go into a real inbox, and whose data sources have the columns that a test gives."""

    def __init__(self, folder: Path):
        self.database = open_database(f"sqlite:///{folder / 'state.db'}")
        super().__init__(ApiTokens(self.database))
        self.log = BatchLog(self.database)
        self.folder = folder / "inbox"
        self.inbox = Inbox(self.folder, self.log, lambda batch: None)
        self.columns: dict[str, frozenset[str]] = {}
        self.is_away = False
        self.posts = 0

    def append_on_terms(self, name: str, body: bytes, terms: PostTerms) -> Receipt:
        self.posts += 1
        if self.is_away:
            raise Unavailable("the server is stopping")
        self.count_columns(name)
        missing = [each for each in terms.columns if each not in self.columns[name]]
        if missing:
            raise MissingColumns(name, missing)
        lines = body.splitlines()
        return Receipt(name, self.inbox.append(name, lines, terms.key, terms.span), len(lines), 0)

    def positions(self, name: str) -> list[StoredPosition]:
        self.count_columns(name)
        return list(self.log.positions.of_stream(name).values())

    def truncate(self, name: str, key: str, span: SourceSpan | None = None) -> Receipt:
        return Receipt(name, self.inbox.replace(name, (), change_key(key, "truncate"), span), 0, 0)

    def count_columns(self, name: str) -> int:
        """Raises NotFound for a data source that was not deployed."""
        self.rows = {each: [] for each in self.columns}
        self.count(name, "")
        return len(self.columns[name])

    def landed(self, name: str) -> list[dict[str, Any]]:
        """All rows in the order in which they arrived, after the last TRUNCATE."""
        found: list[dict[str, Any]] = []
        at, head = 0, self.log.head(name)
        while at < head:
            batches = self.log.read_after(name, at, 10**9, 10**12)
            for batch in batches:
                if batch.replaces is not None:
                    found = []
                path = self.folder / batch.segment
                found += [json.loads(line) for line in read_segment(path, batch.bytes, batch.digest)]
            at = batches[-1].number
        return found

    def final(self, name: str, key: Sequence[str]) -> dict[tuple[Any, ...], Mapping[str, Any]]:
        """What FINAL shows."""
        latest: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.landed(name):
            of = tuple(row[each] for each in key)
            if of not in latest or row["cdc_version"] >= latest[of]["cdc_version"]:
                latest[of] = row
        return {
            of: {column: value for column, value in row.items() if column not in OWN}
            for of, row in latest.items()
            if not row["cdc_is_deleted"]
        }

    def close(self) -> None:
        self.inbox.close()
        self.database.close()


@contextmanager
def landing_server(folder: Path) -> Iterator[tuple[InboxPipeline, str, str]]:
    """A server; gives the pipeline, its address and a token."""
    pipeline = InboxPipeline(folder)
    host = PipelineHost()
    host.opened(pipeline)  # type: ignore[arg-type]
    token = pipeline.tokens.create("admin", ("admin",))
    with web_server(host) as (address, port):
        yield pipeline, f"http://{address}:{port}", token
    pipeline.close()
