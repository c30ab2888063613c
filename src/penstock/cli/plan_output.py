"""A plan as people read it.

In: the JSON of a plan. Out: text. Called by `deploy`, `plan` and `deployment show`. Invariant: every
resource has a line with its strategy, the reason and the price, and one more where a rollback would not
keep all rows.
"""

from __future__ import annotations

from penstock.cli.client import Json
from penstock.cli.errors import print_problems
from penstock.cli.output import console, number, print_table, size


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
    for each in plan["resources"]:
        kept = each.get("rollback")
        if kept is not None and not kept["lossless"]:
            console().print(f"  {each['name']}: a rollback is not lossless: {kept['reason']}", markup=False)
    moved = f"rows moved: {number(plan['rows_moved'])}, bytes moved: {size(plan['bytes_moved'])}"
    nothing = "" if plan["changes"] else "nothing changes; "
    console().print(nothing + moved, markup=False)
    print_problems(plan["problems"])
