"""A plan printed for people.

In: the JSON document of a plan. Out: its changes, then one line a resource with strategy, reason and price, then the
strategies that it did not get and why, then its warnings. Invariant: a resource whose rollback would lose rows has a
line that says so.
"""

from __future__ import annotations

from penstock.cli.client import Json
from penstock.cli.errors import print_problems
from penstock.cli.output import console, format_bytes, format_count, print_table


def print_plan(plan: Json) -> None:
    """Print the changes, the strategy of each resource, and the plan's warnings."""
    for change in plan["changes"]:
        console().print(f"  {change['resource']}: {change['message']}", markup=False)
    rows = [
        (each["name"], each["strategy"], each["reason"], format_count(each["rows"]), format_bytes(each["bytes"]))
        for each in plan["resources"]
    ]
    if rows:
        print_table(("resource", "strategy", "reason", "rows", "bytes"), rows)
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
