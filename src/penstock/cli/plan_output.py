"""A plan printed for people.

In: the JSON document of a plan. Out: its changes, then one line a resource with strategy, reason and price, then the
strategies that it did not get and why, then its warnings. Invariants: a resource whose rollback would lose rows has a
line that says so; only resources for which nothing is done share a line.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.errors import print_problems
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_bytes, format_count, print_table


def print_plan(plan: Json) -> None:
    """Print the changes, the strategy of each resource, and the plan's warnings."""
    for change in plan["changes"]:
        console().print(f"  {change['resource']}: {change['message']}", markup=False)
    changed = {change["resource"] for change in plan["changes"]}
    idle = [each["name"] for each in plan["resources"] if each["strategy"] == "none" and each["name"] not in changed]
    rows = [
        (each["name"], each["strategy"], each["reason"], format_count(each["rows"]), format_bytes(each["bytes"]))
        for each in plan["resources"]
        if each["name"] not in idle
    ]
    if rows:
        print_table(("resource", "strategy", "reason", "rows", "bytes"), rows)
    if idle:
        console().print(f"  unchanged: {_names_text(idle)}", markup=False)
    for each in plan["resources"]:
        for other in each.get("rejected", ()):
            rows_read = f"{other['strategy']} ({format_count(other['rows'])} rows)"
            console().print(f"  {each['name']}: not {rows_read}: {other['reason']}", markup=False)
        kept = each.get("rollback")
        if kept is not None and not kept["lossless"]:
            console().print(f"  {each['name']}: a rollback is not lossless: {kept['reason']}", markup=False)
    moved = f"rows moved: {format_count(plan['rows_moved'])}, bytes moved: {format_bytes(plan['bytes_moved'])}"
    nothing = "" if plan["changes"] else "nothing changes; "
    console().print(nothing + moved, markup=False)
    print_problems(plan["problems"])


MOST_NAMES = 5


def _names_text(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    shown = ", ".join(names[:MOST_NAMES])
    more = len(names) - MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown
