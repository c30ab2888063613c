"""What the steps of the demo share: the project, the databases, the processes that carry rows.

In: running servers. Out: commands of Penstock and psql, as a user types them. Invariant: every process that is started
here is ended by `close`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from penstock.demo.issue_tracker.application import Application
from penstock.demo.issue_tracker.services import Service
from penstock.demo.scenario import DemoFailed
from penstock.demo.server import PENSTOCK, Server

TABLES = ("projects", "labels", "issues", "issue_labels", "notes")
DSN_VARIABLE = "PENSTOCK_POSTGRES_DSN"
LONGEST = 300.0
"""Seconds that a command may take."""


@dataclass
class TrackerStage:
    """`carriers` are the processes of `penstock cdc`, by what they do. Without a `server` only the warehouse is fed."""

    console: Console
    folder: Path
    programs: Path
    postgres: Service
    nats: Service
    clickhouse: Service
    server: Server | None
    application: Application
    began: float
    carriers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def stores(self) -> dict[str, str]:
        """The consumers by the names of their stores."""
        consumers = {"live": "penstock", "warehouse": "warehouse"}
        return consumers if self.server is not None else {"warehouse": "warehouse"}

    @property
    def broker(self) -> str:
        return f"nats://127.0.0.1:{self.nats.port}"

    def dsn(self, database: str = "production") -> str:
        return database_dsn(self.postgres, database)

    def say(self, text: str) -> None:
        seconds = time.monotonic() - self.began
        self.console.print(f"[bold]{seconds:4.0f} s[/bold]  {text}", highlight=False, soft_wrap=True)

    def penstock(self, *arguments: str) -> str:
        """Run a command of Penstock in the project, and return what it prints. Raises DemoFailed."""
        began = time.monotonic()
        done = subprocess.run(
            [*PENSTOCK, *arguments], capture_output=True, text=True, check=False, cwd=self.folder, timeout=LONGEST
        )
        if done.returncode != 0:
            raise DemoFailed(
                f"`penstock {' '.join(arguments)}` ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        took = f"({time.monotonic() - began:.1f} s)"
        self.console.print(
            f"        penstock {_short(arguments)}  {took}", highlight=False, markup=False, soft_wrap=True
        )
        return done.stdout

    def psql(self, database: str, path: Path) -> list[str]:
        """The command that runs a file of SQL."""
        options = ["-q", "-v", "ON_ERROR_STOP=1", "-f", str(path.resolve())]
        return [str(self.programs / "psql"), self.dsn(database), *options]

    def carry(self, name: str, *arguments: str) -> None:
        """Start a process of `penstock cdc`."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.carriers[name] = subprocess.Popen(
                [*PENSTOCK, "cdc", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def kill(self, name: str) -> None:
        """As `kill -9` does."""
        self.carriers[name].kill()
        self.carriers[name].wait()

    def check_carriers(self) -> None:
        """Raises DemoFailed if one of them has ended."""
        for name, process in self.carriers.items():
            if process.poll() is not None:
                text = (self.folder / f"{name}.log").read_text(errors="replace")
                raise DemoFailed(f"{name} ended with {process.returncode}:\n{text[-2000:]}")

    def close(self) -> None:
        """End them at once: what is not delivered is in Postgres and the broker, which are thrown away."""
        for name in self.carriers:
            self.kill(name)


def database_dsn(postgres: Service, database: str) -> str:
    return f"postgresql://penstock@127.0.0.1:{postgres.port}/{database}"


LIVE_STORE = '[stores.live]\ntype = "penstock"\n'


def prepare_project(example: Path, folder: Path, clickhouse: Service) -> None:
    """Copy the example into the folder; the warehouse is the ClickHouse that runs."""
    shutil.copytree(example, folder, dirs_exist_ok=True)
    change_settings(folder, ":8123", f":{clickhouse.port}")


def change_settings(folder: Path, text: str, other: str) -> None:
    """Put a text in the place of another one in the project's settings."""
    settings = folder / "penstock.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(text, other), encoding="utf-8")


@contextmanager
def use_dsn(dsn: str) -> Iterator[None]:
    """Let Penstock's commands know where the source is."""
    before = os.environ.get(DSN_VARIABLE)
    os.environ[DSN_VARIABLE] = dsn
    try:
        yield
    finally:
        del os.environ[DSN_VARIABLE]
        if before is not None:
            os.environ[DSN_VARIABLE] = before


def _short(arguments: tuple[str, ...]) -> str:
    words = [Path(each).name if each.startswith("/") else each for each in arguments]
    return " ".join("DSN" if "://" in each else each for each in words)
