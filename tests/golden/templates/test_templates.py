"""Templates and the SQL that they become: `pairs.txt`, one block each.

A block is a line `== parameters` (JSON), the template, a line `->` and the SQL, or `! fault`.
"""

from __future__ import annotations

import json
from pathlib import Path

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.template.errors import Fault, TemplateAbort
from penstock.template.rendering import location_in, render_call

PAIRS = Path(__file__).parent / "pairs.txt"


def test_pairs(update_golden: bool) -> None:
    text = PAIRS.read_text(encoding="utf-8")
    found = "".join(_block(block) for block in text.split("\n== ")[1:])
    shown = text.split("\n== ")[0] + found + "\n"
    if update_golden:
        PAIRS.write_text(shown, encoding="utf-8")
    assert shown == text


def _block(block: str) -> str:
    """The block with what its template becomes now."""
    parameters, _, rest = block.partition("\n")
    template = rest.partition("\n->")[0]
    return f"\n== {parameters}\n{template}\n-> {_became(template, json.loads(parameters))}"


def _became(template: str, parameters: dict[str, str]) -> str:
    text = Text(template, Location(""))
    try:
        return render_call(text, parameters).text.strip()
    except Fault as fault:
        return f"! {fault.problem(location_in(text, fault.offset))}"
    except TemplateAbort as stop:
        return f"! {stop.status} {stop.message} {json.dumps(stop.body)}"
