"""Post quarantined rows again that fit now.

In: a data source of live. Out: a file of raw rows, each with its `_seq`; and these rows are removed from the quarantine
once they were appended. Invariant: a row is taken only if no running version has it in its table, so none gets it
twice; what is taken is written down before it is appended, and removed by its `_seq` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from penstock.deploy.ingest.quarantine import find_quarantine, remove_from_quarantine
from penstock.deploy.queries.reader import SpooledRows
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.suspect_queries import QueryCall
from penstock.errors import Conflict
from penstock.flow.landing.row_parser import RowParser
from penstock.lake.read.bindings import version_mark_at_row
from penstock.lake.read.query_execution import write_lines
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.lake.spark.names import qualified_table
from penstock.model.deployment import Deployment
from penstock.model.manifest import SEQ, View, view_rejects
from penstock.sql.spark_text import string_literal

MOST_ROWS = 500_000
"""The most rows that one job looks at; the next one goes on."""
MEMORY_BYTES = 16 * 2**20
"""What is looked at is in memory up to this size, and in a temporary file beyond it."""
RANGES_A_COMMIT = 2_000
"""So many ranges of `_seq` are removed in one commit."""
UNREADABLE = "\ufffd"
"""Stands in a quarantined row for bytes that are no text: it cannot be posted again as it was."""


class QuarantineReplay:
    """Takes rows out of quarantines."""

    def __init__(self, core: Core):
        self._core = core

    def check(self, name: str) -> None:
        """Raises NotFound if live has no such data source, and Conflict if its rows cannot be posted again."""
        self._checked(name)

    def spool(self, name: str, file: BinaryIO, stops: Callable[[], bool]) -> SpooledRows:
        """Write the rows that fit live to `file`, one `_seq raw` a line. Raises what `check` raises, WorkCancelled,
        and what a query raises."""
        deployment = self._checked(name)
        landing = deployment.manifest.landing(name)
        assert landing is not None, "every data source has a landing"
        parser, fits = RowParser((landing,)), 0
        sql = self._candidates_sql(landing.stream)
        with SpooledTemporaryFile(MEMORY_BYTES) as rejected:
            with self._core.suspects.running(QueryCall(deployment.id, sql, {}), partial(raise_if_stopped, stops)):
                write_lines(self._core.warehouse.lake.spark, sql, cast("BinaryIO", rejected), stops)
            rejected.seek(0)
            for line in rejected:
                if _fits(parser, line):
                    file.write(line)
                    fits += 1
        return SpooledRows(deployment.id, landing.stream, fits)

    def remove(self, stream: str, path: Path) -> None:
        """Remove the rows of a file that `spool` wrote from the quarantine of the stream. Doing it again removes
        nothing."""
        with path.open("rb") as file:
            ranges = list(_ranges(int(line.partition(b" ")[0]) for line in file))
        for at in range(0, len(ranges), RANGES_A_COMMIT):
            taken = (f"{SEQ} BETWEEN {first} AND {last}" for first, last in ranges[at : at + RANGES_A_COMMIT])
            condition = f"({' OR '.join(taken)}) AND NOT {_OF_VIEWS}"
            remove_from_quarantine(self._core, _quarantine_of(stream), condition)

    def _checked(self, name: str) -> Deployment:
        deployment = self._core.board.readable("live")
        found = find_quarantine(deployment, name)
        table = deployment.manifest.quarantined_table(found)
        if table is not None and any(isinstance(each, View) for each in deployment.manifest.flows_into(table)):
            raise Conflict(
                f"rows of `{name}` are not posted again: a materialized view feeds it, so a later version may be made"
                " of the batches that they came with",
                hint=f"post the rows of `SELECT raw FROM {name}_quarantine` yourself, then clear the quarantine",
            )
        return deployment

    def _candidates_sql(self, stream: str) -> str:
        """The rows that every running version rejected. A row that one of them has would be there twice."""
        running = self._core.board.running.deployments
        table = _quarantine_of(stream)
        chains = {each.accepts for run in running for each in run.manifest.quarantines if each.table == table}
        everywhere = " AND ".join(
            sorted(f"bool_or(concat(' ', version, ' ') = {version_mark_at_row(chain)})" for chain in chains)
        )
        rows = f"SELECT {SEQ}, any_value(raw) AS `raw` FROM {qualified_table(table)} WHERE NOT {_OF_VIEWS}"
        chosen = f"{rows} GROUP BY {SEQ} HAVING {everywhere} ORDER BY {SEQ} LIMIT {MOST_ROWS}"
        return f"SELECT concat(CAST({SEQ} AS STRING), ' ', `raw`) FROM ({chosen})"


_OF_VIEWS = f"startswith(version, {string_literal(view_rejects(''))})"
"""The rows for which a view failed are rows of its source: they were never posted to this data source."""


def raw_row(line: bytes) -> bytes:
    """The raw row of a line that `QuarantineReplay.spool` wrote."""
    return line.partition(b" ")[2]


def _quarantine_of(stream: str) -> str:
    return f"{stream}__quarantine"


def _fits(parser: RowParser, line: bytes) -> bool:
    raw = raw_row(line).removesuffix(b"\n")
    return bool(raw) and UNREADABLE.encode() not in raw and not parser.parse(raw).rejects


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ascending numbers as ranges without gaps."""
    first = last = -2
    for number in numbers:
        if number != last + 1:
            if first >= 0:
                yield first, last
            first = number
        last = number
    if first >= 0:
        yield first, last
