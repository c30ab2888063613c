"""The project of the ingestion benchmark, and its rows of 200 bytes.

In: a number of rows, and a seed. Out: datafiles; a body for the Events API. Invariants: a row has 200 bytes with its
line break, whatever its number; every row of a body fits, so that `successful_rows` is the number of rows.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from soak_project import DAILY, HOURLY

ROW_BYTES = 200
SETTINGS = """
[spark]
driver_memory = "2g"
"""
LANDING = """SCHEMA >
    `timestamp` DateTime `json:$.timestamp`,
    `id` UInt64 `json:$.id`,
    `kind` LowCardinality(String) `json:$.kind`,
    `amount` Float64 `json:$.amount`,
    `page` String `json:$.page`,
    `agent` Nullable(String) `json:$.agent`

ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(timestamp)
ENGINE_SORTING_KEY id
"""
HOURS = "SELECT toStartOfHour(timestamp) AS hour, kind, countState() AS rows, sumState(amount) AS amount FROM events"
DAYS = "SELECT toDate(hour) AS day, kind, countMergeState(rows) AS rows, sumMergeState(amount) AS amount FROM hours"
ROWS = "SELECT count() AS n FROM events"
FAR_ROWS = "SELECT countMerge(rows) AS n FROM days"
"""Rows that have come two views away."""


def project() -> Mapping[str, str]:
    """A landing table, hours from its rows, days from the hours."""
    return {
        "penstock.toml": SETTINGS,
        "datasources/events.datasource": LANDING,
        "datasources/hours.datasource": HOURLY,
        "datasources/days.datasource": DAILY,
        "pipes/hours_mv.pipe": _view("hours", f"{HOURS} GROUP BY hour, kind"),
        "pipes/days_mv.pipe": _view("days", f"{DAYS} GROUP BY day, kind"),
    }


def body(rows: int, seed: int) -> bytes:
    """Rows of one day."""
    chosen = random.Random(seed)
    return b"".join(_row(chosen.randrange(10**9)) for _ in range(rows))


def _row(number: int) -> bytes:
    hour, minute, second = number // 3600 % 24, number // 60 % 60, number % 60
    text = (
        f'{{"timestamp":"2026-01-01 {hour:02d}:{minute:02d}:{second:02d}","id":{number},"kind":"kind {number % 20}",'
        f'"amount":{number % 10_000 / 7:.4f},"page":"/section/{number % 7}/page/{number % 200}","agent":"'
    )
    filling = ROW_BYTES - len(text) - len('"}\n')
    return (
        text + "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101 Firefox/128.0"[:filling].ljust(filling, "x") + '"}\n'
    ).encode()


def _view(target: str, query: str) -> str:
    return f"NODE rows\nSQL >\n    {query}\nTYPE materialized\nDATASOURCE {target}\n"
