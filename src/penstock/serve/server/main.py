"""The server's program: `python -m penstock.serve.server.main --project DIR --port N`.

In: a project folder. Out: exit code 0 after SIGTERM or SIGINT, 1 if it could not run. Invariants: errors and delays of
the start are written to standard error; this module imports little, so that Spark's Java starts while Python imports
all the rest, which takes as long.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from pathlib import Path

from penstock.deploy.backup.restore_marker import require_restored
from penstock.errors import PenstockError
from penstock.lake.spark.java_process import StartingJava
from penstock.model.settings import Settings, secret_values
from penstock.redaction import register_secrets
from penstock.serve.server.caller_reports import report_to_caller
from penstock.serve.server.caller_watch import end_with_caller
from penstock.serve.server.folder_access import create_private_files, make_private
from penstock.serve.server.server_settings import HOME, load_settings
from penstock.serve.server.server_socket import ServerSocket

SWITCH_SECONDS = 0.001
"""For how long a thread may hold the interpreter while others wait for it; Python's own is 0.005. Small steps of flows
run in the process that answers requests, and an answer waits for each of their threads so long."""
log = logging.getLogger("penstock.serve")


def main() -> int:
    options = _parse_options()
    sys.setswitchinterval(SWITCH_SECONDS)
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
    parser.add_argument("--end-with-caller", action="store_true", help="end when standard input is closed")
    parser.add_argument("--adopt-storage", action="store_true", help="take warehouse and inbox whatever they belong to")
    return parser.parse_args()


def _run(options: argparse.Namespace) -> None:
    if options.end_with_caller:
        end_with_caller()
    project: Path = options.project.resolve()
    require_restored(project / HOME)
    settings, listening = load_settings(project), ServerSocket(options.port, options.listener)
    _set_up_process(settings, project / HOME)
    java = StartingJava(settings, project / HOME)
    try:
        from penstock.serve.server import server_owner  # noqa: PLC0415 (most of the imports, while Java starts)

        server_owner.run(options, server_owner.ServerStart(project / HOME, settings, listening, java))
    finally:
        java.end()


def _set_up_process(settings: Settings, home: Path) -> None:
    """What applies to the processes that this one starts, too: who may read their files, and the time zone. Spark's
    Python returns times in it, and Penstock takes them as UTC."""
    register_secrets(secret_values(settings))
    make_private(home)
    create_private_files(settings)
    os.environ["TZ"] = "UTC"
    time.tzset()


if __name__ == "__main__":
    sys.exit(main())
