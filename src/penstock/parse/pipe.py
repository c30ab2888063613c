"""Parses a .pipe file to a `Pipe`, with its nodes and the schedule and target of a copy node.

In: a file's text and the name of its resource. Out: a `Pipe`, or None where no node could be read, and every problem of
the file. Invariants: a node has a name and SQL, and a template in it can be read; at most one node of a pipe has a TYPE
other than standard; a schedule is one that cron understands; what the format accepts and has no meaning here is a
warning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast, get_args

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Text
from penstock.model.pipe import (
    Copied,
    CopyMode,
    Dialect,
    Endpoint,
    Handler,
    Materialized,
    Node,
    NodeKind,
    OnError,
    Pipe,
    Standard,
)
from penstock.parse.classic.directives import ALIASES, IGNORED, classic_pipe_keywords, current_entries
from penstock.parse.connectors.sink import SINK_KEYWORDS, SINK_TYPES, parse_sink
from penstock.parse.datafile import Entry, parse_datafile, split_words
from penstock.parse.directive_values import (
    parse_items,
    parse_name,
    parse_schedule,
    parse_target,
    parse_text,
    parse_tokens,
    strip_quotes,
    template_problems,
    unique_directives,
)
from penstock.parse.engine import ENGINE_KEYWORDS
from penstock.parse.schema import parse_schema
from penstock.parse.sql_syntax.source_text import FUNCTION, names_given
from penstock.template.python_syntax import parse_module

COPY_KEYWORDS = ("TARGET_DATASOURCE", "COPY_SCHEDULE", "COPY_MODE")
_MODES: tuple[str, ...] = get_args(CopyMode)
_POLICIES: tuple[str, ...] = get_args(OnError)


def parse_copy(written: Entry, directives: Mapping[str, Entry], problems: list[Problem]) -> Copied | None:
    """The kind of a copy node. `written` is the value of its TYPE."""
    schedule = parse_schedule(directives.get("COPY_SCHEDULE"), problems)
    mode = _parse_mode(directives.get("COPY_MODE"), problems)
    target = parse_target("copy", "TARGET_DATASOURCE", written, directives, problems)
    return Copied(*target, schedule, mode) if target else None


def _parse_mode(entry: Entry | None, problems: list[Problem]) -> CopyMode:
    """What a run does with the rows of the runs before it; `append` if the file does not say."""
    written = strip_quotes(entry.value).lower() if entry is not None else ""
    if entry is None or written in ("", "append"):
        return "append"
    if written == "replace":
        return "replace"
    message = f"unknown COPY_MODE `{written[:60]}`"
    problems.append(Problem("invalid-value", message, entry.value.location, did_you_mean(written, _MODES)))
    return "append"


HANDLER_KEYWORDS = ("PYTHON", "RETURNS")
NODE_KEYWORDS = ("SQL", *HANDLER_KEYWORDS, "TYPE", "DATASOURCE", "ON_ERROR", *COPY_KEYWORDS, *SINK_KEYWORDS)
_STANDARD_TYPES = ("standard", "default", "")
_TYPES = ("standard", "endpoint", "materialized", "copy", "sink")
_TYPE_OF_DIRECTIVE = {
    "DATASOURCE": "materialized",
    "ON_ERROR": "materialized",
    **dict.fromkeys(HANDLER_KEYWORDS, "endpoint"),
    **dict.fromkeys(COPY_KEYWORDS, "copy"),
    **dict.fromkeys(SINK_KEYWORDS, "sink"),
}
"""The one TYPE that each directive belongs to."""


def parse_node(entries: Sequence[Entry], problems: list[Problem]) -> Node | None:
    """The node that begins with the first of the entries."""
    head = entries[0]
    directives = unique_directives(entries, problems)
    name = parse_name(next(split_words(head.value), head.value), "a node", problems)
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
    handler = parse_handler(directives, problems)
    return Node(name, sql.value, kind, parse_text(directives.get("DESCRIPTION")), head.location, handler)


def check_nodes(nodes: Sequence[Node]) -> Iterator[Problem]:
    """Problems that concern several nodes of a pipe."""
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


def _parse_kind(directives: Mapping[str, Entry], problems: list[Problem]) -> NodeKind:
    written = directives.get("TYPE")
    name = strip_quotes(written.value).lower() if written else ""
    name = "standard" if name in _STANDARD_TYPES else "sink" if name in SINK_TYPES else name
    if written is not None and name not in _TYPES:
        hint = did_you_mean(name, _TYPES)
        message = f"unknown TYPE `{written.value.text[:60]}`"
        problems.append(Problem("unknown-type", message, written.value.location, hint))
        return Standard()
    problems.extend(_misplaced_directives(name, directives.values()))
    if written is not None and name == "materialized":
        target = parse_target(name, "DATASOURCE", written, directives, problems)
        policy = _parse_on_error(directives.get("ON_ERROR"), problems)
        return Materialized(*target, policy) if target else Standard()
    if written is not None and name == "copy":
        return parse_copy(written, directives, problems) or Standard()
    if written is not None and name == "sink":
        return parse_sink(written, directives, problems) or Standard()
    return Endpoint() if name == "endpoint" else Standard()


def _parse_on_error(entry: Entry | None, problems: list[Problem]) -> OnError:
    """What the view does about a row for which its query fails; `stop` if the file does not say."""
    written = strip_quotes(entry.value).lower() if entry is not None else "stop"
    if entry is not None and written not in _POLICIES:
        message = f"unknown ON_ERROR `{written[:60]}`"
        hint = did_you_mean(written, _POLICIES)
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
    return "quarantine" if written == "quarantine" else "stop"


def _misplaced_directives(name: str, entries: Iterable[Entry]) -> Iterator[Problem]:
    """Problems of directives that belong to another type of node."""
    for entry in entries:
        of = _TYPE_OF_DIRECTIVE.get(entry.keyword, name)
        article = "an" if of == "endpoint" else "a"
        if of != name:
            message = f"{entry.keyword} belongs to {article} {of} node, not to a node of type {name}"
            yield Problem("misplaced-directive", message, entry.location, f"write `TYPE {of}`, or remove it")


PIPE_KEYWORDS = ("NODE", "DESCRIPTION", "TAGS", "TOKEN", "DIALECT", *NODE_KEYWORDS)
_NODE_DIRECTIVES = ("DESCRIPTION", *NODE_KEYWORDS)
OTHER_PIPE_KEYWORDS = (*ALIASES, *IGNORED, *classic_pipe_keywords(ENGINE_KEYWORDS))
_DIALECTS: tuple[str, ...] = get_args(Dialect)


def parse_pipe(text: str, file: str, name: str, default: Dialect, problems: list[Problem]) -> Pipe | None:
    """The pipe that a file describes; `default` is the dialect if the file names none."""
    written = parse_datafile(text, file, PIPE_KEYWORDS, problems, OTHER_PIPE_KEYWORDS).entries
    entries = current_entries(written, PIPE_KEYWORDS, problems)
    own, groups = _group_by_node(entries)
    problems.extend(_check_before_first_node(own))
    directives = unique_directives((entry for entry in own if entry.keyword != "TOKEN"), problems)
    nodes = _parse_nodes(groups, problems)
    if not groups:
        hint = "write `NODE name`, then `SQL >` and a query, indented"
        problems.append(Problem("missing-directive", "a pipe needs a NODE", Location(file), hint))
    tokens = parse_tokens(own, ("READ",), problems)
    problems.extend(_check_token_use(own, nodes) if tokens else ())
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


def _check_token_use(own: Iterable[Entry], nodes: Sequence[Node]) -> Iterator[Problem]:
    """A note if tokens may read a pipe that nobody can call: in the classic format its last node was an endpoint."""
    token = next((entry for entry in own if entry.keyword == "TOKEN"), None)
    if token is not None and nodes and all(isinstance(node.kind, Standard) for node in nodes):
        message = "the pipe has a TOKEN and no endpoint: no call reaches it"
        hint = "write `TYPE endpoint` into a node, as `penstock migrate` does, if it is to be called over HTTP"
        yield Problem("classic-format", message, token.location, hint, "warning")


def _group_by_node(entries: Iterable[Entry]) -> tuple[list[Entry], list[list[Entry]]]:
    """The directives of the pipe itself, wherever they are in the file, and those of each node."""
    own: list[Entry] = []
    groups: list[list[Entry]] = []
    for entry in entries:
        if entry.keyword == "NODE":
            groups.append([entry])
        elif groups and entry.keyword in _NODE_DIRECTIVES:
            groups[-1].append(entry)
        else:
            own.append(entry)
    return own, groups


def _check_before_first_node(own: Iterable[Entry]) -> Iterable[Problem]:
    for entry in own:
        if entry.keyword in _NODE_DIRECTIVES and entry.keyword != "DESCRIPTION":
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


def parse_handler(directives: Mapping[str, Entry], problems: list[Problem]) -> Handler | None:
    """The function of a node."""
    python, returns = (directives.get(each) for each in HANDLER_KEYWORDS)
    if python is None and returns is None:
        return None
    if python is None or returns is None:
        given = python or returns
        assert given is not None, "one of them is there"
        missing = "RETURNS" if returns is None else "PYTHON"
        message = f"{given.keyword} needs {missing} beside it"
        hint = "RETURNS has the columns of the rows that the function in PYTHON gives, as a SCHEMA has them"
        problems.append(Problem("missing-directive", message, given.location, hint))
        return None
    found = list(_source_problems(python.value))
    problems.extend(found)
    columns = parse_schema(returns.value, problems)
    if not columns and returns.value.text.strip() == "":
        problems.append(Problem("empty-directive", "RETURNS has no columns", returns.location, "such as `page String`"))
    return None if found or not columns else Handler(python.value, columns)


def _source_problems(source: Text) -> Iterable[Problem]:
    try:
        tree = parse_module(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = (getattr(error, name, None) or 1 for name in ("lineno", "offset"))
        yield Problem("invalid-python", f"PYTHON cannot be read: {error}", source.at(line, column))
        return
    if not any(FUNCTION in names_given(each) for each in tree.body):
        hint = f"end it with `{FUNCTION} = ` and the name of the function, or call the function so"
        yield Problem("invalid-python", f"PYTHON does not say what {FUNCTION} is", source.location, hint)
