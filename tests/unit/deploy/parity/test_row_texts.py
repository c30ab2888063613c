from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal

from penstock.deploy.parity.row_texts import row_text


def test_every_value_has_a_text_of_json() -> None:
    row = (1, "ä", None, math.nan, Decimal("1.50"), date(2026, 1, 2), [{"x": math.inf}], b"\x01", 2**80)
    text = row_text([f"c{at}" for at in range(len(row))], row)
    assert json.loads(text, parse_constant=lambda name: 1 / 0) == {
        "c0": 1,
        "c1": "ä",
        "c2": None,
        "c3": "nan",
        "c4": "1.50",
        "c5": "2026-01-02",
        "c6": [{"x": "inf"}],
        "c7": "b'\\x01'",
        "c8": 2**80,
    }
