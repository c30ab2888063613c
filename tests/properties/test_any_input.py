"""Made-up SQL, templates, datafiles and texts: each is answered, or refused as an error that a user can see.

PENSTOCK_FUZZ_INPUTS: how many inputs are tried (400 unless set; 20,000 by `make fuzz`). PENSTOCK_FUZZ_SEED: other ones.
With PENSTOCK_CHAOS=full the figures become a part of docs/reliability.md (scripts/reliability_docs.py writes it).
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable

from chaos.results import record
from penstock.errors import Location, PenstockError
from penstock.model.datasource import Text
from penstock.parse.project_loader import load_files
from penstock.redaction import redact_start
from penstock.serve.calls.events import to_ndjson
from penstock.sql.compile import compile_pipe, compile_sql
from penstock.template.render_frame import RenderInput

INPUTS = int(os.environ.get("PENSTOCK_FUZZ_INPUTS", "400"))
SEED = int(os.environ.get("PENSTOCK_FUZZ_SEED", "14"))
CPU_SECONDS = 20.0
"""Far more than any input needs: the slowest takes about a second."""
_WORDS = r"""
SELECT FROM t x s WITH AS ( ) [ ] { } , . * + - / % ' " ` \ /* */ -- # ; :: -> ? : = < > ! | 1 0 9 1e999 -1e-999 0x
9999999999999999999999 1_000 ٣ NULL nan inf GROUP BY ORDER LIMIT WHERE JOIN USING ON UNION ALL IN NOT CASE WHEN THEN END
INTERVAL DAY Array( Tuple( Map( Nullable( Int32 Decimal(76,38) DateTime64(9) String toInt32( sum( countIf( concat(
arrayMap( COLUMNS(' (a*)* FINAL SAMPLE ARRAY {{ }} {% %} if for end set defined( raw $a$ $ SCHEMA ENGINE DEFAULT json:$
NODE SQL TYPE endpoint materialized TOKEN READ é 😀 FORWARD_QUERY RENAMED_FROM TTL password= bearer ://a:b@ p.
"""
PIECES = (*_WORDS.split(), " ", "    ", "\n", "\r\n", "\t", "\0", "\x7f", "\ufeff", "\u2028", "\\'")
PROJECT_FILES = {
    "t.datasource": "SCHEMA >\n    x Int32 `json:$.x`,\n    s String `json:$.s`,\n    a Array(Int8) `json:$.a[:]`\n",
    "p.pipe": "NODE n\nSQL >\n    %SELECT {{ String(s, '') }} AS s, {{ Int32(i, 1) }} AS i FROM t\nTYPE endpoint\n",
}
PROJECT = load_files(PROJECT_FILES).project


def made_text(dice: random.Random) -> str:
    """Pieces in any order; now and then one is repeated often, or the whole is nested."""
    pieces = [dice.choice(PIECES) + dice.choice(("", " ")) for _ in range(dice.randrange(1, 40))]
    if dice.random() < 0.1:
        pieces.insert(dice.randrange(len(pieces)), dice.choice(PIECES) * dice.choice((50, 300, 5_000)))
    return "".join(pieces)


def compile_made(text: str) -> None:
    compile_sql(PROJECT, Text(f"SELECT {text} FROM t", Location("query")), "clickhouse")


def compile_made_spark(text: str) -> None:
    compile_sql(PROJECT, Text(f"SELECT {text} FROM t", Location("query")), "spark")


def compile_made_template(text: str) -> None:
    compile_sql(PROJECT, Text(f"%SELECT {text} FROM t", Location("query")), "clickhouse")


def render_parameter(text: str) -> None:
    pipe = PROJECT.pipe("p")
    assert pipe is not None
    compile_pipe(PROJECT, pipe, RenderInput("call", {"s": text, "i": text}, {}))


def load_made_files(text: str) -> None:
    load_files({"a.datasource": f"SCHEMA >\n    {text}", "a.pipe": f"NODE n\nSQL >\n    {text}", "penstock.toml": text})


def read_rows(text: str) -> None:
    to_ndjson(text.encode("utf-8", "surrogatepass") + b"\xff"[: len(text) % 2], "json")


def redact_text(text: str) -> None:
    assert len(redact_start(text, 1_000)) <= 1_001


WAYS: tuple[Callable[[str], None], ...] = (
    compile_made,
    compile_made_spark,
    compile_made_template,
    render_parameter,
    load_made_files,
    read_rows,
    redact_text,
)


def test_any_input_is_answered_or_refused() -> None:
    dice = random.Random(SEED)
    outcomes: Counter[str] = Counter()
    slowest = (0.0, "", "")
    for at in range(INPUTS):
        way, text = WAYS[at % len(WAYS)], made_text(dice)
        began = time.thread_time()
        try:
            way(text)
            outcomes["answered"] += 1
        except PenstockError as error:
            outcomes[error.code] += 1
        except Exception as fault:
            raise AssertionError(f"{way.__name__} of {text[:2_000]!r}") from fault
        slowest = max(slowest, (time.thread_time() - began, way.__name__, text[:200]))
        assert slowest[0] < CPU_SECONDS, slowest
    figures = {"inputs": INPUTS, "outcomes": dict(outcomes), "longest seconds": round(slowest[0], 2)}
    record("made-up inputs", f"seed {SEED}", figures)
