"""Delete the rows of a data source for which a condition holds, in every running version at one place of its stream.

In: a data source and a condition in ClickHouse's SQL. Out: how many rows of live it holds for, or a `Receipt`.
Invariant: every version judges its rows by its own columns; rows that come after that place are judged by none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from penstock.deploy.ingest.event_ingestion import EventIngestion, Receipt
from penstock.deploy.ingest.row_replacement import ALL_RUNNING, FILLING, RowReplacement, change_key
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict, InvalidQuery, Location, NotFound, Problem, did_you_mean
from penstock.flow.landing.removal import Removal
from penstock.lake.read.bindings import accepted_conditions, row_condition
from penstock.lake.read.query_execution import QueryLimits, run_query
from penstock.lake.spark.names import qualified_table
from penstock.model.datasource import DataSource, Text
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding, Landing
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import compile_expression
from penstock.sql.stored_types import spark_type


class RowDeletion:
    """Deletes rows. Thread-safe."""

    def __init__(self, core: Core, ingestion: EventIngestion, replacement: RowReplacement):
        self._core = core
        self._ingestion = ingestion
        self._replacement = replacement

    def count(self, name: str, where: str) -> int:
        """How many rows of live the condition holds for. Raises NotFound, InvalidQuery."""
        live = self._core.board.readable("live")
        landing, condition = next(self._conditions(live, _stream_of(live, name), where))
        server, lake = self._core.settings.server, self._core.warehouse.lake
        most = QueryLimits(server.max_query_seconds, server.max_result_rows, server.max_result_bytes)
        sql = f"SELECT count(*) FROM {qualified_table(landing.table)} WHERE {condition}"
        return int(str(run_query(lake.spark, sql, (), most).rows[0][0]))

    def delete(self, name: str, where: str, key: str) -> Receipt:
        """Delete the rows that had arrived before the call for which the condition holds. Raises NotFound,
        InvalidQuery, and Conflict while a version is being filled, or if the views into it do not catch up."""
        stream, removal = self._removal(name, where)
        named = change_key(key, "delete", where.encode())
        with self._replacement.views_aligned(name, stream):
            return Receipt(stream, self._ingestion.remove_rows(stream, removal.encode(), named), 0, 0)

    def check(self, name: str, where: str) -> None:
        """Raises what `delete` would raise now, but for views that do not catch up."""
        self._removal(name, where)

    def _removal(self, name: str, where: str) -> tuple[str, Removal]:
        """The stream of a data source, and what goes of it; live is read once, whatever is promoted meanwhile."""
        live = self._core.board.readable("live")
        stream = _stream_of(live, name)
        return stream, Removal(
            self._conditions_by_version(name, stream, where), *self._general_condition(live, name, where)
        )

    def _conditions_by_version(self, name: str, stream: str, where: str) -> Mapping[str, str]:
        """The condition for each landing version that runs."""
        running = self._core.store.deployments.in_state(*ALL_RUNNING)
        having = [each for each in running if each.manifest.landings_of(stream)]
        filling = next((each for each in having if each.state in FILLING), None)
        if filling is not None:
            raise Conflict(
                f"rows of `{name}` cannot be deleted while deployment {filling.id} is being filled",
                hint="try again when it is ready, or discard it",
            )
        return {
            landing.version: condition
            for each in having
            for landing, condition in self._conditions(each, stream, where)
        }

    def _conditions(self, deployment: Deployment, stream: str, where: str) -> Iterator[tuple[Landing, str]]:
        """The landings of a stream in a version, with the condition over the physical columns of their table. Raises
        InvalidQuery."""
        project = self._core.projects.load(deployment).project
        for landing in deployment.manifest.landings_of(stream):
            for binding in deployment.manifest.bindings_of(landing.table):
                source = project.datasource(binding.name)
                if source is not None:
                    yield landing, _physical_condition(deployment, source, binding, where)
                    break

    def _general_condition(self, live: Deployment, name: str, where: str) -> tuple[str, Mapping[str, str]]:
        """The condition over the columns of live, and those that it reads with their Spark types."""
        source = self._core.projects.load(live).project.datasource(name)
        assert source is not None, "it was found in live"
        sql = f"({_compiled(live, source, where)}) = 1"
        read = expression_facts(sql).column_names
        return sql, {column.name: spark_type(column.type) for column in source.columns if column.name in read}


def _stream_of(live: Deployment, name: str) -> str:
    """The stream of a data source of live. Raises NotFound."""
    landing = live.manifest.landing(name)
    if landing is None:
        known = [binding.name for binding in live.manifest.bindings]
        raise NotFound(f"there is no data source `{name}` in the live version", hint=did_you_mean(name, known))
    return landing.stream


def _physical_condition(deployment: Deployment, source: DataSource, binding: Binding, where: str) -> str:
    """The condition for the rows that a version shows; NULL is not true. Raises InvalidQuery."""
    meant = _compiled(deployment, source, where)
    return " AND ".join([*accepted_conditions(binding.accepts), f"({row_condition(binding, meant)}) = 1"])


def _compiled(deployment: Deployment, source: DataSource, where: str) -> str:
    """Spark SQL over the columns of a version: 1 where the condition is true. Raises InvalidQuery."""
    try:
        compile_expression(Text(where, Location("condition")), source.columns)
        meant = compile_expression(Text(f"if({where}\n, 1, 0)", Location("condition")), source.columns)
    except InvalidQuery as error:
        about = f"the condition cannot be used for `{source.name}` in deployment {deployment.id} ({deployment.state})"
        why = "; ".join(each.message for each in error.problems) or error.message
        raise InvalidQuery(f"{about}: {why}", error.problems, hint=error.hint) from error
    if not expression_facts(meant.sql).is_repeatable:
        message = "the condition depends on when it is evaluated, and the versions evaluate it at different times"
        raise InvalidQuery(message, [Problem("unstable-condition", message, hint="write the moment as a constant")])
    return meant.sql
