"""What a backup consists of.

In: a folder. Out: the paths of its parts, and `BackupInfo`, the file that is written last. Invariant: a folder without
that file is no backup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

import orjson

from penstock.errors import InvalidRequest

FORMAT = 1
ADMIN_TOKEN = "admin_token"
"""The file with the secret of the admin token, in `.penstock` and in a backup."""


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """What a backup says about itself."""

    format: int
    release: str
    made_at: datetime
    warehouse: str
    """Where the tables were."""
    tables: int
    files: int
    bytes: int
    """The files of the tables and their size."""
    batches: int
    """The raw batches that are in it as files."""
    damaged: Mapping[str, str] = field(default_factory=dict)
    """The tables that cannot be read, each with the damage: what is left of their files is in the backup."""


@dataclass(frozen=True, slots=True)
class BackupFolder:
    """The paths of a backup."""

    root: Path

    @property
    def info(self) -> Path:
        return self.root / "backup.json"

    @property
    def state(self) -> Path:
        return self.root / "state.db"

    @property
    def catalog(self) -> Path:
        return self.root / "catalog.db"

    @property
    def warehouse(self) -> Path:
        return self.root / "warehouse"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def admin_token(self) -> Path:
        return self.root / ADMIN_TOKEN

    def write_info(self, info: BackupInfo) -> None:
        """Without damage the file is one that the former release restores too."""
        written = {name: value for name, value in asdict(info).items() if name != "damaged" or value}
        self.info.write_bytes(orjson.dumps(written, option=orjson.OPT_INDENT_2))

    def read_info(self) -> BackupInfo:
        """Raises InvalidRequest for a folder that is no complete backup."""
        try:
            found = orjson.loads(self.info.read_bytes())
            info = BackupInfo(**{**found, "made_at": datetime.fromisoformat(found["made_at"])})
        except FileNotFoundError:
            message = f"{self.root} is no complete backup: {self.info} is missing"
            raise InvalidRequest(message, hint="name a folder that `penstock backup` made") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{self.root} is no complete backup: {self.info} cannot be read: {error}"
            raise InvalidRequest(message, hint="restore another backup") from error
        if info.format != FORMAT:
            raise InvalidRequest(
                f"{self.root} was made by Penstock {info.release}, whose backups this release cannot read",
                hint="restore it with that release",
            )
        return info
