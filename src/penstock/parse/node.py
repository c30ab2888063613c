"""The directives of one NODE to a `Node`.

In: the entries from a NODE up to the next. Out: a `Node`, or None where it has no SQL to run.
Called by pipe. Invariant: a node that is given has a name and SQL; if that is a template, one that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from penstock.errors import Problem, did_you_mean
from penstock.model.pipe import Endpoint, Kind, Materialized, Node, Standard
from penstock.parse.datafile import Entry
from penstock.parse.directives import parse_name, parse_text, single, template_problems

NODE_KEYWORDS = ("SQL", "TYPE", "DATASOURCE")
_COPY_KEYWORDS = ("TARGET_DATASOURCE", "COPY_SCHEDULE", "COPY_MODE")
_SINK_KEYWORDS = (
    "EXPORT_CONNECTION_NAME", "EXPORT_SCHEDULE", "EXPORT_BUCKET_URI", "EXPORT_FILE_TEMPLATE", "EXPORT_FORMAT",
    "EXPORT_COMPRESSION", "EXPORT_KAFKA_TOPIC",
)
LATER_KEYWORDS = (*_COPY_KEYWORDS, *_SINK_KEYWORDS)
"""Directives of the node types that are not in this version."""

_TYPES = ("standard", "endpoint", "materialized")
_LATER_TYPES = ("copy", "sink")


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
    target = directives.get("DATASOURCE")
    if name != "materialized":
        problems.extend(_check_other(name, written, directives))
        return Endpoint() if name == "endpoint" else Standard()
    problems.extend(_check_later(directives.values()))
    if target is None or not target.value.text:
        place = target.location if target else written.location if written else None
        hint = "write `DATASOURCE name`, the data source that its rows go to"
        problems.append(Problem("missing-directive", "a materialized node needs a DATASOURCE", place, hint))
        return Standard()
    datasource = parse_name(target.value, "a data source", problems)
    return Materialized(datasource, target.value.location) if datasource else Standard()


def _check_other(name: str, written: Entry | None, directives: Mapping[str, Entry]) -> Iterator[Problem]:
    """What is wrong with a node that is not materialized."""
    if written is not None and name in _LATER_TYPES:
        message = f"{name} pipes are not in this version"
        yield Problem("unsupported-type", message, written.value.location, did_you_mean("", _TYPES))
        return
    if written is not None and name not in _TYPES:
        hint = did_you_mean(name, (*_TYPES, *_LATER_TYPES))
        yield Problem("unknown-type", f"unknown TYPE `{written.value.text[:60]}`", written.value.location, hint)
        return
    target = directives.get("DATASOURCE")
    if target is not None:
        message = f"DATASOURCE belongs to a materialized node, not to a node of type {name}"
        yield Problem("misplaced-directive", message, target.location, "write `TYPE materialized`, or remove it")
    yield from _check_later(directives.values())


def _check_later(entries: Iterable[Entry]) -> Iterator[Problem]:
    for entry in entries:
        if entry.keyword in LATER_KEYWORDS:
            what = "copy" if entry.keyword in _COPY_KEYWORDS else "sink"
            message = f"{entry.keyword} is not supported: {what} pipes are not in this version"
            yield Problem("unsupported-directive", message, entry.location)
