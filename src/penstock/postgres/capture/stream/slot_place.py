"""How far a capture has let its slot go, in the source's Postgres.

In: a connection to the source, and a capture. Out: what may be confirmed, and whether somebody else has moved the slot.
Invariant: an LSN is written down before the slot is confirmed up to it, so that a slot which is further was moved, or
made anew, by somebody else: the changes that it passes over are in no store.
"""

from __future__ import annotations

import time

from penstock.errors import Conflict
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries

_TABLE = f"{OWN_SCHEMA}.slot_places"
DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {_TABLE} (
  capture text PRIMARY KEY REFERENCES {OWN_SCHEMA}.captures ON DELETE CASCADE, lsn pg_lsn NOT NULL);
"""
_CONFIRMED = f"""SELECT s.confirmed_flush_lsn::text FROM {OWN_SCHEMA}.captures c
  JOIN pg_catalog.pg_replication_slots s ON s.slot_name = c.slot AND s.database = pg_catalog.current_database()
  WHERE c.name = %s AND s.confirmed_flush_lsn IS NOT NULL"""


class MovedSlot(Conflict):
    """Somebody else has moved the slot of a capture: the changes in between are in no store."""

    code = "moved-slot"

    def __init__(self, capture: str, noted: str, found: str):
        super().__init__(
            f"the slot of the capture `{capture}` is at {found}, and was let go by the capture up to {noted} only: "
            "somebody moved it or made it anew, and changes in between are in no store",
            hint=f"empty the tables in the stores, then `penstock cdc setup --name {capture}`: it makes the slot anew, "
            "and all tables are read again",
        )


class SlotPlace:
    """How far the slot of one capture may be. Its methods raise Failed and Unavailable."""

    def __init__(self, connection: SourceConnection, capture: str):
        self._source = SourceQueries(connection, "worked on the place of the slot, in the schema `penstock`")
        self._capture = capture
        self._noted = 0
        self._written = float("-inf")

    def moved(self) -> MovedSlot | None:
        """What is wrong where the slot is further than it may be. None before setup has made the table."""
        if not self._source.has_table(_TABLE):
            return None
        # In this order: a producer that runs meanwhile writes an LSN down first, and confirms it then.
        for (found,) in self._source.rows(_CONFIRMED, self._capture):
            behind = f"SELECT lsn::text FROM {_TABLE} WHERE capture = %s AND lsn < %s::pg_lsn"
            for (noted,) in self._source.rows(behind, self._capture, found):
                return MovedSlot(self._capture, noted, found)
        return None

    def begin(self) -> None:
        """The slot is there, and is where it should be, unless its place is known already. The caller has made it, or
        reads it: another producer, of a version that writes nothing down, would go on confirming."""
        for (found,) in self._source.rows(_CONFIRMED, self._capture):
            note = f"INSERT INTO {_TABLE} (capture, lsn) VALUES (%s, %s::pg_lsn) ON CONFLICT (capture) DO NOTHING"
            self._source.run(note, self._capture, found)

    def forget(self) -> None:
        """The slot is made anew."""
        if self._source.has_table(_TABLE):
            self._source.run(f"DELETE FROM {_TABLE} WHERE capture = %s", self._capture)

    def write_next_at_once(self) -> None:
        """The next LSN that may be confirmed is written down whenever the last one was."""
        self._written = float("-inf")

    def confirmable(self, lsn: int, seconds: float) -> int:
        """Up to where the slot may be confirmed, of an LSN up to which all is stored: that is written down first, once
        in so many seconds."""
        if lsn > self._noted and time.monotonic() - self._written >= seconds:
            self._source.run(
                f"""INSERT INTO {_TABLE} AS p (capture, lsn) VALUES (%s, %s::pg_lsn)
                ON CONFLICT (capture) DO UPDATE SET lsn = greatest(p.lsn, excluded.lsn)""",
                *(self._capture, lsn_text(lsn)),
            )
            self._noted, self._written = lsn, time.monotonic()
        return min(lsn, self._noted)
