"""Writes the objects of a Python project as datafiles.

In: declared objects. Out: a `WrittenFile` for each, and problems. Invariants: one object is one file, so that the one
parser of datafiles has all rules of types, keys, engines and SQL; an option that no datafile can say is a problem,
never left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from typing import Any

from pydantic import BaseModel

from penstock.api.objects.columns import columns_of
from penstock.api.objects.declarations import MOST_OBJECTS, Declared
from penstock.api.objects.endpoints import Api
from penstock.api.objects.engines import MergeTreeEngine, NullEngine, TableEngine, VersionedCollapsingMergeTreeEngine
from penstock.api.objects.field_rules import FieldFault, class_rules, models_within
from penstock.api.objects.nodes import Node
from penstock.api.objects.sinks import SinkPipe
from penstock.api.objects.tables import LifeCycle, OlapConfig, OlapTable, Token
from penstock.api.objects.view_functions import ViewFunction
from penstock.api.objects.views import CopyPipe, MaterializedView, View
from penstock.api.project.api_template import name_faults, template_of
from penstock.api.project.datafile_text import WrittenFile, sql_lines
from penstock.api.project.handler_text import render_handler
from penstock.api.project.source_files import LinePlace, SourceFiles
from penstock.api.project.source_places import INDENT
from penstock.api.project.versioned_names import name_versions
from penstock.api.project.view_functions import ViewCalls, ViewSql
from penstock.errors import Level, Location, Problem
from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.source_text import EXTERNALLY_MANAGED, NAME

_WORD = re.compile(r"\w+")
_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")
LAST_NODE = "query"
"""The name of the node whose rows are those of the pipe."""


@dataclass
class Rendering:
    """The datafiles of a project, and what is wrong with its objects."""

    sources: SourceFiles
    files: list[WrittenFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """The names of all objects."""
    views: Mapping[Declared, ViewSql] = field(default_factory=dict)
    """What the functions gave that are views."""
    checked: set[type[BaseModel]] = field(default_factory=set)
    """The models whose problems have been said."""
    checked_rules: set[type[BaseModel]] = field(default_factory=set)
    """Those whose rules have been said, also models inside a column."""

    def add_problem(self, code: str, message: str, place: Location, hint: str | None, level: Level = "error") -> None:
        self.problems.append(Problem(code, message, place, hint, level))


def render(declared: Sequence[Declared], sources: SourceFiles, views: ViewCalls) -> Rendering:
    """The datafiles of objects. Two objects of one name, and a name that no file can have, are problems."""
    into = Rendering(sources, problems=list(views.problems), views=views.found)
    first: dict[str, Declared] = {}
    declared = [each for each in declared if each.has_file]
    if len(declared) > MOST_OBJECTS:
        message = f"the project declares {len(declared):,} objects, and may declare {MOST_OBJECTS:,}"
        place = sources.call_location(declared[MOST_OBJECTS].location)
        into.add_problem("too-many-objects", message, place, "make several projects of it")
        return into
    for each in declared:
        place = sources.call_location(each.location)
        if not NAME.fullmatch(each.ref):
            hint = "letters, digits and underscores; it does not begin with a digit"
            into.add_problem("invalid-name", f"{each.ref!r} cannot be the name of {type(each).__name__}", place, hint)
            continue
        earlier = first.setdefault(each.ref, each)
        if earlier is not each:
            hint = f"the first is {type(earlier).__name__} in {sources.call_location(earlier.location)}"
            into.add_problem("duplicate-name", f"a second object `{each.ref}`", place, hint)
            continue
        into.names.add(each.ref)
    for each in declared:
        if first.get(each.ref) is each:
            _try_to_render(each, into)
    return into


def _try_to_render(each: Declared, into: Rendering) -> None:
    """Render an object; a value that no argument may have, which no rule looks for, is a problem, too."""
    try:
        _render_object(each, into)
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        message = f"an argument of {type(each).__name__} `{each.ref}` has a value that it cannot have"
        hint = f"{type(error).__name__}: {error}"[:200]
        into.add_problem("invalid-declaration", message, into.sources.call_location(each.location), hint)


def _render_object(each: Declared, into: Rendering) -> None:
    place = into.sources.call_location(each.location)
    if isinstance(each, OlapTable):
        _render_table(each, _start_file("datasources", ".datasource", each, into), into)
    elif isinstance(each, MaterializedView):
        _render_materialized(each, _start_file("materializations", ".pipe", each, into), into)
    elif isinstance(each, ViewFunction):
        if each in into.views:
            _render_function(each, _start_file("materializations", ".pipe", each, into), into)
    elif isinstance(each, CopyPipe):
        _render_copy(each, _start_file("copies", ".pipe", each, into), into)
    elif isinstance(each, SinkPipe):
        _render_sink(each, _start_file("sinks", ".pipe", each, into), into)
    elif isinstance(each, View):
        _render_view(each, _start_file("pipes", ".pipe", each, into), into)
    elif isinstance(each, Api):
        _render_endpoint(each, _start_file("endpoints", ".pipe", each, into), into)
    else:
        into.add_problem("invalid-declaration", f"{type(each).__name__} is no object of a project", place, None)


def _start_file(folder: str, suffix: str, each: Declared, into: Rendering) -> WrittenFile:
    place = into.sources.call_location(each.location)
    file = WrittenFile(f"{folder}/{each.ref}{suffix}", place, into.problems)
    file.line(f"# Made from {place.file} by Penstock: change it there, not here.")
    into.files.append(file)
    return file


def _render_table(table: OlapTable[Any], file: WrittenFile, into: Rendering) -> None:
    config = table.config
    _refuse_options(table, into)
    place = into.sources.argument_location
    description = config.description or str(config.metadata.get("description") or "")
    file.prose("DESCRIPTION", description, place(table, "description", "metadata"))
    if config.tags and file.is_one_line(", ".join(config.tags), place(table, "tags")):
        file.line(f"TAGS {', '.join(config.tags)}", place(table, "tags"))
    _write_tokens(table, config.tokens, file, into)
    if config.renamed_from is not None:
        file.directive("RENAMED_FROM", config.renamed_from, place(table, "renamed_from"))
    keys = _write_schema(table, file, into)
    _write_engine(config.engine or MergeTreeEngine(), table, file, into)
    _write_keys(table, keys, file, into)
    if not config.backfill:
        file.line("BACKFILL skip", place(table, "backfill"))
    if config.life_cycle is LifeCycle.DELETION_PROTECTED:
        file.line("LIFE_CYCLE deletion_protected", place(table, "life_cycle"))
    if config.indexes:
        file.line("INDEXES >", place(table, "indexes"))
        for index in config.indexes:
            text = f"{index.name} {index.expression} TYPE {index.type} GRANULARITY {index.granularity}"
            file.line(f"{INDENT}{text}", place(table, "indexes"))
    if config.forward_query is not None:
        lines = sql_lines(config.forward_query)
        file.sql("FORWARD_QUERY", lines, into.sources.text_places(table, "forward_query", lines))


def _refuse_options(table: OlapTable[Any], into: Rendering) -> None:
    """What a table's config says and this version cannot do."""
    config = table.config
    refused = (
        (
            "order_by_fields",
            isinstance(config.order_by_fields, str),
            "order_by_fields is a list of names",
            f'write order_by_fields=["{config.order_by_fields}"], or order_by_expression',
        ),
        (
            "order_by_fields",
            not isinstance(config.order_by_fields, str)
            and len({*config.order_by_fields}) < len(config.order_by_fields),
            "order_by_fields has a field twice",
            "keep one of the two",
        ),
        (
            "version",
            config.version is not None and not _VERSION.fullmatch(str(config.version)),
            f"{config.version!r} is no version: it is whole numbers with dots between them",
            'such as version="0.1"',
        ),
        (
            "life_cycle",
            config.life_cycle is LifeCycle.EXTERNALLY_MANAGED,
            "LifeCycle.EXTERNALLY_MANAGED is not in this version",
            EXTERNALLY_MANAGED,
        ),
        ("metadata", bool(set(config.metadata) - {"description"}), "metadata has a description only", None),
        (
            "order_by_expression",
            bool(config.order_by_fields and config.order_by_expression),
            "order_by_fields and order_by_expression are two sorting keys",
            "keep one of them",
        ),
    )
    for name, is_given, message, hint in refused:
        if is_given:
            into.add_problem("unsupported-option", message, into.sources.argument_location(table, name), hint)


def _write_schema(table: OlapTable[Any], file: WrittenFile, into: Rendering) -> list[str]:
    """Write the SCHEMA; the names of the columns that are `Key`."""
    model = table.row_model
    _check_class(model, table, into)
    columns = list(columns_of(model))
    for inner in models_within(model):
        _check_rules(inner, into)
    written = [each for each in columns if each.text]
    file.line("SCHEMA >", _class_place(model, into))
    for each in columns:
        place = into.sources.field_location(model, each.field) or file.location
        if model not in into.checked:
            for fault in each.faults:
                _add_fault(each.field, fault, place, into)
        if each.text and file.is_unbroken(each.text, place):
            if each.description:
                # Two brackets would be taken for a template.
                file.line(f"{INDENT}-- {' '.join(each.description.replace('{', '(').split())}", place)
            file.line(f"{INDENT}{each.text}{',' if each is not written[-1] else ''}", place)
    into.checked.add(model)
    return [each.field for each in columns if each.is_key]


def _class_place(model: type[BaseModel], into: Rendering) -> Location | None:
    """Where the class of a model is defined; None for one that no class in a file defines."""
    found = into.sources.class_of(model)
    if found is None or not found[1]:
        return None
    file, nodes = found
    return Location(file.shown, nodes[0].lineno, nodes[0].col_offset + 1)


def _add_fault(field: str, fault: FieldFault, place: Location, into: Rendering) -> None:
    """A fault of a column, at the field that says it: that of a model in the column, for a fault of that."""
    level: Level = "warning" if fault.is_warning else "error"
    code = "unchecked-rule" if fault.is_warning else "invalid-column"
    if fault.model is not None:
        field, place = fault.field, into.sources.field_location(fault.model, fault.field) or place
    found = Problem(code, f"`{field}`: {fault.message}", place, fault.hint, level)
    if found not in into.problems:  # a model may be in several columns
        into.problems.append(found)


def _check_class(model: type[BaseModel], table: Declared, into: Rendering) -> None:
    """Problems of the class itself: two of one name, of which only the last could be found again."""
    found = into.sources.class_of(model)
    if model in into.checked or found is None:
        return
    file, nodes = found
    if len(nodes) > 1:
        place = Location(file.shown, nodes[-1].lineno, nodes[-1].col_offset + 1)
        hint = f"the first is in line {nodes[0].lineno}; rename one of them"
        into.add_problem("duplicate-name", f"a second class `{model.__name__}`", place, hint)


def _check_rules(model: type[BaseModel], into: Rendering) -> None:
    """What a class does with its values, and rows of a table do not go through."""
    names, found = class_rules(model), into.sources.class_of(model)
    if model in into.checked_rules or not names or found is None or not found[1]:
        return
    into.checked_rules.add(model)
    file, nodes = found
    place = Location(file.shown, nodes[0].lineno, nodes[0].col_offset + 1)
    message = f"`{model.__name__}` has rules, validators, serializers or computed fields, which rows do not go through"
    into.add_problem("unchecked-rule", message, place, f"they are: {', '.join(names[:5])}", "warning")


_ENGINE_DIRECTIVES = {
    "ver": "ENGINE_VER",
    "is_deleted": "ENGINE_IS_DELETED",
    "columns": "ENGINE_COLUMNS",
    "sign": "ENGINE_SIGN",
}


def _write_engine(engine: TableEngine, table: Declared, file: WrittenFile, into: Rendering) -> None:
    place = into.sources.argument_location(table, "engine")
    file.directive("ENGINE", engine.kind, place)
    for each in fields(engine):
        value = getattr(engine, each.name)
        if not value:
            continue
        keyword = _ENGINE_DIRECTIVES[each.name]
        if each.name == "ver" and isinstance(engine, VersionedCollapsingMergeTreeEngine):
            keyword = "ENGINE_VERSION"
        file.directive(keyword, value if isinstance(value, str) else ", ".join(value), place)


def _write_keys(table: OlapTable[Any], keys: list[str], file: WrittenFile, into: Rendering) -> None:
    config: OlapConfig = table.config
    place = into.sources.argument_location
    # What keeps no rows has no order; its Key columns say that of the table behind it.
    own = [] if isinstance(config.engine, NullEngine) else keys
    sorting = config.order_by_expression or ", ".join(config.order_by_fields or own)
    settings = ", ".join(f"{name} = {value}" for name, value in config.settings.items())
    values = (
        ("ENGINE_PARTITION_KEY", config.partition_by, ("partition_by",)),
        ("ENGINE_SORTING_KEY", sorting, ("order_by_fields", "order_by_expression")),
        ("ENGINE_PRIMARY_KEY", config.primary_key_expression, ("primary_key_expression",)),
        ("ENGINE_SAMPLING_KEY", config.sample_by_expression, ("sample_by_expression",)),
        ("ENGINE_TTL", config.ttl, ("ttl",)),
        ("ENGINE_SETTINGS", settings, ("settings",)),
    )
    for keyword, value, names in values:
        if value:
            file.directive(keyword, value, place(table, *names))


def _write_tokens(each: Declared, tokens: Sequence[Token], file: WrittenFile, into: Rendering) -> None:
    for token in tokens:
        file.directive("TOKEN", f"{token.name} {token.scope}", into.sources.argument_location(each, "tokens"))


def _write_node(each: Declared, text: str, read: Sequence[Declared], file: WrittenFile, into: Rendering) -> None:
    """The last node of a pipe. A node has a name of its own, since a pipe's name is the pipe."""
    before = sql_lines(text)
    places = into.sources.text_places(each, "select_statement", before)
    file.line(f"NODE {LAST_NODE}")
    _write_sql(each, SqlLines(before, places), read, file, into)


@dataclass(frozen=True, slots=True)
class SqlLines:
    """The lines of SQL with their places in Python."""

    lines: list[str]
    places: list[LinePlace]


def _write_sql(each: Declared, sql: SqlLines, read: Sequence[Declared], file: WrittenFile, into: Rendering) -> None:
    """The SQL of a node, in which the tables that are read have the names under which they are stored."""
    named = name_versions("\n".join(sql.lines), read, into.names)
    if named.fault:
        hint = "write {table}, which is the name of the one you mean"
        into.add_problem("invalid-declaration", named.fault, sql.places[0].location, hint)
    lines = sql_lines(named.text)
    file.sql("SQL", lines, moved_places(sql.places, sql.lines, lines))
    file.line("")


def _check_read(each: Declared, option: str, texts: Sequence[str], read: Sequence[Declared], into: Rendering) -> None:
    """Warn of a table that an object says it reads, and that its SQL does not."""
    words = set(_WORD.findall("\n".join(texts)))
    for table in read:
        if not {table.ref, table.name} & words:
            message = f"{option} has `{table.ref}`, which the SQL does not read"
            hint = "name there what the SQL reads, or let the SQL read it: FROM {table}"
            place = into.sources.argument_location(each, option)
            into.add_problem("unread-source", message, place, hint, "warning")


def _render_function(view: ViewFunction[Any], file: WrittenFile, into: Rendering) -> None:
    given = into.views[view]
    place = into.sources.argument_location
    file.prose("DESCRIPTION", str(view.metadata.get("description") or ""), place(view, "metadata"))
    named = name_versions("\n".join(given.lines), view.sources if given.dialect == "clickhouse" else (), into.names)
    if named.fault:
        hint = "write {table}, which is the name of the one you mean"
        into.add_problem("invalid-declaration", named.fault, given.places[0].location, hint)
    lines = named.text.split("\n")
    if given.dialect == "spark":
        file.line("DIALECT spark")
    file.line(f"NODE {LAST_NODE}")
    file.sql("SQL", lines, moved_places(given.places, given.lines, lines))
    file.line("")
    file.line("TYPE materialized")
    file.directive("DATASOURCE", view.target_table.ref, place(view, "target"))


def _render_materialized(view: MaterializedView[Any], file: WrittenFile, into: Rendering) -> None:
    options = view.options
    place = into.sources.argument_location
    versions = [into.sources.call_location(each.location) for each in view.versions_of_name]
    if view.named_target is None and versions:
        message = f"the target `{view.target_table.name}` is given by its name only, which makes a table of no version"
        hint = f"write target_table= and the OlapTable that is made in {versions[-1]}"
        into.add_problem("target-by-name", message, place(view, "table_name"), hint, "warning")
    if view.named_target is not None:
        meant = into.sources.call_location(view.named_target.location)
        message = f"the target `{view.target_table.name}` is given by its name only"
        hint = f"write target_table= and the OlapTable that is made in {meant}"
        into.add_problem("target-by-name", message, place(view, "table_name"), hint, "warning")
    _check_models(view, into)
    file.prose("DESCRIPTION", str(options.metadata.get("description") or ""), place(view, "metadata"))
    _check_read(view, "select_tables", [options.select_statement], options.select_tables, into)
    _write_node(view, options.select_statement, options.select_tables, file, into)
    file.line("TYPE materialized")
    file.directive("DATASOURCE", view.target_table.ref, place(view, "table_name", "target_table"))


def _check_models(view: MaterializedView[Any], into: Rendering) -> None:
    """A view's model is that of its target: the same class, or one with the same columns."""
    mine, target = view.row_model, view.target_table.row_model
    if mine is target:
        return
    own, wanted = ({each.field: each.text for each in columns_of(model)} for model in (mine, target))
    differing = sorted(name for name in own.keys() | wanted.keys() if own.get(name) != wanted.get(name))
    if differing:
        message = f"`{mine.__name__}` is not the model of the target `{view.target_table.name}`: {differing[0]} differs"
        hint = f"write MaterializedView[{target.__name__}]"
        into.add_problem("invalid-declaration", message, into.sources.call_location(view.location), hint)


def _render_view(view: View, file: WrittenFile, into: Rendering) -> None:
    place = into.sources.argument_location(view, "metadata")
    file.prose("DESCRIPTION", str(view.metadata.get("description") or ""), place)
    for name, node in view.nodes.items():
        lines = sql_lines(node.sql)
        places = into.sources.text_places(view, "nodes", lines, name)
        _start_node(name, node, places, file)
        _write_sql(view, SqlLines(lines, places), view.base_tables, file, into)
    texts = [view.select_statement, *(each.sql for each in view.nodes.values())]
    _check_read(view, "base_tables", texts, view.base_tables, into)
    _write_node(view, view.select_statement, view.base_tables, file, into)


def _start_node(name: str, node: Node, places: Sequence[LinePlace], file: WrittenFile) -> None:
    file.line(f"NODE {name}", places[0].location)
    file.prose("DESCRIPTION", node.description, places[0].location)


def _render_copy(copy: CopyPipe, file: WrittenFile, into: Rendering) -> None:
    options, place = copy.options, into.sources.argument_location
    file.prose("DESCRIPTION", options.description or "", place(copy, "description"))
    _write_tokens(copy, options.tokens, file, into)
    _check_read(copy, "select_tables", [copy.select_statement], options.select_tables, into)
    _write_node(copy, copy.select_statement, options.select_tables, file, into)
    file.line("TYPE copy")
    file.directive("TARGET_DATASOURCE", copy.target_table.ref, place(copy, "target_table"))
    file.directive("COPY_MODE", options.mode, place(copy, "mode"))
    if options.schedule is not None:
        file.directive("COPY_SCHEDULE", options.schedule, place(copy, "schedule"))


_SINK_DIRECTIVES = {
    "connection": "EXPORT_CONNECTION_NAME",
    "schedule": "EXPORT_SCHEDULE",
    "bucket_uri": "EXPORT_BUCKET_URI",
    "file_template": "EXPORT_FILE_TEMPLATE",
    "format": "EXPORT_FORMAT",
    "compression": "EXPORT_COMPRESSION",
    "strategy": "EXPORT_STRATEGY",
    "kafka_topic": "EXPORT_KAFKA_TOPIC",
}


def _render_sink(sink: SinkPipe, file: WrittenFile, into: Rendering) -> None:
    options, place = sink.options, into.sources.argument_location
    file.prose("DESCRIPTION", options.description or "", place(sink, "description"))
    _write_tokens(sink, options.tokens, file, into)
    _check_read(sink, "select_tables", [sink.select_statement], options.select_tables, into)
    _write_node(sink, sink.select_statement, options.select_tables, file, into)
    file.line("TYPE sink")
    for name, keyword in _SINK_DIRECTIVES.items():
        value = getattr(options, name)
        if value is not None:
            file.directive(keyword, value, place(sink, name))


def _render_endpoint(api: Api[Any, Any], file: WrittenFile, into: Rendering) -> None:
    file.prose("DESCRIPTION", api.description or "", into.sources.argument_location(api, "description"))
    _write_tokens(api, api.tokens, file, into)
    if api.query_function is None:
        _write_query(api, file, into)
    else:
        render_handler(api, file, into.sources)
    file.line("TYPE endpoint")


def _write_query(api: Api[Any, Any], file: WrittenFile, into: Rendering) -> None:
    faults: dict[tuple[str, FieldFault], None] = {}
    used: set[str] = set()
    for name, node in (*api.nodes.items(), (LAST_NODE, Node(api.sql))):
        before = sql_lines(node.sql)
        places = into.sources.text_places(api, *(("sql", before) if name == LAST_NODE else ("nodes", before, name)))
        _start_node(name, node, places, file)
        made = template_of("\n".join(before), api.parameters) if api.parameters is not None else None
        if made is None or not made.used:
            file.sql("SQL", before, places)
        else:
            _write_template(before, made.text, places, file)
        faults.update(dict.fromkeys(made.faults if made else ()))
        used |= made.used if made else set()
        file.line("")
    if api.parameters is not None:
        faults.update(dict.fromkeys(name_faults(used, api.parameters)))
        for name, fault in faults:
            found = into.sources.field_location(api.parameters, name) if name else None
            place = found or into.sources.argument_location(api, "sql")
            into.add_problem("invalid-parameter", fault.message, place, fault.hint)


def _write_template(before: list[str], text: str, places: Sequence[LinePlace], file: WrittenFile) -> None:
    """SQL that is a template: the places of its lines are those of the SQL that it is made from."""
    after = text.split("\n")
    moved = moved_places(places, before, after)
    file.sql("SQL", ["%", *after], [LinePlace(moved[0].location), *moved])


def moved_places(places: Sequence[LinePlace], before: Sequence[str], after: Sequence[str]) -> list[LinePlace]:
    """The places of lines of SQL in which something was replaced."""
    return [
        LinePlace(each.location, each.is_same and old == new)
        for each, old, new in zip(places, before, after, strict=True)
    ]


def group_places(files: Sequence[WrittenFile]) -> dict[str, list[list[object]]]:
    """The places of all lines by file, as JSON."""
    found: dict[str, list[list[object]]] = defaultdict(list)
    for file in files:
        for each, line in zip(file.places, file.lines, strict=True):
            place = each.location
            indent = len(line) - len(line.lstrip()) - len(INDENT)
            column = place.column - indent if each.is_same else place.column
            found[file.path].append([place.file, place.line, column, each.is_same])
    return found


def describe(files: Sequence[WrittenFile]) -> Iterator[tuple[str, str]]:
    """The texts by path."""
    return ((file.path, file.text) for file in files)
