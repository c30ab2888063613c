"""docs/reliability.md tells the figures of the last full run, and names the tests there are."""

from __future__ import annotations

from pathlib import Path

from scripts.reliability_docs import MARK, PAGE, page, results

TEXT = PAGE.read_text(encoding="utf-8")
CHAOS = Path(__file__).resolve().parent.parent / "chaos"


def test_the_figures_are_those_of_the_last_run() -> None:
    assert page(TEXT, results()) == TEXT, "`python scripts/reliability_docs.py` writes them anew"


def test_every_attack_is_on_the_page() -> None:
    told = TEXT.partition(MARK)[0]
    assert [path.name for path in sorted(CHAOS.glob("test_*.py")) if f"chaos/{path.name}" not in told] == []


def test_runs_are_added_up() -> None:
    runs = {"0": {"date": "2026-01-02", "kills": 3, "lost": 0}, "1": {"date": "2026-01-03", "kills": 4, "lost": 1}}
    made = page(f"above\n{MARK}old", {"random kills": runs})
    assert "| kills | lost |" in made
    assert "| 7 | 1 |" in made
    assert "2026-01-02 to 2026-01-03" in made
    assert "old" not in made
