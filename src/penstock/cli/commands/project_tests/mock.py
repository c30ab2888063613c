"""`penstock mock DATASOURCE`: rows by the schema of a data source, to try things with.

In: a project's folder and the name of a data source. Out: its rows, one JSON object a line, or one document.
Invariants: no server is asked; with a seed the rows are the same each time; every row lands when it is posted.
"""

from __future__ import annotations

import datetime as dt
import json
import secrets
import sys
from typing import Annotated

import typer

from penstock.api.project.source_project import SourceProject
from penstock.cli.commands.deploy import load_sound_project
from penstock.cli.commands.project_tests.mock_rows import MockRows
from penstock.cli.errors import WrongUsage
from penstock.cli.output import print_json
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject, NotFound, did_you_mean
from penstock.model.datasource import DataSource

FIXED_MOMENT = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
"""The latest time of rows with a seed, so that they are the same tomorrow."""


@command
def mock(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="DATASOURCE", help="The data source.")],
    rows: Annotated[int, typer.Option("--rows", min=0, help="How many.")] = 10,
    seed: Annotated[int | None, typer.Option("--seed", help="The same number gives the same rows.")] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="The latest time of the rows, such as 2026-01-31.")
    ] = None,
) -> None:
    """Make rows for a data source; needs no server."""
    read = load_sound_project(session)
    source = _find_source(read, name)
    drawn = seed if seed is not None else secrets.randbelow(2**32)
    latest = _parse_time(until) if until else _latest_time(source, seed)
    try:
        maker = MockRows(source, drawn, latest)
    except InvalidProject as refusal:
        refusal.problems = read.places.problems(refusal.problems)
        raise
    if session.as_json:
        print_json({"datasource": name, "seed": drawn, "until": latest.isoformat(), "rows": [*maker.rows(rows)]})
    else:
        sys.stdout.writelines(json.dumps(row) + "\n" for row in maker.rows(rows))


def _find_source(read: SourceProject, name: str) -> DataSource:
    sources = {each.name: each for each in read.loaded.project.datasources}
    if name not in sources:
        raise NotFound(f"the project has no data source `{name}`", hint=did_you_mean(name, sources))
    return sources[name]


def _latest_time(source: DataSource, seed: int | None) -> dt.datetime:
    """Now without a seed; with one a fixed time, or the end of today if older rows may have expired."""
    now = dt.datetime.now(dt.timezone.utc)
    if seed is None:
        return now
    if source.engine.ttl is None:
        return FIXED_MOMENT
    return now.replace(hour=0, minute=0, second=0, microsecond=0) + dt.timedelta(days=1)


def _parse_time(text: str) -> dt.datetime:
    try:
        found = dt.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise WrongUsage(
            f"--until takes a time, not `{text}`", hint="such as 2026-01-31 or 2026-01-31 12:00:00"
        ) from None
    found = found if found.tzinfo is not None else found.replace(tzinfo=dt.timezone.utc)
    if not 1971 <= found.year <= 2100:
        raise WrongUsage(f"--until takes a time from 1971 to 2100, not `{text}`")
    return found
