"""A project written as Python: the objects that stand for its data sources and pipes.

In: a project as read. Out: the text of a module, and which resources are in it. Invariant: what is written is only a
proposal: the caller reads it again, and keeps the datafile of whatever did not come back the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from penstock.model.datasource import Column, DataSource
from penstock.model.pipe import Copied, Endpoint, Exported, Materialized, Node, Pipe, Standard
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Nullable, Type

_HEAD = '''"""Written by `penstock pull --as python`."""

from typing import Annotated, Any

from pydantic import BaseModel

from penstock import *

'''
PLAIN_TYPES = {
    "String": "str",
    "Int64": "int",
    "Float64": "float",
    "Bool": "bool",
    **{f"{sign}Int{bits}": f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64) if sign or bits != 64},
    "Float32": "Float32",
    "DateTime": "DateTime",
}
_RESULT = "query"
"""The name that the last node of a pipe has which was written in Python."""


@dataclass(frozen=True, slots=True)
class PythonModule:
    """A module as the text of each object that it declares, by its name."""

    objects: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return _HEAD + "".join(text for _, text in self.objects)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.objects)

    def resource_at(self, line: int) -> str:
        """The name of the object in whose text a line is; empty for a line of none."""
        last = _HEAD.count("\n")
        for name, text in self.objects:
            first, last = last, last + text.count("\n")
            if first < line <= last:
                return name
        return ""


def write_module(project: Project, left_out: Collection[str] = ()) -> PythonModule:
    """The objects of a project, but for those left out and for pipes that write into these."""
    tables = [each for each in project.datasources if each.name not in left_out]
    objects = [(each.name, _join(_table(each))) for each in tables]
    names = frozenset(each.name for each in tables)
    for pipe in project.pipes:
        text = "" if pipe.name in left_out else _join(_pipe(pipe, names))
        objects += [(pipe.name, text)] if text else []
    return PythonModule(tuple(objects))


def _join(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def is_same(written: DataSource | Pipe | None, wanted: DataSource | Pipe) -> bool:
    """Whether a resource came back as it was. The name of the node whose rows are the pipe's does not count."""
    if isinstance(wanted, Pipe) and isinstance(written, Pipe):
        return _without_name(written) == _without_name(wanted)
    return written == wanted


def _without_name(pipe: Pipe) -> Pipe:
    return replace(pipe, nodes=(*pipe.nodes[:-1], replace(pipe.nodes[-1], name=_RESULT)))


def _table(source: DataSource) -> Iterator[str]:
    row = _class_name(source.name)
    yield f"\nclass {row}(BaseModel):"
    yield from (f"    {column.name}: {_annotation(column)}" for column in source.columns)
    yield f"\n\n{_variable(source.name)} = OlapTable[{row}]("
    yield f"    {source.name!r},"
    yield "    OlapConfig("
    yield from (f"        {name}={value}," for name, value in _options(source))
    yield "    ),\n)\n"


def _annotation(column: Column) -> str:
    python, markers = _type(column.type)
    if column.json_path is not None:
        markers.append(f"JsonPath({column.json_path!r})")
    if column.default is not None:
        markers.append(f"ClickHouseDefault({column.default.text!r})")
    if column.codec is not None:
        markers.append(f"ClickHouseCodec({column.codec!r})")
    if column.renamed_from is not None:
        markers.append(f"RenamedFrom({column.renamed_from!r})")
    return f"Annotated[{', '.join([python, *markers])}]" if markers else python


def _type(of: Type) -> tuple[str, list[str]]:
    """A type of Python, and what else says which type of a column it is."""
    if isinstance(of, Nullable) and str(of.of) in PLAIN_TYPES:
        return f"{PLAIN_TYPES[str(of.of)]} | None", []
    plain = PLAIN_TYPES.get(str(of))
    return (plain, []) if plain else ("Any", [f"ClickHouseType({str(of)!r})"])


def _options(source: DataSource) -> Iterator[tuple[str, str]]:
    engine = source.engine
    arguments = {
        "ver": engine.version if engine.name == "VersionedCollapsingMergeTree" else engine.ver,
        "is_deleted": engine.is_deleted,
        "sign": engine.sign,
        "columns": list(engine.summed) or None,
    }
    given = ", ".join(f"{name}={value!r}" for name, value in arguments.items() if value is not None)
    yield "engine", f"{engine.name}Engine({given})"
    texts = {
        "order_by_expression": _key(engine.sorting_key),
        "partition_by": _key(engine.partition_key),
        "primary_key_expression": _key(engine.primary_key),
        "sample_by_expression": engine.sampling_key,
        "ttl": engine.ttl,
        "description": source.description,
        "renamed_from": source.renamed_from,
        "forward_query": source.forward_query.text if source.forward_query is not None else None,
    }
    yield from ((name, repr(value)) for name, value in texts.items() if value)
    if engine.settings:
        yield "settings", repr(dict(engine.settings))
    if source.tags:
        yield "tags", repr(list(source.tags))
    yield from _tokens(source)
    if not source.keeps_history:
        yield "backfill", "False"
    if source.is_protected:
        yield "life_cycle", "LifeCycle.DELETION_PROTECTED"


def _key(parts: Sequence[str]) -> str:
    return ", ".join(parts)


def _tokens(of: DataSource | Pipe) -> Iterator[tuple[str, str]]:
    if of.tokens:
        yield "tokens", f"[{', '.join(f'Token({each.name!r}, {each.scope!r})' for each in of.tokens)}]"


def _pipe(pipe: Pipe, tables: Collection[str]) -> Iterator[str]:
    """The object of a pipe; nothing if there is none for its kind, or for its target."""
    *earlier, last = pipe.nodes
    described = [("metadata", repr({"description": pipe.description}))] if pipe.description else []
    match last.kind:
        case Materialized(datasource=target) if target in tables and not earlier:
            yield from _materialized(pipe, target, described)
        case Copied(datasource=target) if target in tables and not earlier:
            yield from _copy(pipe, target, last.kind)
        case Exported() if not earlier:
            yield from _sink(pipe, last.kind)
        case Endpoint():
            yield from _endpoint(pipe)
        case Standard():
            named = [("name", repr(pipe.name)), ("select_statement", _sql(last.sql.text))]
            yield from _call("View", [*named, *_nodes(earlier), *described])


Arguments: TypeAlias = Sequence[tuple[str, str]]


def _call(called: str, arguments: Arguments) -> Iterator[str]:
    yield f"{called}("
    yield from (f"    {name}={value}," for name, value in arguments)
    yield ")"


def _materialized(pipe: Pipe, target: str, described: Arguments) -> Iterator[str]:
    named = ("materialized_view_name", repr(pipe.name))
    options = [named, ("select_tables", "[]"), ("select_statement", _sql(pipe.nodes[-1].sql.text)), *described]
    given = "\n".join(_call("MaterializedViewOptions", options))
    arguments = [("options", given), ("target_table", _variable(target))]
    yield from _call(f"MaterializedView[{_class_name(target)}]", arguments)


def _copy(pipe: Pipe, target: str, kind: Copied) -> Iterator[str]:
    options = [("schedule", repr(kind.schedule)), ("mode", repr(kind.mode)), *_tokens(pipe), *_description(pipe)]
    named = [("name", repr(pipe.name)), ("select_statement", _sql(pipe.nodes[-1].sql.text))]
    given = "\n".join(_call("CopyOptions", options))
    yield from _call("CopyPipe", [*named, ("target_table", _variable(target)), ("options", given)])


_SINK_OPTIONS = {
    "EXPORT_BUCKET_URI": "bucket_uri",
    "EXPORT_FILE_TEMPLATE": "file_template",
    "EXPORT_FORMAT": "format",
    "EXPORT_COMPRESSION": "compression",
    "EXPORT_STRATEGY": "strategy",
    "EXPORT_KAFKA_TOPIC": "kafka_topic",
}


def _sink(pipe: Pipe, kind: Exported) -> Iterator[str]:
    """The sink; nothing where it is written with directives that only datafiles have, or has no place."""
    written = {each: value for each, value in kind.options if each != "EXPORT_SCHEDULE"}
    places = [each for each in ("EXPORT_BUCKET_URI", "EXPORT_KAFKA_TOPIC") if each in written]
    if not written.keys() <= _SINK_OPTIONS.keys() or len(places) != 1:
        return
    options = [("connection", kind.connection), *((_SINK_OPTIONS[each], value) for each, value in written.items())]
    options += [("schedule", kind.schedule)] if kind.schedule is not None else []
    shown = [(name, repr(value)) for name, value in options]
    given = "\n".join(_call("SinkOptions", [*shown, *_tokens(pipe), *_description(pipe)]))
    named = [("name", repr(pipe.name)), ("select_statement", _sql(pipe.nodes[-1].sql.text))]
    yield from _call("SinkPipe", [*named, ("options", given)])


def _endpoint(pipe: Pipe) -> Iterator[str]:
    *earlier, last = pipe.nodes
    if last.handler is not None:
        return  # its function is text, which stays a datafile
    query = [*_nodes(earlier), ("sql", _sql(last.sql.text))]
    arguments = [("name", repr(pipe.name)), *query, *_tokens(pipe), *_description(pipe)]
    yield from _call("Api[None, BaseModel]", arguments)


def _nodes(earlier: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """The queries before the last one, by name."""
    if earlier:
        yield "nodes", f"{{{', '.join(f'{each.name!r}: {_node(each)}' for each in earlier)}}}"


def _node(node: Node) -> str:
    sql = _sql(node.sql.text)
    return f"Node({sql}, description={node.description!r})" if node.description else sql


def _description(pipe: Pipe) -> Iterator[tuple[str, str]]:
    if pipe.description:
        yield "description", repr(pipe.description)


def _sql(text: str) -> str:
    """SQL as a literal: over several lines where it has some."""
    if "\n" not in text or "\\" in text or '"""' in text:
        return repr(text)
    return f'"""\n{text}\n"""'


def _class_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Row"


def _variable(name: str) -> str:
    return f"table_{name}"
