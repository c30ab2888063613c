"""A plan as people read it.

In: the JSON of a plan. Out: text. Called by `deploy`, `plan` and `deployment show`. Invariant: every
resource has a line with its strategy, the reason and the price.
"""

from __future__ import annotations

from penstock.cli.client import Json
from penstock.cli.problems import print_problems
from penstock.cli.show import console, number, print_table, size


def print_plan(plan: Json) -> None:
    """Print what changes, what is done about it, and the plan's warnings."""
    for change in plan["changes"]:
        console().print(f"  {change['resource']}: {change['message']}", markup=False)
    rows = [
        (each["name"], each["strategy"], each["reason"], number(each["rows"]), size(each["bytes"]))
        for each in plan["resources"]
    ]
    if rows:
        print_table(("resource", "strategy", "reason", "rows", "bytes"), rows)
    moved = f"rows moved: {number(plan['rows_moved'])}, bytes moved: {size(plan['bytes_moved'])}"
    nothing = "" if plan["changes"] else "nothing changes; "
    console().print(nothing + moved, markup=False)
    print_problems(plan["problems"])
