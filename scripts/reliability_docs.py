"""The last part of docs/reliability.md: the figures of the last full run of the chaos tests.

In: tests/chaos/results.json, which `make chaos` writes. Out: tables in Markdown, and the page with them. Every figure
is in the file; above the mark the page is written by hand.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/reliability.md"
RESULTS = ROOT / "tests/chaos/results.json"
MARK = "<!-- From here on written by scripts/reliability_docs.py. -->\n"
Figures = Mapping[str, object]
Results = Mapping[str, Mapping[str, Figures]]


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), results()), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
    return 0


def results() -> Results:
    """By attack and name of a run, its figures; nothing before the first full run."""
    found: Results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def page(text: str, found: Results) -> str:
    """The page with these figures."""
    above, mark, _ = text.partition(MARK)
    assert mark, "the page says where the figures begin"
    told = "\n".join(section for attack in sorted(found) for section in _attack(attack, found[attack]))
    return f"{above}{MARK}\n{told or 'No full run yet.'}\n"


def _attack(attack: str, runs: Mapping[str, Figures]) -> Iterator[str]:
    dates = sorted({str(each["date"]) for each in runs.values()})
    yield f"### {attack.capitalize()}\n"
    yield f"Last run: {dates[-1] if len(dates) == 1 else f'{dates[0]} to {dates[-1]}'}; {len(runs)} of them.\n"
    if attack == "random kills":
        yield _sums(list(runs.values()))
    else:
        yield from (f"- {name}: {_told(figures)}" for name, figures in sorted(runs.items()))
        yield ""


def _sums(runs: list[Figures]) -> str:
    """Of many runs, the figures together."""
    names = [name for name in runs[0] if name != "date"]
    sums = {name: sum(int(str(each.get(name, 0))) for each in runs) for name in names}
    head = "| " + " | ".join(names) + " |\n|" + "---|" * len(names)
    return f"{head}\n| " + " | ".join(f"{sums[name]:,}" for name in names) + " |\n"


def _told(figures: Figures) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in figures.items() if name != "date")


def _value(value: object) -> str:
    """Counts by name are told as how many there are and how many names."""
    if isinstance(value, dict):
        return f"{sum(value.values())} ({', '.join(f'{name} {count}' for name, count in sorted(value.items()))})"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
