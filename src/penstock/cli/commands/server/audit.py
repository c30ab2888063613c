"""`penstock audit`: who changed what, from where.

In: how many entries. Out: the latest entries of the audit log. Invariant: nothing is computed here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from penstock.cli.output import print_json, print_table
from penstock.cli.session import Session, command

COLUMNS = ("action", "target", "outcome", "token", "address", "request_id")


@command
def audit(
    session: Session,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many entries.")] = 30,
) -> None:
    """Show who deployed, promoted, rolled back, changed tokens or made backups."""
    found = session.client().get("/v0/audit", {"limit": str(limit)})
    if session.as_json:
        print_json(found)
        return
    rows = [(_to_seconds(entry["began_at"]), *(str(entry[name]) for name in COLUMNS)) for entry in found["entries"]]
    print_table(("when", "action", "target", "outcome", "token", "address", "request"), rows)


def _to_seconds(began_at: str) -> str:
    """The time without the microseconds, so that an entry fits into a line."""
    return datetime.fromisoformat(began_at).isoformat(timespec="seconds")
