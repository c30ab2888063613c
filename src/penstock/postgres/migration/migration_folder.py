"""The folder with the files of a project's migrations.

In: the folder. Out: its migrations in order, or `InvalidProject` with all problems; files of new ones. Invariant: the
migrations of a table form a chain: each begins with the fingerprint that the one before ended with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from penstock.errors import Failed, InvalidProject, Location, Problem
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.migration_reader import read_migration
from penstock.postgres.migration.migration_text import migration_text

FOLDER = "migrations"


def read_folder(folder: Path) -> MigrationHistory:
    """The migrations of a folder; none if it is not there. Raises InvalidProject."""
    problems: list[Problem] = []
    found = [_read(path, problems) for path in sorted(folder.glob("*.json"))]
    migrations = [each for each in found if each is not None]
    if not problems:
        problems += _broken_chains(migrations, folder)
    if problems:
        raise InvalidProject(f"the migrations in {folder} have problems", problems)
    return MigrationHistory(tuple(migrations))


def write_migrations(folder: Path, migrations: Sequence[Migration]) -> list[Path]:
    """Write the files of new migrations. Raises Failed."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in migrations:
            path = folder / f"{each.id}.json"
            with path.open("x", encoding="utf-8") as file:
                file.write(migration_text(each))
            written.append(path)
    except OSError as error:
        raise Failed(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error
    return written


def _read(path: Path, problems: list[Problem]) -> Migration | None:
    file = path.relative_to(path.parent.parent).as_posix()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem("invalid-migration", f"the file cannot be read: {error}", Location(file)))
        return None
    return read_migration(text, file, problems)


def _broken_chains(migrations: Iterable[Migration], folder: Path) -> list[Problem]:
    problems = []
    ends: dict[QualifiedName, Migration] = {}
    for each in migrations:
        last = ends.pop(each.table, None)
        if last is not None and last.after != each.before:
            message = f"the migration does not follow {last.id}: that one ends with another schema of {each.table}"
            hint = "observe it again on a database that has the earlier migrations"
            problems.append(Problem("broken-migration-chain", message, Location(f"{folder.name}/{each.id}.json"), hint))
        ends[each.table_after] = each
    return problems
