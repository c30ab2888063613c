"""Sends rows again that were kept because their store lacked a column.

In: where they are kept, and the store. Out: whole rows in the store. Invariants: a row has a version between its change
and the next one, so that it takes the place of its own part and of nothing later; it is forgotten only when it is
stored, and stored once, since the store knows the positions of what is replayed, too; none comes back after a TRUNCATE.
"""

from __future__ import annotations

from penstock.crash_points import crash_point
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.delivery.destination import Destination


def replay_rows(aside: KeptRows, destination: Destination, store: str) -> int:
    """Send all rows of a table that are kept. Returns how many there were. Raises what delivering raises: then the
    rest stay where they are."""
    count = 0
    while sent := _replay_part(aside, destination, store):
        count += sent
    return count


def _replay_part(aside: KeptRows, destination: Destination, store: str) -> int:
    """Send the first of the rows, while no TRUNCATE of the table is delivered. Returns how many; 0: none were kept."""
    with aside.alone(destination.name, store):
        part = aside.next_part(destination.name, store)
        if part is None:
            return 0
        following = part.package.following(destination.position(part.package.source, store))
        if following.rows:
            destination.deliver(following)
            crash_point("cdc.replayed")
        aside.forget(destination.name, part)
        return len(part.positions)
