"""Figures of the chaos tests: a line of JSON for each test, and in a full run an entry in results.json.

In: what a test measured. Out: a line on standard output, and an entry in results.json beside this file if
PENSTOCK_CHAOS is `full` (`make chaos`), from which scripts/reliability_docs.py makes a part of docs/reliability.md.
An entry says when it was made; a later run of the same attack replaces it.
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
