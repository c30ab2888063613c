"""What `wide` measured, as a page.

In: the number of tables, the values by name, and the page as it is. Out: Markdown. Invariant: nothing is computed here
but units, and what people wrote after the figures stays.
"""

from __future__ import annotations

from collections.abc import Mapping

MILLISECONDS = ("query", "looking up live", "status", "list of deployments", "post", "post that waits")
NOTES = "## What the figures say"


def page(tables: int, seconds: float, values: Mapping[str, float], before: str) -> str:
    """The page with these figures and the notes of the page as it was."""
    return report(tables, seconds, values) + "".join(before.partition(f"\n{NOTES}")[1:])


def report(tables: int, seconds: float, values: Mapping[str, float]) -> str:
    """The figures."""
    lines = [
        f"# {tables:,} active data sources",
        "",
        f"Written by `python bench/wide.py --tables {tables} --seconds {seconds:.0f} --write`: half of them are landed and half",
        "are fed by a view, each has a quarantine; the load is one row a post, to every stream in turn.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_shown(name, value)} |" for name, value in values.items()),
        "",
    ]
    return "\n".join(lines)


def _shown(name: str, value: float) -> str:
    if name in MILLISECONDS or name.endswith("a commit"):
        return f"{value * 1000:,.1f} ms"
    if "a second" in name:
        return f"{value:,.1f}"
    if "share" in name:
        return f"{value:.1%} of a core"
    if name.endswith("MiB"):
        return f"{value:,.0f}"
    if name.endswith("of Python") or name == "physical tables":
        return f"{value:,.0f}"
    return f"{value:,.1f} s"
