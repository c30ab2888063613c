"""Drawn queries that CI asks each time: their draws, as they were when both engines gave the same answers.

In: kept_queries.jsonl. Out: `Generated` queries. Invariant: they stay the same when the compiler takes more calls,
which changes what is drawn from a seed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.differential.typed.batches import Generated

FILE = Path(__file__).parent / "kept_queries.jsonl"


def kept_queries() -> Iterator[Generated]:
    """In the order of the file."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        if "whole" in found:
            yield Generated(found["seed"], whole=found["whole"], ordered=found["ordered"])
        else:
            yield Generated(found["seed"], (found["item"],), found["key"], found["rest"], named=found["named"])
