"""Landings for tests of files, and what becomes of the rows of a file."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.flow.landing.row_parser import RowParser
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.project_loader import load_files


def landing_of(*columns: str) -> Landing:
    """The landing of a data source with these lines of SCHEMA."""
    loaded = load_files({"x.datasource": "SCHEMA >\n    " + ",\n    ".join(columns) + "\n"})
    assert not loaded.errors, loaded.problems
    (source,) = loaded.project.datasources
    made = (LandingColumn(each.name, each.name, each.type, source.path_of(each)) for each in source.columns)
    return Landing("x", "x__d1", "d1", tuple(made))


def landed(landing: Landing, lines: Iterable[bytes]) -> list[dict[str, object] | str]:
    """The values of each row, or the reasons why it is rejected."""
    parser = RowParser((landing,))
    parsed = map(parser.parse, lines)
    return [dict(each.values) if each.values is not None else "; ".join(each.rejects[0][1]) for each in parsed]
