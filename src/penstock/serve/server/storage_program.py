"""Save and restore a project whose server is stopped: `python -m penstock.serve.server.storage_program`.

In: `backup --project DIR --destination DIR` or `restore --source DIR --project DIR`. Out: one JSON document on standard
output, or an error of the usual shape on standard error and exit code 1. Invariant: a backup is made only while no
server owns the folder and its warehouse.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import orjson

from penstock.deploy.backup.backup import BackupSource, make_backup
from penstock.deploy.backup.layout import BackupInfo
from penstock.deploy.backup.restore import restore_backup
from penstock.deploy.backup.restore_marker import require_restored
from penstock.deploy.ownership.folder_lock import ProcessId, take_folder
from penstock.deploy.ownership.lease_keeper import LeaseKeeper, describe_server, read_heartbeat, take_lease
from penstock.deploy.ownership.storage_claim import claim_storage
from penstock.deploy.runtime_config import state_url
from penstock.errors import NotFound, PenstockError
from penstock.model.settings import secret_values
from penstock.redaction import register_secrets
from penstock.serve.server.folder_access import create_private_files, make_private
from penstock.serve.server.server_settings import HOME, load_settings
from penstock.state.database import connect_database, migrate_database
from penstock.state.lease import Lease


def main() -> int:
    options = _parse_options()
    try:
        if options.work == "backup":
            made = _back_up(options.project.resolve(), options.destination)
        else:
            made = _restore(options.source.resolve(), options.project.resolve())
    except PenstockError as error:
        sys.stderr.write(orjson.dumps(error.as_json()).decode() + "\n")
        return 1
    sys.stdout.write(orjson.dumps(asdict(made)).decode() + "\n")
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m penstock.serve.server.storage_program")
    works = parser.add_subparsers(dest="work", required=True)
    backup, restore = works.add_parser("backup"), works.add_parser("restore")
    backup.add_argument("--destination", type=Path, required=True)
    restore.add_argument("--source", type=Path, required=True)
    for each in (backup, restore):
        each.add_argument("--project", type=Path, required=True)
    return parser.parse_args()


def _back_up(project: Path, destination: Path) -> BackupInfo:
    """Own the project as a server would, so that none can start meanwhile. Raises Conflict if one runs."""
    settings, home = load_settings(project), project / HOME
    register_secrets(secret_values(settings))
    if not home.is_dir():
        raise NotFound(f"{project} has never had a server: there is nothing to save")
    require_restored(home)
    create_private_files(settings)
    database = connect_database(state_url(settings, home))
    lease = Lease(database)
    owner = take_folder(home, None, lambda: read_heartbeat(lease))
    try:
        me = describe_server(home, ProcessId.of(os.getpid()), "backup")
        take_lease(lease, me, None)
        keeper = LeaseKeeper(lease, _exit_fenced)
        try:
            migrate_database(database)
            claim_storage(settings, home, database)
            return make_backup(BackupSource(settings, home, database, nullcontext), destination)
        finally:
            keeper.end()
    finally:
        owner.release()
        database.close()


def _restore(source: Path, project: Path) -> BackupInfo:
    made = restore_backup(source, project, HOME)
    make_private(project / HOME)
    return made


def _exit_fenced() -> None:
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
