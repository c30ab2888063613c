"""The call log: each call of an endpoint and of `/v0/sql`, how long it took and what became of it.

In: `CallRecord` values, of which a call only hands over one. Out: the latest of them. Invariants: a call never waits
for the store, and fails for nothing that happens here; memory and store hold a bounded number of entries, of bounded
size; secrets are not stored (`call_parameters`). A crash loses the entries of the last second.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import orjson
import sqlalchemy as sa

from penstock.errors import PenstockError
from penstock.redaction import redact_start
from penstock.state.database import Database
from penstock.state.logs.call_parameters import ParameterValue, cut_parameters, keep_parameters
from penstock.state.logs.stored_text import storable_text
from penstock.state.schema import calls

MOST_WAITING = 10_000
"""Entries that wait in memory to be written; the oldest are given up after that."""
MOST_WAITING_CHARACTERS = 32_000_000
"""The most characters of the entries that wait."""
LOT = 500
"""Entries that are written in one transaction, so that no other write of the store waits long."""
LONGEST_TEXT = 1_000
MOST_SEARCHED = 5_000
"""The latest calls of an endpoint among which distinct ones are looked for."""
log = logging.getLogger("penstock.state")


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call."""

    started_at: datetime
    pipe: str
    """The endpoint; `query_api` for SQL."""
    deployment: str
    """The version that it asked for, such as `live`."""
    duration: float
    """Seconds until the answer was there."""
    read_rows: int
    read_bytes: int
    result_rows: int
    status: int
    """The status code of HTTP."""
    error_code: str | None
    error: str | None
    request_id: str
    token: str
    """The name of the token."""
    method: str
    user_agent: str
    parameters: Mapping[str, ParameterValue]


class CallLog:
    """The call log. Thread-safe."""

    def __init__(self, database: Database, most: int):
        """Keeps the latest `most` entries."""
        self._database, self._most = database, most
        self._waiting: deque[CallRecord] = deque()
        self._characters = self._given_up = 0
        self._guard = threading.Lock()
        self._flushing = threading.Lock()

    def add(self, record: CallRecord) -> None:
        """Let an entry wait to be written."""
        record = replace(record, parameters=cut_parameters(record.parameters))
        with self._guard:
            self._waiting.append(record)
            self._characters += _size(record)
            while len(self._waiting) > MOST_WAITING or self._characters > MOST_WAITING_CHARACTERS:
                self._characters -= _size(self._waiting.popleft())
                self._given_up += 1

    def flush(self) -> None:
        """Write the entries that wait, and remove what is too much. If the store does not take them they go on
        waiting."""
        with self._flushing:
            try:
                while lot := self._first_waiting():
                    newest = self._write(lot)
                    with self._guard:
                        # Those that were given up meanwhile are written all the same: they were the oldest of the lot.
                        for each in lot:
                            if self._waiting and self._waiting[0] is each:
                                self._characters -= _size(self._waiting.popleft())
                    self._trim_rows(newest)
            except PenstockError as error:
                log.warning("%d entries of the call log wait: %s", len(self._waiting), error.message)
                return
            with self._guard:
                lost, self._given_up = self._given_up, 0
            if lost:
                log.warning("%d entries of the call log were given up while the store did not take them", lost)

    def recent(self, columns: Sequence[str], limit: int) -> list[tuple[object, ...]]:
        """The latest calls, newest first, as values of the columns."""
        self.flush()
        query = sa.select(*(calls.c[name] for name in columns)).order_by(calls.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [tuple(row) for row in connection.execute(query)]

    def recent_parameters(self, pipe: str, most: int) -> list[Mapping[str, str | list[str]]]:
        """The parameters of the latest calls of an endpoint that were answered, each once, newest first: only of calls
        whose parameters are kept whole."""
        self.flush()
        answered = sa.and_(calls.c.pipe == pipe, calls.c.status == 200, calls.c.is_whole)
        query = sa.select(calls.c.parameters).where(answered).order_by(calls.c.id.desc()).limit(MOST_SEARCHED)
        with self._database.read() as connection:
            found = [row.parameters for row in connection.execute(query)]
        distinct: dict[bytes, Mapping[str, str | list[str]]] = {}
        for each in found:
            distinct.setdefault(orjson.dumps(each, option=orjson.OPT_SORT_KEYS), each)
        return list(distinct.values())[:most]

    def trim(self, before: datetime) -> int:
        """Remove the entries older than `before`. Returns how many."""
        old = calls.c.started_at < before
        with self._database.read() as connection:
            if connection.execute(sa.select(calls.c.id).where(old).limit(1)).one_or_none() is None:
                return 0
        with self._database.write() as connection:
            return int(connection.execute(sa.delete(calls).where(old)).rowcount)

    def _first_waiting(self) -> list[CallRecord]:
        with self._guard:
            return [self._waiting[place] for place in range(min(LOT, len(self._waiting)))]

    def _write(self, lot: list[CallRecord]) -> int:
        """Store entries; returns the number of the newest one."""
        rows = [_row(each) for each in lot]
        with self._database.write() as connection:
            connection.execute(sa.insert(calls), rows)
            return int(connection.execute(sa.select(sa.func.max(calls.c.id))).scalar_one())

    def _trim_rows(self, newest: int) -> None:
        """Remove the oldest entries if there are too many; some at a time, not one for each new one."""
        with self._database.read() as connection:
            oldest = connection.execute(sa.select(sa.func.min(calls.c.id))).scalar_one()
        if oldest is not None and newest - int(oldest) >= self._most + max(LOT, self._most // 20):
            with self._database.write() as connection:
                connection.execute(sa.delete(calls).where(calls.c.id <= newest - self._most))


def _size(record: CallRecord) -> int:
    texts = (text for value in record.parameters.values() for text in ((value,) if isinstance(value, str) else value))
    return 200 + sum(map(len, texts)) + len(record.error or "") + sum(map(len, record.parameters))


def _row(record: CallRecord) -> dict[str, object]:
    kept = keep_parameters(record.parameters)
    return {
        "started_at": record.started_at,
        "pipe": storable_text(record.pipe, LONGEST_TEXT),
        "deployment": storable_text(record.deployment, LONGEST_TEXT),
        "duration": record.duration,
        "read_rows": record.read_rows,
        "read_bytes": record.read_bytes,
        "result_rows": record.result_rows,
        "status": record.status,
        "error_code": record.error_code,
        "error": _shown(record.error) if record.error is not None else None,
        "request_id": storable_text(record.request_id, LONGEST_TEXT),
        "token": record.token,
        "method": record.method,
        "user_agent": _shown(record.user_agent),
        "parameters": dict(kept.values),
        "is_whole": kept.is_whole,
    }


def _shown(text: str) -> str:
    return storable_text(redact_start(text, LONGEST_TEXT), LONGEST_TEXT + 1)
