"""What `wide` measured, as a page.

In: the number of tables, and the values by name. Out: Markdown. Invariant: nothing is computed here but units.
"""

from __future__ import annotations

from collections.abc import Mapping

MILLISECONDS = ("query", "query of staging's kind", "status", "list of deployments", "post", "post that waits")


def report(tables: int, seconds: float, values: Mapping[str, float]) -> str:
    """The page."""
    lines = [
        f"# {tables:,} active tables",
        "",
        f"Written by `make bench-wide`: 2 cores, half of the tables landed and half fed by a view; {seconds:.0f} s of load, one",
        "row a post, to every stream in turn.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {_shown(name, value)} |" for name, value in values.items()),
        "",
    ]
    return "\n".join(lines)


def _shown(name: str, value: float) -> str:
    if name in MILLISECONDS:
        return f"{value * 1000:,.1f} ms"
    if "a second" in name:
        return f"{value:,.1f}"
    if "share" in name:
        return f"{value:.1%} of a core"
    if name.endswith("MiB"):
        return f"{value:,.0f}"
    if name.endswith("of Python"):
        return f"{value:,.0f}"
    return f"{value:,.1f} s"
