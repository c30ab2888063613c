"""Answer SQL and endpoints from the tables of one deployment.

In: SQL, or the name of an endpoint or a copy, and a reference to a deployment. Out: a result, or rows in a file.
Invariant: the deployment is looked up once, before anything is read, so an answer comes from one version.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import BinaryIO

from penstock.deploy.external.external_tables import ExternalTables
from penstock.deploy.queries.caller_rights import NO_LIMITS, CallerRights, allow_as_pipe
from penstock.deploy.queries.catalog_answers import CatalogAnswers
from penstock.deploy.queries.handlers.endpoint_handlers import EndpointHandlers
from penstock.deploy.queries.kept_answers import AnswerKey, KeptAnswers
from penstock.deploy.queries.queryable_project import CompiledCall, QueryableProject
from penstock.deploy.queries.service_sources import ServiceRecords, read_service_source
from penstock.deploy.queries.template_secrets import read_template_secrets
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.project_cache import MOST_PROJECTS
from penstock.deploy.runtime.recently_used import RecentlyUsed
from penstock.deploy.runtime.suspect_queries import QueryCall
from penstock.errors import InvalidQuery, Location, NotFound, did_you_mean
from penstock.flow.telemetry.spans import span
from penstock.lake.read.bindings import CurrentRows, binding_relation, merged_relation, rejected_relation
from penstock.lake.read.file_table import file_table
from penstock.lake.read.memory_table import memory_table
from penstock.lake.read.query_execution import (
    QueryLimits,
    QueryResult,
    choose_session,
    cut_rows,
    run_query,
    split_totals,
    write_lines,
)
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.lake.spark.session import Lake
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.deployment import Deployment
from penstock.model.engine import Engine
from penstock.model.external_tables import ExternalColumns, ExternalTable, ReadColumns
from penstock.model.manifest import Binding, Manifest
from penstock.model.pipe import Copied, CopyMode, Exported, Pipe
from penstock.model.project import Project
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.parse.project_loader import LoadedProject
from penstock.redaction import HIDDEN
from penstock.sql.compile import compile_copy, compile_pipe, compile_sql
from penstock.sql.compiler.caller import Caller
from penstock.sql.query import CompiledCopy, Query, SourceRead
from penstock.sql.spark_text import replace_placeholders
from penstock.sql.syntax.catalog_statements import CatalogStatement, DescribeTable, ShowTables, parse_catalog_statement
from penstock.template.render_frame import JOB_TIMESTAMP, Parameter, RenderInput, RenderTrace, format_moment

NO_PARAMETERS: Mapping[str, Parameter] = {}
SINK_SECONDS, MOST_SINK_ROWS, MOST_SINK_BYTES = 3600.0, 10_000_000, 2**29
"""The limits of a run of a sink: its rows are in memory, packed, before any of them is written."""
MOST_SUSPECTS_WAITING = 3
"""Each holds one of the few threads for queries (`serve/http/pipeline_host`) while it waits for its turn."""


@dataclass(frozen=True, slots=True)
class SpooledRows:
    """The rows that a copy wrote to a file: their deployment, the stream they are for, and how many they are."""

    deployment: int
    stream: str
    rows: int
    mode: CopyMode = "append"
    """Whether they replace the rows of the stream."""


class QueryReader:
    """Answers queries. Keeps compiled projects and endpoints: the files of a deployment never change."""

    def __init__(self, core: Core):
        self._core = core
        self._projects, self._suspects = core.projects, core.suspects
        self._compiled = RecentlyUsed[QueryableProject](MOST_PROJECTS)
        self._secrets = read_template_secrets()
        self._answers = KeptAnswers()
        self._handlers = EndpointHandlers(core.settings, core.warehouse.lake)

    def close(self) -> None:
        """End the processes of handlers."""
        self._handlers.close()

    def sql(
        self,
        text: str,
        ref: str,
        rights: CallerRights = NO_LIMITS,
        parameters: Mapping[str, Parameter] = NO_PARAMETERS,
        row_limit: int | None = None,
    ) -> QueryResult:
        """Run a SELECT, SHOW TABLES, DESCRIBE or EXPLAIN over the data sources, quarantines and pipes of a deployment.
        `rights` say which names and rows may be read. The answer is cut after `row_limit` rows. Raises Forbidden, and
        what compiling and running raise."""
        asked, most = Text(text, Location("query")), replace(self._start_limits(), shown=row_limit)
        statement = parse_catalog_statement(asked)
        with self._core.board.reading(ref) as deployment:
            if statement is not None:
                return self._describe_catalog(deployment, statement, rights, most)
            given = RenderInput("call", parameters, self._secrets)
            query = self._compile_sql(deployment, asked, given, Caller(rights.check_name, most.check_time))
            call = QueryCall(deployment.id, text, parameters)
            with self._suspects.running(call, most.check_time, MOST_SUSPECTS_WAITING):
                return replace(self._run_query(deployment, query, most, rights), deployment=deployment.id)

    def _compile_sql(self, deployment: Deployment, text: Text, given: RenderInput, caller: Caller) -> Query:
        compiled = self._compiled_project(deployment)
        with span("compile", {"penstock.deployment": deployment.id}):
            return compile_sql(compiled.project, text, compiled.dialect, given, caller)

    def _describe_catalog(
        self, deployment: Deployment, statement: CatalogStatement, rights: CallerRights, most: QueryLimits
    ) -> QueryResult:
        """The answer to a statement that runs no query."""
        project, manifest = self._compiled_project(deployment).project, deployment.manifest
        answers = CatalogAnswers(project, manifest, self._core.warehouse.registry, rights.may, most.began)
        if isinstance(statement, ShowTables):
            return answers.show_tables(statement)
        caller = Caller(rights.check_name, most.check_time)
        given = RenderInput("call", NO_PARAMETERS, dict.fromkeys(self._secrets, HIDDEN))
        query = self._compile_sql(deployment, statement.query, given, caller)
        if isinstance(statement, DescribeTable):
            return answers.describe(statement, query)
        for read in query.reads:
            rights.check_name(read.datasource)
            rights.check_all_rows(read.datasource)
        return answers.explain(query)

    def endpoint(
        self, name: str, parameters: Mapping[str, Parameter], ref: str, rights: CallerRights = NO_LIMITS
    ) -> QueryResult:
        """Run an endpoint of a deployment. Parameters that it does not declare are ignored; those that `rights` fix
        must be read by this call. Raises Forbidden, and what compiling and running raise."""
        most = self._start_limits()
        caller = Caller(check_time=most.check_time)
        with self._core.board.reading(ref) as deployment:
            compiled = self._compiled_project(deployment)
            pipe = _find_endpoint(compiled.project, name)
            own = compiled.parameters_read(pipe, parameters, rights.fixed)
            found = self._compile_endpoint(compiled, pipe, own, caller)
            rights.check_fixed(name, found.read)
            rights.check_filters(compiled.project, (read.datasource for read in found.query.reads))
            filters = tuple(sorted(rights.filters.items()))
            key = AnswerKey(deployment.id, (name, tuple(own.items())), filters, deployment.state != "ready")
            kept = self._answers.get(key, most.began) if found.ttl else None
            if kept is not None:
                age, elapsed = most.began - kept.began, time.monotonic() - most.began
                return replace(kept.answer, elapsed=elapsed, rows_read=0, bytes_read=0, age=age)
            call = QueryCall(deployment.id, name, own)
            with self._suspects.running(call, most.check_time, MOST_SUSPECTS_WAITING), _at_endpoint(pipe):
                answer = self._run_query(deployment, found.query, most, rights)
            answer = replace(self._handle(deployment, pipe, answer, most, rights), deployment=deployment.id)
            if found.ttl and not deployment.paused:  # its rows may be older than any time that the answer is kept
                self._answers.add(key, answer, most.began, found.ttl)
            return answer

    def _handle(
        self, deployment: Deployment, pipe: Pipe, answer: QueryResult, most: QueryLimits, rights: CallerRights
    ) -> QueryResult:
        """The answer of the endpoint's function in Python to these rows; the rows themselves if it has none."""
        node = pipe.endpoint
        if node is None or node.handler is None:
            return answer
        ask = partial(self._ask, str(deployment.id), rights)
        return self._handlers.answer(pipe.name, node.handler, answer, ask, most)

    def has_parameter(self, name: str, parameter: str, ref: str) -> bool:
        """Whether an endpoint of a deployment may read a parameter of this name. Raises NotFound."""
        compiled = self._compiled_project(self._core.board.readable(ref))
        return bool(compiled.parameters_read(_find_endpoint(compiled.project, name), {parameter: ""}))

    def explain_endpoint(
        self, name: str, parameters: Mapping[str, Parameter], ref: str, rights: CallerRights
    ) -> QueryResult:
        """What a call of an endpoint would run, as EXPLAIN shows it: nothing is read, and secrets are hidden. Raises
        Forbidden if the caller may not read all rows of what it reads, and what `endpoint` raises of compiling."""
        most = self._start_limits()
        with self._core.board.reading(ref) as deployment:
            compiled = self._compiled_project(deployment)
            pipe = _find_endpoint(compiled.project, name)
            own = compiled.parameters_read(pipe, parameters, rights.fixed)
            given = RenderInput("call", own, dict.fromkeys(self._secrets, HIDDEN), trace := RenderTrace())
            query = compile_pipe(compiled.project, pipe, given, Caller(check_time=most.check_time))
            rights.check_fixed(name, trace.read)
            for read in query.reads:
                rights.check_name(read.datasource)
                rights.check_all_rows(read.datasource)
            registry = self._core.warehouse.registry
            answers = CatalogAnswers(compiled.project, deployment.manifest, registry, rights.may, most.began)
            return answers.explain(query)

    def has_handler(self, deployment: Deployment, name: str) -> bool:
        """Whether an endpoint of a deployment answers by a function in Python."""
        node = _find_endpoint(self._compiled_project(deployment).project, name).endpoint
        return node is not None and node.handler is not None

    def _ask(self, ref: str, rights: CallerRights, text: str) -> QueryResult:
        """The answer to a query of a handler: of every name that a pipe may read, but of no row that a filter hides."""
        return self.sql(text, ref, CallerRights(allow_as_pipe, filters=rights.filters, granted=rights.may))

    def compiled_endpoint(self, deployment: Deployment, name: str, parameters: Mapping[str, Parameter]) -> Query:
        """The query of a call of an endpoint of a deployment, which is being read. Raises what `endpoint` raises."""
        compiled, caller = self._compiled_project(deployment), Caller(check_time=self._start_limits().check_time)
        pipe = _find_endpoint(compiled.project, name)
        return self._compile_endpoint(compiled, pipe, compiled.parameters_read(pipe, parameters), caller).query

    def target(self, name: str, parameters: Mapping[str, Parameter]) -> str:
        """The data source that a copy of the live deployment writes to. Raises NotFound if there is no such copy, and
        InvalidRequest or InvalidQuery if it cannot be run with these parameters. Where it reads a table of another
        database, the rest of its SQL is compiled by its job, which asks that for the columns."""
        compiled = self._compiled_project(self._core.board.readable("live"))
        compiled.check_names(_find_copy(compiled.project, name), parameters)
        try:
            return self._compile_copy(compiled, name, parameters, _leave_to_job).target
        except _LeftToJob:
            copied = _find_copy(compiled.project, name).copied
            kind = copied.kind if copied is not None else None
            assert isinstance(kind, Copied), "it was found as a copy"
            return kind.datasource

    def copy(
        self, name: str, parameters: Mapping[str, Parameter], file: BinaryIO, stops: Callable[[], bool]
    ) -> SpooledRows:
        """Write the rows of a copy of the live deployment to `file`, as NDJSON that the target accepts. Raises what
        `target` raises, Failed, and WorkCancelled if `stops` returns true. Tables outside of this server are read
        first, into files beside `file`."""
        own = ExternalTables(Path(str(file.name)), stops, self._core.settings.copies)
        with self._core.board.reading("live") as deployment, own as external:
            compiled = self._compiled_project(deployment)
            rows = self._compile_copy(compiled, name, parameters, external.columns)
            files = {read.placeholder: external.read(read) for read in rows.externals}
            landing = deployment.manifest.landing(rows.target)
            assert landing is not None, "every data source has a landing"
            call = QueryCall(deployment.id, name, parameters)
            with ExitStack() as tables, self._suspects.running(call, partial(raise_if_stopped, stops)):
                services = self._service_tables(rows.query, deployment.manifest, tables)
                all_rows = partial(_relation, deployment.manifest)
                read, filled = self._fill_in_tables(rows.query, deployment.manifest, services, all_rows)
                lake = self._core.warehouse.lake
                views = {
                    placeholder: tables.enter_context(file_table(lake, each.columns, each.path))
                    for placeholder, each in files.items()
                }
                session = choose_session(lake, read + sum(each.rows for each in files.values()))
                count = write_lines(session, replace_placeholders(filled, views), file, stops)
            return SpooledRows(deployment.id, landing.stream, count, rows.mode)

    def check_sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[Deployment, Exported]:
        """A deployment, and how its sink writes rows. Raises NotFound, Conflict, InvalidRequest or InvalidQuery if it
        cannot be run with these parameters."""
        deployment = self._core.board.readable(ref)
        compiled = self._compiled_project(deployment)
        pipe, kind = _find_sink(compiled.project, name)
        self._compile_sink(compiled, pipe, parameters, self._start_limits())
        return deployment, kind

    def check_sink_parameters(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> None:
        """Raises InvalidRequest for one that the sink does not read, and NotFound."""
        compiled = self._compiled_project(self._core.board.readable(ref))
        compiled.check_names(_find_sink(compiled.project, name)[0], parameters)

    def sink(self, name: str, parameters: Mapping[str, Parameter], ref: str) -> tuple[Deployment, QueryResult]:
        """All rows of a sink of a deployment. Raises what `check_sink` and running raise."""
        most = QueryLimits(SINK_SECONDS, MOST_SINK_ROWS, MOST_SINK_BYTES)
        with self._core.board.reading(ref) as deployment:
            compiled = self._compiled_project(deployment)
            pipe, _ = _find_sink(compiled.project, name)
            query = self._compile_sink(compiled, pipe, parameters, most)
            with self._suspects.running(QueryCall(deployment.id, name, parameters), most.check_time):
                return deployment, self._run_query(deployment, query, most, NO_LIMITS)

    def _compile_sink(
        self, compiled: QueryableProject, pipe: Pipe, parameters: Mapping[str, Parameter], most: QueryLimits
    ) -> Query:
        moment = format_moment(datetime.now(timezone.utc))
        given = RenderInput("call", {JOB_TIMESTAMP: moment, **parameters}, self._secrets)
        return compile_pipe(compiled.project, pipe, given, Caller(check_time=most.check_time))

    def _compile_copy(
        self, compiled: QueryableProject, name: str, parameters: Mapping[str, Parameter], external: ReadColumns
    ) -> CompiledCopy:
        pipe = _find_copy(compiled.project, name)
        assert pipe.copied is not None, "it was found as a copy"
        caller = Caller(check_time=self._start_limits().check_time, external=external)
        moment = format_moment(datetime.now(timezone.utc))
        given = RenderInput("call", {JOB_TIMESTAMP: moment, **parameters}, self._secrets)
        return compile_copy(compiled.project, pipe, pipe.copied, given, caller)

    def _start_limits(self) -> QueryLimits:
        """The limits of a query that begins now."""
        server = self._core.settings.server
        return QueryLimits(server.max_query_seconds, server.max_result_rows, server.max_result_bytes)

    def _compile_endpoint(
        self, compiled: QueryableProject, pipe: Pipe, own: Mapping[str, Parameter], caller: Caller
    ) -> CompiledCall:
        asked = (pipe.name, tuple(own.items()))
        found = compiled.calls.get(asked)
        if found is None:
            trace = RenderTrace()
            with span("compile", {"penstock.pipe": pipe.name}):
                query = compile_pipe(compiled.project, pipe, RenderInput("call", own, self._secrets, trace), caller)
            found = CompiledCall(query, frozenset(trace.read), min(trace.ttls, default=0))
            compiled.calls.add(asked, found)
        return found

    def _compiled_project(self, deployment: Deployment) -> QueryableProject:
        return self._compiled.get(deployment.id, lambda: _add_quarantines(deployment, self._projects.load(deployment)))

    def _run_query(self, deployment: Deployment, query: Query, most: QueryLimits, rights: CallerRights) -> QueryResult:
        manifest, project = deployment.manifest, self._compiled_project(deployment).project
        rights.check_filters(project, (read.datasource for read in query.reads))

        def relation(read: SourceRead) -> str:
            return rights.readable_rows(project.datasource(read.datasource), _relation(manifest, read))

        with ExitStack() as tables:
            services = self._service_tables(query, manifest, tables)
            rows, sql = self._fill_in_tables(query, manifest, services, relation)
            with span("query", {"penstock.rows_in_tables": rows}) as traced:
                answer = run_filled(self._core.warehouse.lake, rows, query, sql, most)
                traced.set_attribute("penstock.result_rows", len(answer.rows))
                return answer

    def _service_tables(self, query: Query, manifest: Manifest, tables: ExitStack) -> Mapping[str, str]:
        """The service data sources that a query reads, by placeholder, as tables that are there while the stack is."""
        core = self._core
        records = ServiceRecords(core.store, core.warehouse.registry, manifest)
        found: dict[str, str] = {}
        for read in query.reads:
            source = SERVICE_SOURCES.get(read.datasource)
            if source is not None:
                # A table has a column, even if the query uses none of it.
                columns = [each for each in source.columns if each[0] in read.columns] or [source.columns[0]]
                rows = read_service_source(read.datasource, [name for name, _ in columns], records)
                found[read.placeholder] = tables.enter_context(memory_table(core.warehouse.lake, columns, rows))
        return found

    def _fill_in_tables(
        self, query: Query, manifest: Manifest, services: Mapping[str, str], relation: Callable[[SourceRead], str]
    ) -> tuple[int, str]:
        """How many rows a query may read, and its SQL over the tables of the manifest and the service data sources."""
        own = (read for read in query.reads if read.placeholder not in services)
        relations = {**{read.placeholder: relation(read) for read in own}, **services}
        read = {binding.table for read in query.reads if (binding := manifest.binding(read.datasource)) is not None}
        rows = sum(self._core.warehouse.registry.snapshots(table).rows for table in read)
        return rows, replace_placeholders(query.with_totals or query.sql, relations)


def run_filled(lake: Lake, rows: int, query: Query, sql: str, most: QueryLimits) -> QueryResult:
    """The result of a query whose SQL, `with_totals` if it has that, was filled in with tables of so many rows."""
    session = choose_session(lake, rows)
    if not query.with_totals:
        return run_query(session, sql, query.columns, most)
    # The totals are the last row, so all are read.
    return cut_rows(split_totals(run_query(session, sql, query.columns, replace(most, shown=None))), most.shown)


def _add_quarantines(deployment: Deployment, loaded: LoadedProject) -> QueryableProject:
    """The project of a deployment, with its quarantines as data sources."""
    readable = (*loaded.project.datasources, *map(_as_datasource, deployment.manifest.quarantines))
    return QueryableProject(Project.of(readable, loaded.project.pipes), loaded.settings.dialect)


class _LeftToJob(Exception):
    """A copy reads a table whose columns only its job asks for."""


def _leave_to_job(table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
    raise _LeftToJob


def _find_copy(project: Project, name: str) -> Pipe:
    found = {each.name: each for each in project.pipes if each.copied is not None}
    if name not in found:
        raise NotFound(f"there is no copy `{name}`", hint=did_you_mean(name, found))
    return found[name]


def _find_sink(project: Project, name: str) -> tuple[Pipe, Exported]:
    """A pipe whose last node is the sink, and how that writes its rows. Nodes after it are not read by it."""
    found = {each.name: each for each in project.pipes if each.exported is not None}
    if name not in found:
        raise NotFound(f"there is no sink `{name}`", hint=did_you_mean(name, found))
    node = found[name].exported
    assert node is not None, "it was found as a sink"
    assert isinstance(node.kind, Exported), "it was found as a sink"
    nodes = found[name].nodes
    return replace(found[name], nodes=nodes[: nodes.index(node) + 1]), node.kind


def _find_endpoint(project: Project, name: str) -> Pipe:
    pipe = project.pipe(name)
    if pipe is None or pipe.endpoint is None:
        known = [each.name for each in project.pipes if each.endpoint is not None]
        raise NotFound(f"there is no endpoint `{name}`", hint=did_you_mean(name, known))
    return pipe


@contextmanager
def _at_endpoint(pipe: Pipe) -> Iterator[None]:
    """What a row makes fail is a problem of the endpoint's node: Spark does not say where in its SQL."""
    try:
        yield
    except InvalidQuery as error:
        place = pipe.endpoint.sql.location if pipe.endpoint is not None else pipe.location
        error.problems = tuple(replace(each, location=each.location or place) for each in error.problems)
        raise


def _as_datasource(binding: Binding) -> DataSource:
    columns = tuple(Column(column.name, column.type) for column in binding.columns)
    return DataSource(binding.name, columns, Engine())


def _relation(manifest: Manifest, read: SourceRead) -> str:
    binding = manifest.binding(read.datasource)
    assert binding is not None, f"{read.datasource} was compiled, so the manifest has a binding for it"
    if binding in manifest.quarantines:
        return rejected_relation(binding, CurrentRows(), manifest.quarantined_table(binding))
    return merged_relation(binding) if read.final else binding_relation(binding, CurrentRows())
