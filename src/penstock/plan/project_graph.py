"""The graph of a project as people draw it: which pipe reads which data source or pipe, and which table it writes.

In: a loaded project. Out: `ProjectGraph`. Invariants: a pipe that compiles has no arrow from a table that it does not
read; one that does not compile is marked, and has the arrows that its text suggests; arrows go the way the rows go.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal, TypeAlias, Union

from sqlglot import exp

from penstock.model.datasource import SERVICE_PREFIX, DataSource, Text
from penstock.model.graph import Graph
from penstock.model.pipe import Copied, Exported, Materialized, Pipe, topic_place
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.service_sources import SERVICE_NAMESPACES, SERVICE_SOURCES
from penstock.parse.project_loader import LoadedProject
from penstock.plan.compiled_project import CompiledProject, compile_project
from penstock.plan.diff.resource_kinds import ResourceKind, pipe_kind
from penstock.plan.quarantine_sources import SUFFIX, is_quarantine
from penstock.sql.syntax.named_tables import find_named_tables
from penstock.sql.syntax.problems import Refused
from penstock.sql.syntax.tree import parse_query
from penstock.template.errors import Fault, TemplateAbort
from penstock.template.parser import is_template
from penstock.template.render_frame import DEPLOY
from penstock.template.rendering import render

ArrowKind: TypeAlias = Literal["reads", "feeds", "copies", "rejects", "takes", "writes"]
"""A pipe reads the start of the arrow; a materialized view feeds its end with every new row; a copy when it runs; a
data source rejects into its quarantine what does not fit, and takes rows from outside; a sink writes them there."""
NodeKind: TypeAlias = Union[ResourceKind, Literal["quarantine", "records", "outside"]]
"""Resources, and what has no file: quarantines and the server's own records, which pipes read, and what is outside:
topics, folders and buckets."""


@dataclass(frozen=True, slots=True)
class ResourceNode:
    """A data source or a pipe, a quarantine or records that a pipe reads, or a place outside."""

    name: str
    kind: NodeKind
    file: str
    """Empty for records of the server and for what is outside; a quarantine has that of its data source."""
    description: str = ""
    is_broken: bool = False
    """Its file, or its SQL, has an error."""


@dataclass(frozen=True, slots=True, order=True)
class Arrow:
    """From where rows are to where they go, by names."""

    start: str
    end: str
    kind: ArrowKind


@dataclass(frozen=True, slots=True)
class ProjectGraph:
    """Everything that a drawing shows."""

    nodes: tuple[ResourceNode, ...]
    """Each after the nodes that it reads, as far as these form no circle."""
    arrows: tuple[Arrow, ...]

    def before(self, name: str) -> tuple[str, ...]:
        """Where the rows of a node come from."""
        return tuple(arrow.start for arrow in self.arrows if arrow.end == name)

    def after(self, name: str) -> tuple[str, ...]:
        """Where the rows of a node go."""
        return tuple(arrow.end for arrow in self.arrows if arrow.start == name)


def draw_project(loaded: LoadedProject, compiled: CompiledProject | None = None) -> ProjectGraph:
    """The graph of a project, or of as much of it as can be read; `compiled` is the project where it was compiled
    before."""
    project = loaded.project
    compiled = compiled or compile_project(project)
    errors = [problem for problem in (*loaded.problems, *compiled.problems) if problem.level == "error"]
    broken = {problem.location.file for problem in errors if problem.location is not None}
    arrows = tuple(sorted({*_find_arrows(project, compiled), *_find_outside(project)}))
    resources = (*map(_node, project.datasources), *map(_node, project.pipes), *_nodes_without_files(project, arrows))
    nodes = {each.name: replace(each, is_broken=each.file in broken) for each in resources}
    return ProjectGraph(tuple(nodes[name] for name in _order(nodes, arrows)), arrows)


def _node(resource: DataSource | Pipe) -> ResourceNode:
    kind: ResourceKind = pipe_kind(resource) if isinstance(resource, Pipe) else "datasource"
    return ResourceNode(resource.name, kind, resource.location.file, resource.description)


def _nodes_without_files(project: Project, arrows: Collection[Arrow]) -> Iterator[ResourceNode]:
    """The quarantines and the records that pipes read, and what is outside."""
    outside = {each.start for each in arrows if each.kind == "takes"} | {
        each.end for each in arrows if each.kind == "writes"
    }
    for name in sorted(outside.difference(project.names)):
        yield ResourceNode(name, "outside", "", "Outside of the server")
    for name in sorted({arrow.start for arrow in arrows}.difference(project.names, outside)):
        source = project.datasource(name.removesuffix(SUFFIX))
        if source is not None:
            yield ResourceNode(name, "quarantine", source.location.file, f"The rows that {source.name} rejected")
        else:
            yield ResourceNode(name, "records", "", "Records of the server")


def _find_arrows(project: Project, compiled: CompiledProject) -> Iterator[Arrow]:
    names = frozenset(project.names)
    known = {pipe: {read.datasource for read in reads} for pipe, reads in compiled.reads.items()}
    for pipe in project.pipes:
        tables = _named_as_tables(pipe)
        own = {node.name for node in pipe.nodes} | {pipe.name}
        reads = _find_reads(project, pipe.name, sorted(tables.intersection(names) - own), known)
        for read in (*reads, *_find_records(tables), *_named_in_python(pipe, names)):
            yield Arrow(read, pipe.name, "reads")
        for read in _find_quarantines(project, pipe, tables, compiled.quarantines):
            yield Arrow(read, pipe.name, "reads")
            yield Arrow(read.removesuffix(SUFFIX), read, "rejects")
        for kind in (node.kind for node in pipe.nodes):
            if isinstance(kind, Materialized) and kind.datasource in names:
                yield Arrow(pipe.name, kind.datasource, "feeds")
            if isinstance(kind, Copied) and kind.datasource in names:
                yield Arrow(pipe.name, kind.datasource, "copies")


def _find_outside(project: Project) -> Iterator[Arrow]:
    """Where rows come from and go to that are no resources of the project, by their addresses."""
    for source in project.datasources:
        if source.kafka is not None:
            yield Arrow(topic_place(source.kafka.topic), source.name, "takes")
        if source.files is not None:
            yield Arrow(source.files.place, source.name, "takes")
    for pipe in project.pipes:
        kind = pipe.exported.kind if pipe.exported is not None else None
        if isinstance(kind, Exported) and kind.place:
            yield Arrow(pipe.name, kind.place, "writes")


def _find_reads(
    project: Project, pipe: str, tables: Iterable[str], known: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """The resources that a pipe reads, of those that it names as tables. A compiled pipe knows the data sources it
    reads in the end: a name from which none of these comes is a column or an alias."""
    for name in tables:
        if pipe not in known:
            yield name
        elif project.datasource(name) is not None:
            if name in known[pipe]:
                yield name
        elif name not in known or set(known[name]) <= set(known[pipe]):
            yield name


def _find_quarantines(
    project: Project, pipe: Pipe, tables: frozenset[str], known: Mapping[str, Collection[str]]
) -> Iterator[str]:
    """The quarantines that a pipe reads if it compiles, of the `tables` that it names."""
    for name in sorted(tables.difference(project.names)):
        if is_quarantine(project, name) and name in known.get(pipe.name, (name,)):
            yield name


def _find_records(tables: Collection[str]) -> Iterator[str]:
    """The records of the server among the tables that a pipe names, by the first of their namespaces."""
    for namespace, _, name in (each.partition(".") for each in sorted(tables)):
        if namespace in SERVICE_NAMESPACES and f"{SERVICE_PREFIX}{name}" in SERVICE_SOURCES:
            yield f"{SERVICE_NAMESPACES[0]}.{name}"


_TABLE_IN_PYTHON = re.compile(r"TableName\('([^'\n]+)'\)")
"""A table that the function of an endpoint names as an object of the project."""


def _named_in_python(pipe: Pipe, names: Collection[str]) -> Iterator[str]:
    """The resources that the function of an endpoint has as objects, which it may ask for; those that it only names in
    its SQL are known when it runs."""
    texts = [node.handler.source.text for node in pipe.nodes if node.handler is not None]
    yield from sorted({name for text in texts for name in _TABLE_IN_PYTHON.findall(text) if name in names})


def _named_as_tables(pipe: Pipe) -> frozenset[str]:
    """The names that stand in the SQL of a pipe where a table stands, as `namespace.name` where that is written. A
    branch that a template does not render is read as text."""
    found: set[str] = set()
    for sql in (node.sql for node in pipe.nodes):
        if is_template(sql.text):
            found |= find_named_tables(sql.text)
            try:
                sql = Text(render(sql, DEPLOY).text, sql.location)
            except (Fault, TemplateAbort):
                continue
        found |= _tables_of_query(sql)
    return frozenset(found)


def _tables_of_query(sql: Text) -> frozenset[str]:
    try:
        tree = parse_query(sql)
    except Refused:
        return find_named_tables(sql.text)
    tables = {table.name for table in tree.find_all(exp.Table) if not table.db}
    spaced = {f"{table.db}.{table.name}" for table in tree.find_all(exp.Table) if table.db}
    lists = {
        each.args["field"].name for each in tree.find_all(exp.In) if isinstance(each.args.get("field"), exp.Column)
    }
    return frozenset((tables | lists) - {each.alias for each in tree.find_all(exp.CTE)}) | spaced


def _order(names: Collection[str], arrows: Collection[Arrow]) -> tuple[str, ...]:
    """The names in the order of the data; where it goes in a circle, in alphabetical order."""
    reads: dict[str, set[str]] = {name: set() for name in names}
    for arrow in arrows:
        reads[arrow.end].add(arrow.start)
    graph = Graph.of(reads)
    return tuple(sorted(names)) if graph.cycle() else graph.order()
