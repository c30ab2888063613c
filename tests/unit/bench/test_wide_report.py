"""The page of the widest bench: new figures, and the notes that people wrote."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).parents[3] / "bench"
sys.path.append(str(BENCH))

from wide_report import NOTES, page  # noqa: E402


def test_new_figures_keep_the_notes() -> None:
    first = page(10, 5, {"query": 0.5, "start": 2.0}, "")
    assert "| query | 500.0 ms |" in first
    written = f"{first}\n{NOTES}\nMostly the disk.\n"
    again = page(20, 5, {"query": 0.25}, written)
    assert "| query | 250.0 ms |" in again
    assert "start" not in again
    assert again.endswith(f"\n{NOTES}\nMostly the disk.\n")
    assert page(20, 5, {"query": 0.25}, again) == again


def test_the_page_has_notes() -> None:
    assert f"\n{NOTES}\n" in (BENCH / "results" / "wide.md").read_text(encoding="utf-8")
