"""Every cell on both engines: each function over each type, and over each other function whose result fits.

Hours: only with PENSTOCK_SQL_LEDGER, a file that says what is settled and takes what comes of each call.
PENSTOCK_SQL_WALK: `calls` (unless set), `compositions`, or `drawn` for the queries of seeds, with all clauses.
PENSTOCK_SQL_SHARE: `0/4` for the first quarter of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, islice
from pathlib import Path

import pytest
from tests.differential.engines import ClickHouse, Spark
from tests.differential.typed.batches import Answer, Generated, answers
from tests.differential.typed.drawn_queries import drawn
from tests.differential.typed.every_cell import compositions, may_be_tamed, shuffled_calls, tamed
from tests.differential.typed.excused import reason_to_leave_out
from tests.differential.typed.ledger import Ledger, asked_as
from tests.differential.typed.signatures import all_signatures
from tests.differential.typed.tables import create_tables

LEDGER = os.environ.get("PENSTOCK_SQL_LEDGER")
WALK = os.environ.get("PENSTOCK_SQL_WALK", "calls")
SHARE, SHARES = map(int, os.environ.get("PENSTOCK_SQL_SHARE", "0/1").split("/"))
BLOCK = 640
AT_ONCE = 2
"""So many blocks are asked side by side: while one waits for Spark, another is compiled."""
MOST = 60_000
"""So many queries of a walk at most: there is no end of drawn ones."""
MOST_SHOWN = 20

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(24 * 3600),
    pytest.mark.skipif(not LEDGER, reason="PENSTOCK_SQL_LEDGER is not set"),
]


def test_every_cell(clickhouse: ClickHouse, quick: Spark) -> None:
    create_tables(clickhouse, quick)
    ledger = Ledger(Path(str(LEDGER)))
    settled = ledger.settled()
    left = (query for query in _walked() if asked_as(query) not in settled)
    many, different = 0, list[Answer]()
    for found in _each_block(left, lambda block: _asked(block, clickhouse, quick)):
        ledger.add(found)
        many += len(found)
        different += [answer for answer in found if answer.verdict == "differs"]
    shown = "\n\n".join(f"{each.query.sql}\n{each.what}" for each in different[:MOST_SHOWN])
    assert not different, f"{len(different)} of {many} calls differ:\n{shown}"


def _walked() -> Iterator[Generated]:
    """In the same order each time, in which a run that is cut short has something of everything."""
    seen = set[Generated]()
    for query in islice(_every_query(), SHARE, MOST, SHARES):
        if query not in seen:
            seen.add(query)
            yield query


def _every_query() -> Iterator[Generated]:
    match WALK:
        case "calls":
            yield from shuffled_calls(all_signatures())
        case "compositions":
            yield from compositions(all_signatures())
        case "drawn":
            queries = (drawn(seed, {}) for seed in count(1))
            yield from (query for query in queries if reason_to_leave_out(query.sql) is None)
        case _:
            raise ValueError(f"no walk {WALK}")


def _each_block(
    queries: Iterator[Generated], ask: Callable[[Sequence[Generated]], list[Answer]]
) -> Iterator[list[Answer]]:
    blocks = iter(lambda: list(islice(queries, BLOCK)), [])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        waiting = [threads.submit(ask, block) for block in islice(blocks, AT_ONCE)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [threads.submit(ask, block) for block in islice(blocks, 1)]


def _asked(block: Sequence[Generated], clickhouse: ClickHouse, spark: Spark) -> list[Answer]:
    found = list(answers(block, clickhouse, spark))
    again = [tamed(answer.query) for answer in found if may_be_tamed(answer)]
    return [*found, *answers(again, clickhouse, spark)]
