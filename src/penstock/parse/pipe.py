"""The directives of a .pipe file to a `Pipe`.

In: a file's text and the name of its resource. Out: a `Pipe`, or None where no node could be read,
and every problem of the file. Called by load. Invariant: at most one node of a pipe is more than a
standard one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast, get_args

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.pipe import Dialect, Node, Pipe
from penstock.parse.datafile import Entry, parse_datafile
from penstock.parse.directives import parse_items, parse_text, parse_tokens, single
from penstock.parse.node import LATER_KEYWORDS, NODE_KEYWORDS, check_nodes, parse_node

PIPE_KEYWORDS = ("NODE", "DESCRIPTION", "TAGS", "TOKEN", "DIALECT", *NODE_KEYWORDS, *LATER_KEYWORDS)
_OF_NODES = ("DESCRIPTION", *NODE_KEYWORDS, *LATER_KEYWORDS)
_DIALECTS: tuple[str, ...] = get_args(Dialect)


def parse_pipe(text: str, file: str, name: str, default: Dialect, problems: list[Problem]) -> Pipe | None:
    """The pipe that a file describes; `default` is the dialect of a pipe that names none."""
    entries = parse_datafile(text, file, PIPE_KEYWORDS, problems).entries
    own, groups = _split(entries)
    problems.extend(_check_before(own))
    directives = single((entry for entry in own if entry.keyword != "TOKEN"), problems)
    nodes = _parse_nodes(groups, problems)
    if not groups:
        hint = "write `NODE name`, then `SQL >` and a query, indented"
        problems.append(Problem("missing-directive", "a pipe needs a NODE", Location(file), hint))
    tokens = parse_tokens(own, ("READ",), problems)
    dialect = _parse_dialect(directives.get("DIALECT"), default, problems)
    if not nodes:
        return None
    return Pipe(
        name=name,
        nodes=nodes,
        dialect=dialect,
        description=parse_text(directives.get("DESCRIPTION")),
        tags=parse_items(directives.get("TAGS")),
        tokens=tokens,
        location=Location(file),
    )


def _split(entries: Iterable[Entry]) -> tuple[list[Entry], list[list[Entry]]]:
    """The directives of the pipe, wherever they stand, and those of each node."""
    own: list[Entry] = []
    groups: list[list[Entry]] = []
    for entry in entries:
        if entry.keyword == "NODE":
            groups.append([entry])
        elif groups and entry.keyword in _OF_NODES:
            groups[-1].append(entry)
        else:
            own.append(entry)
    return own, groups


def _check_before(own: Iterable[Entry]) -> Iterable[Problem]:
    for entry in own:
        if entry.keyword in _OF_NODES and entry.keyword != "DESCRIPTION":
            message = f"{entry.keyword} stands before the first NODE"
            yield Problem("missing-directive", message, entry.location, "write `NODE name` above it")


def _parse_nodes(groups: Sequence[Sequence[Entry]], problems: list[Problem]) -> tuple[Node, ...]:
    parsed = [parse_node(group, problems) for group in groups]
    nodes = tuple(node for node in parsed if node is not None)
    problems.extend(check_nodes(nodes))
    return nodes


def _parse_dialect(entry: Entry | None, default: Dialect, problems: list[Problem]) -> Dialect:
    if entry is None:
        return default
    found = entry.value.text.lower()
    if found in _DIALECTS:
        return cast(Dialect, found)
    hint = did_you_mean(found, _DIALECTS)
    problems.append(Problem("invalid-value", f"unknown dialect `{entry.value.text[:60]}`", entry.value.location, hint))
    return default
