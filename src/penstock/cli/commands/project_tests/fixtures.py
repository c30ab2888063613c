"""The files of rows that a project has for its tests: `fixtures/DATASOURCE.ndjson` or `.csv`.

In: a project and its folder. Out: `Fixture`s in the order in which they are posted. Invariants: each data source has at
most one file; the tables that a view joins have their rows before the one whose rows make the view run.
"""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.graph import Graph
from penstock.model.project import Project
from penstock.plan.compiled_project import CompiledProject, compile_project
from penstock.plan.diff.project_queries import reads_of_view

FOLDER = "fixtures"
ENDINGS = (".ndjson", ".jsonl", ".json", ".csv", ".parquet")
PACKED = (".gz", ".zst", ".bz2", ".xz")
_CODE = "invalid-fixture"


@dataclass(frozen=True, slots=True)
class Fixture:
    """The rows of a data source."""

    source: str
    path: Path


def find_fixtures(folder: Path, project: Project, problems: list[Problem]) -> tuple[Fixture, ...]:
    """The fixtures of a project's data sources, in the order in which they are posted."""
    found: dict[str, Path] = {}
    names = {source.name for source in project.datasources}
    for path in sorted((folder / FOLDER).glob("*")):
        name = _source_name(path)
        place = Location(path.relative_to(folder).as_posix())
        if name is None or not path.is_file():
            if path.name.partition(".")[0] in names:
                message = f"{path.name} is no file of rows, and would be passed over"
                problems.append(Problem(_CODE, message, place, f"its name ends in {', '.join(ENDINGS)}"))
        elif name not in names:
            hint = did_you_mean(name, names)
            problems.append(Problem(_CODE, f"there is no data source `{name}` for these rows", place, hint))
        elif name in found:
            message = f"{found[name].name} has rows of `{name}`, too"
            problems.append(Problem(_CODE, message, place, "a data source has one fixture: remove one of them"))
        else:
            found[name] = path
    return tuple(Fixture(name, found[name]) for name in _posting_order(project, found))


def _source_name(path: Path) -> str | None:
    """The data source that a file has rows of; None for a file of another kind."""
    name = path.name
    if path.suffix in PACKED:
        name = name.removesuffix(path.suffix)
    ending = next((each for each in ENDINGS if name.endswith(each)), None)
    return name.removesuffix(ending) if ending and not name.startswith(".") else None


def _posting_order(project: Project, found: Mapping[str, Path]) -> list[str]:
    compiled = compile_project(project)
    graph = compiled.graph
    later: dict[str, set[str]] = {name: set() for name in found}
    for trigger, joined in _joins(compiled):
        first = _origins(graph, joined, found)
        for name in _origins(graph, trigger, found) - first:
            later[name] |= first
    try:
        return list(graphlib.TopologicalSorter(later).static_order())
    except graphlib.CycleError:  # two views that join each other's tables; no order serves both
        return sorted(found)


def _joins(compiled: CompiledProject) -> list[tuple[str, str]]:
    """The table whose rows make a view run, with each other one that the view reads."""
    pairs = []
    for view in compiled.views.values():
        trigger, *others = (read.datasource for read in reads_of_view(view))
        pairs += [(trigger, other) for other in others if other != trigger]
    return pairs


def _origins(graph: Graph, name: str, found: Mapping[str, Path]) -> set[str]:
    """The fixtures from which the rows of a data source come."""
    return {name, *graph.upstream(name)} & found.keys()
