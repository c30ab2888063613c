"""Writes the data sources that classic pipes only describe by their ENGINE lines: their columns are those of the query.

In: a converted project whose materialized nodes write to data sources without a file. Out: the texts of these files,
and a problem for each one whose query does not compile. Invariant: a target that another missing one feeds is written
after that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import InvalidQuery, Location, Problem
from penstock.model.pipe import Endpoint, Node
from penstock.model.types import Type
from penstock.parse.classic.conversion import ConvertedFiles, MissingTarget
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_pipe


def write_missing_targets(conversion: ConvertedFiles, settings: Mapping[str, str]) -> ConvertedFiles:
    """The conversion with a file for each data source that its views write to. `settings` is `penstock.toml`, if any,
    by its path."""
    files = dict(conversion.files)
    left = {each.name: each for each in conversion.missing}
    failed: dict[str, Problem] = {}
    while left:
        before = len(left)
        for each in list(left.values()):
            made = _make_datasource(each, {**files, **settings})
            if isinstance(made, Problem):
                failed[each.name] = made
            else:
                files[each.path] = made
                failed.pop(each.name, None)
                del left[each.name]
        if len(left) == before:
            break
    return ConvertedFiles(files, tuple(left.values()), (*conversion.problems, *failed.values()))


def _make_datasource(target: MissingTarget, files: Mapping[str, str]) -> str | Problem:
    project = load_files(files).project
    pipe = next((each for each in project.pipes if each.location.file == target.pipe), None)
    node = next((each for each in pipe.nodes if each.name == target.node), None) if pipe is not None else None
    if pipe is None or node is None:
        return _refusal(target, None)
    try:
        found = compile_pipe(project, replace(pipe, nodes=(*_before(pipe.nodes, node), replace(node, kind=Endpoint()))))
    except InvalidQuery as error:
        return _refusal(target, error.problems[0] if error.problems else None)
    return _datasource_text(found.columns, target.engine)


def _before(nodes: tuple[Node, ...], node: Node) -> tuple[Node, ...]:
    return nodes[: nodes.index(node)]


def _datasource_text(columns: tuple[tuple[str, Type], ...], engine: tuple[str, ...]) -> str:
    lines = ",\n".join(f"    `{name}` {of}" for name, of in columns)
    return "\n".join(["SCHEMA >", lines, "", *engine, ""])


def _refusal(target: MissingTarget, cause: Problem | None) -> Problem:
    why = f": {cause.message}" if cause is not None else ""
    message = f"the columns of `{target.name}` cannot be read from its query{why}"
    place = cause.location if cause is not None else Location(target.pipe)
    return Problem(
        "classic-format", message, place, f"write {target.path}, with these lines: {'; '.join(target.engine)}"
    )
