"""The directives of one NODE to a `Node`.

In: the entries from a NODE up to the next. Out: a `Node`, or None where it has no SQL to run.
Called by pipe. Invariant: a node that is given has a name and SQL; if that is a template, one that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.errors import Problem, did_you_mean
from penstock.model.pipe import Endpoint, Kind, Materialized, Node, Standard
from penstock.parse.copied import COPY_KEYWORDS, parse_copied
from penstock.parse.datafile import Entry
from penstock.parse.directives import parse_name, parse_target, parse_text, single, template_problems

NODE_KEYWORDS = ("SQL", "TYPE", "DATASOURCE", *COPY_KEYWORDS)
LATER_KEYWORDS = (
    "EXPORT_CONNECTION_NAME",
    "EXPORT_SCHEDULE",
    "EXPORT_BUCKET_URI",
    "EXPORT_FILE_TEMPLATE",
    "EXPORT_FORMAT",
    "EXPORT_COMPRESSION",
    "EXPORT_KAFKA_TOPIC",
)
"""Directives of the node type that is not in this version."""

_TYPES = ("standard", "endpoint", "materialized", "copy")
_LATER_TYPES = ("sink",)
_OF_TYPE = {"DATASOURCE": "materialized", **dict.fromkeys(COPY_KEYWORDS, "copy")}
"""The one TYPE that each directive belongs to."""


def parse_node(entries: Sequence[Entry], problems: list[Problem]) -> Node | None:
    """The node that begins with the first entry."""
    head = entries[0]
    directives = single(entries, problems)
    name = parse_name(head.value, "a node", problems)
    kind = _parse_kind(directives, problems)
    sql = directives.get("SQL")
    if sql is None or not sql.value.text.strip():
        place = sql.location if sql else head.location
        problems.append(Problem("missing-directive", f"the node `{head.value.text}` needs SQL", place, "write `SQL >`"))
        return None
    faults = template_problems(sql.value)
    problems.extend(faults)
    if name is None or faults:
        return None
    return Node(name, sql.value, kind, parse_text(directives.get("DESCRIPTION")), head.location)


def check_nodes(nodes: Sequence[Node]) -> Iterator[Problem]:
    """The problems that only all nodes of a pipe together show."""
    first: dict[str, Node] = {}
    for node in nodes:
        if node.name in first:
            hint = f"the first is in line {first[node.name].location.line}"
            yield Problem("duplicate-name", f"a second node `{node.name}`", node.location, hint)
        first.setdefault(node.name, node)
    special = [node for node in nodes if not isinstance(node.kind, Standard)]
    for node in special[1:]:
        message = f"`{special[0].name}` and `{node.name}` both have a TYPE: only one node of a pipe may"
        yield Problem("second-type", message, node.location, "put one of them in a pipe of its own")


def _parse_kind(directives: Mapping[str, Entry], problems: list[Problem]) -> Kind:
    written = directives.get("TYPE")
    name = written.value.text.lower() if written else "standard"
    if written is not None and name not in _TYPES:
        problems.append(_unknown(name, written))
        return Standard()
    problems.extend(_misplaced(name, directives.values()))
    if written is not None and name == "materialized":
        target = parse_target(name, "DATASOURCE", written, directives, problems)
        return Materialized(*target) if target else Standard()
    if written is not None and name == "copy":
        return parse_copied(written, directives, problems) or Standard()
    return Endpoint() if name == "endpoint" else Standard()


def _unknown(name: str, written: Entry) -> Problem:
    place = written.value.location
    if name in _LATER_TYPES:
        return Problem("unsupported-type", f"{name} pipes are not in this version", place, did_you_mean("", _TYPES))
    hint = did_you_mean(name, (*_TYPES, *_LATER_TYPES))
    return Problem("unknown-type", f"unknown TYPE `{written.value.text[:60]}`", place, hint)


def _misplaced(name: str, entries: Iterable[Entry]) -> Iterator[Problem]:
    """Directives of a node of another type."""
    for entry in entries:
        of = _OF_TYPE.get(entry.keyword, name)
        if of != name:
            message = f"{entry.keyword} belongs to a {of} node, not to a node of type {name}"
            yield Problem("misplaced-directive", message, entry.location, f"write `TYPE {of}`, or remove it")
        if entry.keyword in LATER_KEYWORDS:
            message = f"{entry.keyword} is not supported: sink pipes are not in this version"
            yield Problem("unsupported-directive", message, entry.location)
