"""A server that owns its folder and its warehouse: take them, serve, give them back.

In: the options of the command line, and what the program has prepared. Out: nothing; `run` returns when the server has
ended. Invariant: the lake is not opened before this server owns the folder; a server that waits for another one keeps
no Java.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from penstock.deploy.backup.restore_marker import require_restored
from penstock.deploy.ownership.folder_lock import ProcessId, ServerRecord, take_folder
from penstock.deploy.ownership.lease_keeper import describe_server, read_heartbeat, take_lease
from penstock.deploy.ownership.storage_claim import release_storage
from penstock.deploy.runtime_config import state_url
from penstock.errors import Conflict
from penstock.lake.spark.java_process import StartingJava
from penstock.model.settings import Settings
from penstock.serve.server.caller_reports import report_waiting
from penstock.serve.server.log_files import set_up_logging
from penstock.serve.server.process import ServerProcess
from penstock.serve.server.server_socket import ServerSocket
from penstock.serve.server.start_connections import PATIENCE, await_catalog, connect_patiently
from penstock.state.database import Database, migrate_database
from penstock.state.lease import Lease, LeaseRecord

PID = "server.pid"


@dataclass(frozen=True, slots=True)
class ServerStart:
    """What the program has prepared for a server."""

    home: Path
    settings: Settings
    listening: ServerSocket
    java: StartingJava


def run(options: argparse.Namespace, start: ServerStart) -> None:
    """Serve until a signal. Raises what keeps the server from running."""
    home, settings = start.home, start.settings
    database = connect_patiently(state_url(settings, home), 0.0 if options.no_wait else PATIENCE)
    lease = Lease(database)
    owner = take_folder(home, _while_waiting(options, start, _report_waiting_for_folder), lambda: read_heartbeat(lease))
    pid = home / PID
    try:
        require_restored(home)  # again: a restore may have had the folder meanwhile
        set_up_logging(home, settings.server.log_format)
        describe = describe_server(home, ProcessId.of(os.getpid()), f"port {start.listening.port(settings)}")
        take_lease(lease, describe, _while_waiting(options, start, _report_waiting_for_lease))
        listener = start.listening.open(settings)
        pid.write_text(f"{os.getpid()}\n", encoding="utf-8")
        server = ServerProcess(settings, home, owner, listener, database)
        server.run(partial(_prepare_stores, options, settings), start.java)
    finally:
        pid.unlink(missing_ok=True)
        owner.release()


T = TypeVar("T")


def _while_waiting(
    options: argparse.Namespace, start: ServerStart, report: Callable[[T], None]
) -> Callable[[T], None] | None:
    """What is called before this server waits for another one; None if it does not wait."""
    if options.no_wait:
        return None

    def end_java_and_report(owner: T) -> None:
        start.java.end()
        report(owner)

    return start.listening.closing_before(end_java_and_report)


def _prepare_stores(
    options: argparse.Namespace, settings: Settings, home: Path, database: Database, show: Callable[[str], None]
) -> None:
    """What a server does before it opens its pipeline, while it renews its lease and answers /health."""
    show("bringing the state store up to date")
    migrate_database(database)
    await_catalog(settings, home, 0.0 if options.no_wait else PATIENCE, show)
    if options.adopt_storage:
        release_storage(settings, home, database)


def _report_waiting_for_folder(owner: ServerRecord | None) -> None:
    who = f"server {owner.server.id} at {owner.url}" if owner else "another server"
    message = f"{who} owns this project; waiting until it ends"
    report_waiting(Conflict(message, hint=STANDBY_HINT))


def _report_waiting_for_lease(seen: LeaseRecord) -> None:
    who = f"a server on {seen.owner.get('host')}"
    message = f"{who} owns this warehouse; waiting until it ends or sends no heartbeat"
    report_waiting(Conflict(message, hint=STANDBY_HINT))


STANDBY_HINT = (
    "that one serves; this one stands by and takes over when it ends. Ctrl-C ends the wait, and `penstock up --no-wait`"
    " does not wait"
)
