"""What the tables of a migration case hold according to ClickHouse, which runs the schema, the views and the forward
queries of the case over the rows that were posted.

In: a `Case`, and how many batches came before the deployment. Out: by data source, the rows of one fixed query. Nothing
of Penstock computes here but its parser; a view is computed from all rows of its source at once, a forward query from
the rows of the version before.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.differential.engines import shown

from clickhouse_session import open_session
from deploy.migration_cases import Case
from penstock.lake.read.query_execution import QueryResult
from penstock.model.datasource import Column, DataSource
from penstock.model.project import Project
from penstock.model.types import (
    AggregateFunction,
    Decimal,
    Float,
    Int,
    SimpleAggregateFunction,
    is_nullable,
    unwrap_type,
)
from penstock.parse.project_loader import load_files

Rows = list[tuple[object, ...]]
SETTINGS = (
    "session_timezone='UTC', output_format_json_quote_64bit_integers=0, output_format_json_quote_decimals=0, "
    "output_format_json_quote_denormals=1, input_format_null_as_default=1, allow_suspicious_low_cardinality_types=1"
)


@dataclass(frozen=True)
class Version:
    """One version of a case in a ClickHouse database."""

    project: Project
    database: str


class ClickHouse:
    """One ClickHouse in this process."""

    def __init__(self) -> None:
        self._session = open_session()

    def run(self, sql: str) -> None:
        self._session.query(sql)

    def answers(self, version: Version) -> dict[str, Rows]:
        """The rows of every data source; engine Null shows none."""
        sources = version.project.datasources
        return {
            each.name: [] if _is_null(version.project, each.name) else self.rows(version, question(each))
            for each in sources
        }

    def rows(self, version: Version, sql: str) -> Rows:
        self.run(f"USE {version.database}")
        document = json.loads(self._session.query(f"{sql} SETTINGS {SETTINGS}", "JSONCompact").bytes())
        return normal(document["data"])

    def before(self, case: Case) -> Version:
        """All rows in the version before."""
        version = self._database(case, "before", "b")
        for name, batches in case.sent.items():
            self._insert(version, name, batches)
        self._views(version)
        return version

    def after(self, case: Case, cut: int) -> Version:
        """All rows in the version after; the first `cut` batches came before it was deployed."""
        old, new = self._database(case, "before", "o"), self._database(case, "after", "a")
        late = self._database(case, "after", "l")
        for name, batches in case.sent.items():
            self._insert(old, name, batches[:cut])
            source = _now(new.project, name)
            if source is None:
                continue
            self._insert(late, source.name, batches[cut:])
            self._insert(new, source.name, batches[cut:])
            if _moves(old.project, source):
                self._forward(old, new, source)
            elif not _is_null(old.project, name):
                self._carry(old, new, source)
        self._views(old)
        self._views(new, [source for source in new.project.datasources if not _keeps(case, old.project, source)])
        for source in new.project.datasources:
            stays = case.strategies[source.name] in ("none", "reuse")
            if stays and _reads(new.project, source, _null_sources(old.project)):
                self._carry(old, new, source)
        kept = [source for source in new.project.datasources if _keeps(case, old.project, source)]
        self._kept(old, late, new, kept)
        return new

    def _kept(self, old: Version, late: Version, new: Version, kept: Iterable[DataSource]) -> None:
        """Targets that do not begin with what their views give: they have what a forward query says, or
        nothing, and what their views make of later rows. What reads them is computed again."""
        names = [source.name for source in kept]
        self._views(late, [source for source in late.project.datasources if source.name in names])
        for name in names:
            source = new.project.datasource(name)
            assert source is not None
            if _moves(old.project, source):
                self._forward(old, new, source)
            self.run(f"INSERT INTO {new.database}.{name} SELECT * FROM {late.database}.{name}")
        below = [each for each in _in_order(new.project) if _reads(new.project, each, names)]
        for each in below:
            self.run(f"TRUNCATE TABLE {new.database}.{each.name}")
        self._views(new, below)

    def _database(self, case: Case, side: str, letter: str) -> Version:
        project = load_files(getattr(case, side)).project
        name = f"{case.prefix}{letter}"
        self.run(f"DROP DATABASE IF EXISTS {name}")
        self.run(f"CREATE DATABASE {name} ENGINE = Atomic")
        for source in project.datasources:
            columns = ", ".join(
                f"`{column.name}` {column.type}" + (f" DEFAULT {column.default.text}" if column.default else "")
                for column in source.columns
            )
            self.run(f"CREATE TABLE {name}.{source.name} ({columns}) ENGINE = {_engine(source)}")
        return Version(project, name)

    def _insert(self, version: Version, name: str, batches: Iterable[Iterable[Mapping[str, object]]]) -> None:
        source = version.project.datasource(name)
        assert source is not None
        lines = [json.dumps(_fields(source, row)) for batch in batches for row in batch if _is_accepted(source, row)]
        if lines:
            body = "\n".join(lines)
            self.run(
                f"INSERT INTO {version.database}.{name} SETTINGS session_timezone='UTC',"
                f" input_format_null_as_default=1 FORMAT JSONEachRow\n{body}"
            )

    def _views(self, version: Version, targets: Iterable[DataSource] | None = None) -> None:
        """Fill the targets, each after what it reads."""
        wanted = {source.name for source in (version.project.datasources if targets is None else targets)}
        self.run(f"USE {version.database}")
        for source in _in_order(version.project):
            for pipe, node in version.project.feeders(source.name) if source.name in wanted else ():
                columns = ", ".join(f"`{name}`" for name in source.column_names)
                sql = _from_spark(version.project, node.sql.text) if pipe.dialect == "spark" else node.sql.text
                earlier = ", ".join(f"{each.name} AS ({each.sql.text})" for each in pipe.nodes if each is not node)
                nodes = f"WITH {earlier} " if earlier else ""
                self.run(
                    f"INSERT INTO {version.database}.{source.name} {nodes}SELECT {columns} FROM ({sql})"
                    " SETTINGS session_timezone='UTC'"
                )

    def _carry(self, old: Version, new: Version, source: DataSource) -> None:
        """The rows of the version before as the new one has them: stored values stay, a new column has its DEFAULT."""
        before = old.project.datasource(source.renamed_from or source.name)
        assert before is not None
        kept = [c for c in source.columns if before.column(c.renamed_from or c.name) is not None]
        into, read = ", ".join(f"`{c.name}`" for c in kept), ", ".join(f"`{c.renamed_from or c.name}`" for c in kept)
        self.run(
            f"INSERT INTO {new.database}.{source.name} ({into}) SELECT {read} FROM {old.database}.{before.name}"
            " SETTINGS session_timezone='UTC'"
        )

    def _forward(self, old: Version, new: Version, source: DataSource) -> None:
        assert source.forward_query is not None
        said = source.forward_query.text.strip().removeprefix("SELECT")
        columns = ", ".join(f"`{name}`" for name in source.column_names)
        self.run(
            f"INSERT INTO {new.database}.{source.name} SELECT {columns} FROM"
            f" (SELECT {said} FROM {old.database}.{source.renamed_from or source.name})"
            " SETTINGS session_timezone='UTC'"
        )


def question(source: DataSource) -> str:
    """All rows of a data source; states are merged and finalized, and simple aggregates and sums are merged, since
    how many rows of one key there are depends on the steps in which they came."""
    merges = {c.name: merge for c in source.columns if (merge := _merge(source, c)) is not None}
    keys = [f"`{name}`" for name in source.column_names if name not in merges]
    merged = [f"{merge}(`{name}`) AS `{name}_`" for name, merge in merges.items()]
    grouped = f" GROUP BY {', '.join(keys)}" if merges else ""
    return f"SELECT {', '.join([*keys, *merged])} FROM {source.name}{grouped}"


def _merge(source: DataSource, column: Column) -> str | None:
    """The function that merges the values of a column; None where they are not merged."""
    match column.type:
        case AggregateFunction():
            return f"{column.type.function}Merge"
        case SimpleAggregateFunction():
            return column.type.function
        case _:
            return "sum" if column.name in _summed(source) else None


def _summed(source: DataSource) -> list[str]:
    """The columns that the rows of one key of a SummingMergeTree are summed by."""
    if source.engine.name != "SummingMergeTree":
        return []
    engine = source.engine
    numbers = [c.name for c in source.columns if isinstance(unwrap_type(c.type), Int | Float | Decimal)]
    return [name for name in engine.summed or numbers if name not in engine.sorting_key]


def plain(result: QueryResult) -> Rows:
    """An answer of Penstock as ClickHouse's JSON has it."""
    types = [of for _, of in result.columns]
    return normal([shown(value, of) for value, of in zip(row, types, strict=True)] for row in result.rows)


def normal(rows: Iterable[Iterable[object]]) -> Rows:
    """Rows in one order, numbers by value."""
    return sorted((tuple(map(_normal, row)) for row in rows), key=repr)


def _normal(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return tuple(map(_normal, value))
    if value == "-nan":
        return "nan"  # ClickHouse writes the sign bit of NaN, which depends on the machine
    return float(value) if isinstance(value, (int, float)) else value


def _fields(source: DataSource, row: Mapping[str, object]) -> dict[str, object]:
    """What a row gives each column; one without a value takes its default."""
    return {c.name: row[_key(source, c)] for c in source.columns if _key(source, c) in row}


def _is_accepted(source: DataSource, row: Mapping[str, object]) -> bool:
    """Whether a row lands: it has a value for each column without a DEFAULT."""
    return all(_key(source, c) in row for c in source.columns if c.default is None and not is_nullable(c.type))


def _is_null(project: Project, name: str) -> bool:
    source = project.datasource(name)
    return source is not None and source.engine.name == "Null"


def _null_sources(project: Project) -> list[str]:
    return [source.name for source in project.datasources if source.engine.name == "Null"]


def _engine(source: DataSource) -> str:
    """What ClickHouse needs for the queries of the cases. Views are computed here from all rows of their source, so
    that engine Null is a table whose rows nobody is shown."""
    key = source.engine.sampling_key
    return f"MergeTree ORDER BY {key} SAMPLE BY {key}" if key else "Memory"


def _from_spark(project: Project, sql: str) -> str:
    """Spark SQL of a case as ClickHouse says it: columns in their own case, NATURAL JOIN by its columns."""
    joined = re.search(r"(\w+) NATURAL JOIN (\w+)", sql)
    if joined:
        left, right = (project.datasource(name) for name in joined.groups())
        assert left is not None
        assert right is not None
        common = ", ".join(f"`{name}`" for name in left.column_names if name in right.column_names)
        sql = sql.replace(joined[0], f"{joined[1]} JOIN {joined[2]} USING ({common})")
    for name in {name for source in project.datasources for name in source.column_names}:
        sql = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _, own=name: own, sql, flags=re.IGNORECASE)
    return sql


def _key(source: DataSource, column: Column) -> str:
    """The field of a row that gives a column its value."""
    return (source.path_of(column) or "").removeprefix("$.").removesuffix("[:]")


def _now(project: Project, name: str) -> DataSource | None:
    """The data source that was called so."""
    found = (each for each in project.datasources if name in (each.name, each.renamed_from))
    return next(found, None)


def _moves(before: Project, source: DataSource) -> bool:
    """Whether a forward query of this step says what becomes of the rows there are."""
    old = before.datasource(source.renamed_from or source.name)
    return source.forward_query is not None and old is not None and old.forward_query != source.forward_query


def _keeps(case: Case, before: Project, source: DataSource) -> bool:
    """Whether a target does not begin with what its views give."""
    fed = bool(load_files(case.after).project.feeders(source.name))
    if before.datasource(source.name) is None:
        return fed and not source.keeps_history
    return fed and case.strategies[source.name] == "forward" and _moves(before, source)


def _in_order(project: Project) -> list[DataSource]:
    """The targets, each after what its views read."""
    names = [source.name for source in project.datasources if project.feeders(source.name)]
    above = {name: {n for n in names if any(n in node.sql.text for _, node in project.feeders(name))} for name in names}
    done: list[str] = []
    while len(done) < len(names):
        done += [name for name in names if name not in done and above[name] - {name} <= set(done)]
    return [source for name in done if (source := project.datasource(name)) is not None]


def _reads(project: Project, source: DataSource, names: Iterable[str]) -> bool:
    return any(name in node.sql.text.split() for name in names for _, node in project.feeders(source.name))
