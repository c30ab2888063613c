"""The rows that every table must hold, computed in plain Python from the rows that were acknowledged.

In: the acknowledged bodies, and the kind of version. Out: the rows of every table. It shares no code with the
pipeline that it judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["first", "copied", "bridged", "keyed"]
ROWS = 6
Row = tuple[object, ...]


@dataclass(frozen=True)
class Body:
    """Six rows. `odd`: one of them fits a text column and no number. `placed`: whether a version in
    which rows have a place saw it land; None where it may or may not have."""

    number: int
    odd: bool = False
    placed: bool | None = False

    @property
    def rows(self) -> list[dict[str, object]]:
        return [self._row(self.number * ROWS + at, at) for at in range(ROWS)]

    def _row(self, id: int, at: int) -> dict[str, object]:
        size = "many" if self.odd and at == 4 else str(id % 100)
        return {"id": -1 - id if at == 5 else id, "user": f"u{id % 4}", "size": size, "place": f"p{id % 3}"}


def fits(row: dict[str, object], kind: Kind) -> bool:
    """Whether a version takes the row: a negative id never, a text for a number only in text."""
    return int(str(row["id"])) >= 0 and (kind in ("first", "keyed") or row["size"] != "many")


def events(bodies: Iterable[Body], kind: Kind) -> list[Row]:
    """Sorted: id, user, size."""
    taken = [row for body in bodies for row in body.rows if fits(row, kind)]
    return sorted((row["id"], row["user"], _size(row, kind)) for row in taken)


def _size(row: dict[str, object], kind: Kind) -> object:
    return row["size"] if kind in ("first", "keyed") else int(str(row["size"]))


def per_user(bodies: Iterable[Body], kind: Kind) -> list[Row]:
    """Sorted: user, count, sum of ids, and in the bridged version the greatest id."""
    ids: dict[str, list[int]] = defaultdict(list)
    for id, user, _ in events(bodies, kind):
        ids[str(user)].append(int(str(id)))

    def last(found: list[int]) -> Row:
        return (max(found),) if kind == "bridged" else ()

    return [(user, len(found), sum(found), *last(found)) for user, found in sorted(ids.items())]


def total(bodies: Iterable[Body], kind: Kind) -> list[Row]:
    return [(len(events(bodies, kind)),)]


def rejected(bodies: Sequence[Body], kind: Kind) -> list[str]:
    """What the quarantine of a version holds: the ids of its rows."""
    return sorted(str(row["id"]) for body in bodies for row in body.rows if not fits(row, kind))
