"""An inbox on a real state store, for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from penstock.flow.inbox.inbox import Inbox
from penstock.state.batches import Batch, BatchLog
from penstock.state.database import open_database


class KeptInbox:
    """An inbox on a real state store, and what arrived in it."""

    def __init__(self, folder: Path):
        self.database = open_database(f"sqlite:///{folder / 'state.db'}")
        self.folder = folder / "inbox"
        self.batches = BatchLog(self.database)
        self.arrived: list[Batch] = []
        self.inbox = Inbox(self.folder, self.batches, self.arrived.append)
