"""The rows of the benchmarks' fixed project, as bodies for the Events API.

In: how many rows. Out: NDJSON bodies, by data source. The same numbers give the same bytes; a session is within one
day and one body, so that `sessions_mv` has a row a session however the flows cut their steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta

START = datetime(2026, 1, 1)
HITS = 10
"""Rows of a session: nine hits of pages and a search."""
DAYS = 30
PAGES = 200
BODY = 50_000
"""Rows of a body."""
BROKEN = 1_000
"""One payload in so many says `wide` where the others have a number."""


def bodies(events: int) -> Iterator[tuple[str, bytes]]:
    """(data source, body): so many events, a tenth as many orders, a hundredth as many clicks."""
    for first in range(0, events, BODY):
        yield "analytics_events", _body(event(row, events) for row in range(first, min(first + BODY, events)))
    for first in range(0, events // 10, BODY):
        yield "orders", _body(_order(row) for row in range(first, min(first + BODY, events // 10)))
    yield "clicks", _body(_click(row) for row in range(events // 100))


def event(row: int, events: int) -> dict[str, object]:
    """One action of a session in a page."""
    session, place = divmod(row, HITS)
    a_day = -(-events // HITS // DAYS)
    day, of_day = divmod(session, a_day)
    at = START + timedelta(days=day, seconds=of_day * 80_000 // a_day + place)
    payload = {
        "pathname": f"/section/{session % 7}/page/{(session * 7 + place) % PAGES}",
        "locale": ("en-GB", "de-DE", "es-ES")[session % 3],
        "referrer": f"https://example.com/search?q={session % 1000}",
        "width": "wide" if row % BROKEN == 0 else str(320 + session % 1600),
        "agent": f"Mozilla/5.0 (X11; Linux x86_64) Gecko/{session % 50}",
    }
    return {
        "timestamp": at.strftime("%Y-%m-%d %H:%M:%S"),
        "session_id": f"{session:08x}-1234-4abc-8def-{session * 7919 % 2**48:012x}",
        "action": "search" if place == HITS - 1 else "page_hit",
        "version": str(1 + session % 12),
        "payload": json.dumps(payload),
    }


def _order(row: int) -> dict[str, object]:
    at = START + timedelta(seconds=row * 25)
    return {
        "timestamp": at.strftime("%Y-%m-%d %H:%M:%S"),
        "product": f"product {row % 97}",
        "quantity": 1 + row % 5,
        "amount": round(5 + row % 1000 / 7, 2),
        "weight": row % 40 / 4,
        "coupon": None if row % 3 else f"C{row % 50}",
    }


def _click(row: int) -> dict[str, object]:
    at = START + timedelta(seconds=row * 250)
    return {"timestamp": at.strftime("%Y-%m-%d %H:%M:%S"), "button": f"button {row % 20}"}


def _body(rows: Iterator[dict[str, object]]) -> bytes:
    return "\n".join(map(json.dumps, rows)).encode()
