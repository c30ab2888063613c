"""The server's program: `python -m penstock.serve.server.main --project DIR --port N`.

In: a project folder. Out: exit code 0 after SIGTERM or SIGINT, 1 if it could not run. Invariant: the lake is not
opened before this server owns the folder; errors and delays of the start are written to standard error, one JSON
document a line, in the usual shape of an error.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from penstock.deploy.backup.restore_marker import require_restored
from penstock.deploy.ownership.folder_lock import ProcessId, ServerRecord, take_folder
from penstock.deploy.ownership.lease_keeper import describe_server, read_heartbeat, take_lease
from penstock.deploy.ownership.storage_claim import release_storage
from penstock.deploy.runtime_config import state_url
from penstock.errors import Conflict, InvalidProject, PenstockError
from penstock.model.settings import Settings, secret_values
from penstock.parse.project_loader import load_folder
from penstock.parse.settings import SETTINGS_FILE
from penstock.redaction import register_secrets
from penstock.serve.server.folder_access import create_private_files, make_private
from penstock.serve.server.log_files import set_up_logging
from penstock.serve.server.process import ServerProcess
from penstock.serve.server.server_socket import ServerSocket
from penstock.serve.server.start_connections import (
    PATIENCE,
    await_catalog,
    connect_patiently,
    report_to_caller,
    report_waiting,
)
from penstock.state.database import Database, migrate_database
from penstock.state.lease import Lease, LeaseRecord

HOME, PID = ".penstock", "server.pid"
log = logging.getLogger("penstock.serve")


def main() -> int:
    options = _parse_options()
    try:
        _run(options)
    except PenstockError as error:
        log.error("the server ends: %s", error.message)
        report_to_caller(error)
        return 1
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.serve.server.main")
    parser.add_argument("--project", type=Path, default=Path(), help="the project's folder")
    parser.add_argument("--port", type=int, help="the port, instead of the one in the settings")
    parser.add_argument("--listener", type=int, help="the socket that a server left open which restarts itself")
    parser.add_argument("--no-wait", action="store_true", help="end if another server owns the project")
    parser.add_argument("--adopt-storage", action="store_true", help="take warehouse and inbox whatever they belong to")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> None:
    project: Path = options.project.resolve()
    home = project / HOME
    require_restored(home)
    settings, listening = load_settings(project), ServerSocket(options.port, options.listener)
    register_secrets(secret_values(settings))
    make_private(home)
    create_private_files(settings)
    waiting = None if options.no_wait else _report_waiting_for_folder
    database = connect_patiently(state_url(settings, home), 0.0 if options.no_wait else PATIENCE)
    lease = Lease(database)
    owner = take_folder(home, listening.closing_before(waiting), lambda: read_heartbeat(lease))
    pid = home / PID
    try:
        require_restored(home)  # again: a restore may have had the folder meanwhile
        _set_up_process(home)
        describe = describe_server(home, ProcessId.of(os.getpid()), f"port {listening.port(settings)}")
        take_lease(lease, describe, listening.closing_before(None if waiting is None else _report_waiting_for_lease))
        listener = listening.open(settings)
        pid.write_text(f"{os.getpid()}\n", encoding="utf-8")
        ServerProcess(settings, home, owner, listener, database).run(partial(_prepare_stores, options, settings))
    finally:
        pid.unlink(missing_ok=True)
        owner.release()


def _prepare_stores(
    options: argparse.Namespace, settings: Settings, home: Path, database: Database, show: Callable[[str], None]
) -> None:
    """What a server does before it opens its pipeline, while it renews its lease and answers /health."""
    show("bringing the state store up to date")
    migrate_database(database)
    await_catalog(settings, home, 0.0 if options.no_wait else PATIENCE, show)
    if options.adopt_storage:
        release_storage(settings, home, database)


def load_settings(project: Path) -> Settings:
    """The settings of a project. Raises InvalidProject for a wrong penstock.toml, NotFound without a folder. Wrong
    datafiles do not prevent the start: the live version is in the state store."""
    loaded = load_folder(project)
    wrong = [each for each in loaded.errors if each.location is not None and each.location.file == SETTINGS_FILE]
    if wrong:
        raise InvalidProject(f"{SETTINGS_FILE} has problems", wrong)
    return loaded.settings


def _set_up_process(home: Path) -> None:
    """Begin the logs, and set the process's time zone to UTC: Spark's Python returns times in it, and Penstock takes
    them as UTC."""
    set_up_logging(home)
    os.environ["TZ"] = "UTC"
    time.tzset()


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


if __name__ == "__main__":
    sys.exit(main())
