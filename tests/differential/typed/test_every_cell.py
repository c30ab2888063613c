"""Every cell on both engines: each function over each type, and over each other function whose result fits.

Hours: only with PENSTOCK_SQL_LEDGER, a file that says what is settled and takes what comes of each call.
PENSTOCK_SQL_WALK: `calls` (unless set) or `compositions`. PENSTOCK_SQL_SHARE: `0/4` for the first quarter of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from tests.differential.engines import ClickHouse, Spark
from tests.differential.typed.batches import Answer, Generated, answers
from tests.differential.typed.every_cell import compositions, may_be_tamed, shuffled_calls, tamed
from tests.differential.typed.ledger import Ledger
from tests.differential.typed.signatures import all_signatures
from tests.differential.typed.tables import create_tables

LEDGER = os.environ.get("PENSTOCK_SQL_LEDGER")
WALK = {"calls": shuffled_calls, "compositions": compositions}[os.environ.get("PENSTOCK_SQL_WALK", "calls")]
SHARE, SHARES = map(int, os.environ.get("PENSTOCK_SQL_SHARE", "0/1").split("/"))
BLOCK = 640
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
    left = [query for query in _walked() if (query.items[0], query.rest) not in settled]
    waiting = iter(left)
    different: list[Answer] = []
    while block := list(islice(waiting, BLOCK)):
        found = _asked(block, clickhouse, quick)
        ledger.add(found)
        different += [answer for answer in found if answer.verdict == "differs"]
    shown = "\n\n".join(f"{each.query.sql}\n{each.what}" for each in different[:MOST_SHOWN])
    assert not different, f"{len(different)} of {len(left)} calls differ:\n{shown}"


def _walked() -> list[Generated]:
    """In the same order each time, in which a run that is cut short has something of everything."""
    return list(dict.fromkeys(WALK(all_signatures())))[SHARE::SHARES]


def _asked(block: Sequence[Generated], clickhouse: ClickHouse, spark: Spark) -> list[Answer]:
    found = list(answers(block, clickhouse, spark))
    again = [tamed(answer.query) for answer in found if may_be_tamed(answer)]
    return [*found, *answers(again, clickhouse, spark)]
