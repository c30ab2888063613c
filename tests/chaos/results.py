"""Figures of the chaos tests: a JSON line each, and in a full run kept for docs/reliability.md.

In: what a test measured. Out: a line on standard output, and results.json beside this file where
PENSTOCK_CHAOS is `full` (`make chaos`). Called by the tests. Invariant: an entry says when it was made, and a
later run of the same attack replaces it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path

FULL = os.environ.get("PENSTOCK_CHAOS") == "full"
RESULTS = Path(__file__).parent / "results.json"


def record(attack: str, name: str, figures: Mapping[str, object]) -> None:
    """Tell the figures of one run of an attack."""
    print(json.dumps({"attack": attack, "name": name, **figures}), flush=True)
    if FULL:
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        known.setdefault(attack, {})[name] = {"date": date.today().isoformat(), **figures}
        RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
