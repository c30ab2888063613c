"""`penstock graph [DIR]`: which data sources and pipes a project has, and how rows go through them.

In: a project's folder. Out: its graph as a table, as DOT or Mermaid for other programs, or drawn as SVG. Invariant: a
project with problems is drawn as far as it can be read, and a note says so; one whose Python cannot be read is refused.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from typing_extensions import assert_never

from penstock.cli.commands.project.check import load_project
from penstock.cli.errors import print_note
from penstock.cli.graph_formats.dot import to_dot
from penstock.cli.graph_formats.mermaid import to_mermaid
from penstock.cli.graph_formats.svg import to_svg
from penstock.cli.json_documents import Json
from penstock.cli.output import format_number, print_json, print_table
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject
from penstock.plan.project_graph import ProjectGraph, draw_project


class GraphFormat(str, Enum):
    """The form of a graph."""

    text = "text"
    dot = "dot"
    mermaid = "mermaid"
    svg = "svg"


@command
def graph(
    session: Session,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The project's folder.")] = None,
    form: Annotated[
        GraphFormat, typer.Option("--format", help="A table, DOT, Mermaid or a drawing.")
    ] = GraphFormat.text,
) -> None:
    """Show which pipe reads and writes what; needs no server."""
    read = load_project(folder or session.new_project)
    if read.has_failed:
        problems = read.places.problems(read.loaded.problems)
        raise InvalidProject("nothing of the project can be drawn: it cannot be read", problems)
    found = draw_project(read.loaded)
    found = replace(found, nodes=tuple(replace(each, file=read.places.file(each.file)) for each in found.nodes))
    if session.as_json:
        print_json(_graph_to_json(found))
    else:
        _print_graph(found, form)
    broken = sum(node.is_broken for node in found.nodes)
    if broken and not session.as_json:
        files = format_number(broken, "file has", "files have")
        print_note(f"{files} problems: `penstock check` shows them")


def _print_graph(found: ProjectGraph, form: GraphFormat) -> None:
    match form:
        case GraphFormat.text:
            _print_text(found)
        case GraphFormat.dot:
            sys.stdout.write(to_dot(found))
        case GraphFormat.mermaid:
            sys.stdout.write(to_mermaid(found))
        case GraphFormat.svg:
            sys.stdout.write(to_svg(found))
        case _:
            assert_never(form)


def _print_text(found: ProjectGraph) -> None:
    """Print each resource after those that it reads."""
    rows = [
        (node.name, f"{node.kind}, broken" if node.is_broken else node.kind, *_neighbours(found, node.name))
        for node in found.nodes
    ]
    print_table(("resource", "kind", "rows come from", "rows go to"), rows)


def _neighbours(found: ProjectGraph, name: str) -> tuple[str, str]:
    return ", ".join(found.before(name)), ", ".join(found.after(name))


def _graph_to_json(found: ProjectGraph) -> Json:
    nodes = [
        {
            "name": node.name,
            "kind": node.kind,
            "file": node.file or None,
            "description": node.description,
            "broken": node.is_broken,
        }
        for node in found.nodes
    ]
    return {
        "nodes": nodes,
        "arrows": [{"from": each.start, "to": each.end, "kind": each.kind} for each in found.arrows],
    }
