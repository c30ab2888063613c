"""Every cell on both engines: each function over each type, and over each other function whose result fits.

Hours: only with PENSTOCK_SQL_LEDGER, a file that says what is settled and takes what comes of each call.
PENSTOCK_SQL_WALK: `calls` (unless set), `compositions`, or `drawn` for the queries of seeds, with all clauses.
PENSTOCK_SQL_SHARE: `0/4` for the first quarter of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
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
"""Compositions and drawn queries, of which there is no end."""
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
    left = [query for query in _walked() if asked_as(query) not in settled]
    different: list[Answer] = []
    for found in _each_block(left, lambda block: _asked(block, clickhouse, quick)):
        ledger.add(found)
        different += [answer for answer in found if answer.verdict == "differs"]
    shown = "\n\n".join(f"{each.query.sql}\n{each.what}" for each in different[:MOST_SHOWN])
    assert not different, f"{len(different)} of {len(left)} calls differ:\n{shown}"


def _walked() -> list[Generated]:
    """In the same order each time, in which a run that is cut short has something of everything."""
    match WALK:
        case "calls":
            found = shuffled_calls(all_signatures())
        case "compositions":
            found = list(islice(compositions(all_signatures()), MOST))
        case "drawn":
            found = [each for seed in range(1, MOST) if not reason_to_leave_out((each := drawn(seed, {})).sql)]
        case _:
            raise ValueError(f"no walk {WALK}")
    return list(dict.fromkeys(found))[SHARE::SHARES]


def _each_block(
    queries: Sequence[Generated], ask: Callable[[Sequence[Generated]], list[Answer]]
) -> Iterator[list[Answer]]:
    blocks = (queries[start : start + BLOCK] for start in range(0, len(queries), BLOCK))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        waiting = [threads.submit(ask, block) for block in islice(blocks, AT_ONCE)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [threads.submit(ask, block) for block in islice(blocks, 1)]


def _asked(block: Sequence[Generated], clickhouse: ClickHouse, spark: Spark) -> list[Answer]:
    found = list(answers(block, clickhouse, spark))
    again = [tamed(answer.query) for answer in found if may_be_tamed(answer)]
    return [*found, *answers(again, clickhouse, spark)]
