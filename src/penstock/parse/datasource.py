"""Parses a .datasource file to a `DataSource`.

In: a file's text and the name of its resource. Out: a `DataSource`, and every problem of the file. Invariant: there is
always a data source, so that the pipes that read it are checked too; where there are problems, it has all that could
be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Column, DataSource, Text
from penstock.parse.classic.directives import ALIASES, CLASSIC_DATASOURCE, IGNORED, current_entries
from penstock.parse.connectors.connector import CONNECTOR_KEYWORDS, check_connectors, with_added_columns
from penstock.parse.connectors.file_source import parse_files
from penstock.parse.connectors.kafka_source import parse_kafka
from penstock.parse.datafile import Datafile, Entry, parse_datafile
from penstock.parse.directive_values import (
    parse_items,
    parse_name,
    parse_text,
    parse_tokens,
    template_problem,
    unique_directives,
)
from penstock.parse.engine import ENGINE_KEYWORDS, parse_engine
from penstock.parse.schema import parse_schema
from penstock.parse.sql_syntax.source_text import EXTERNALLY_MANAGED

_OWN = (
    "DESCRIPTION",
    "TAGS",
    "SCHEMA",
    "INDEXES",
    "TOKEN",
    "SHARED_WITH",
    "FORWARD_QUERY",
    "BACKFILL",
    "RENAMED_FROM",
    "LIFE_CYCLE",
)
_SCOPES = ("READ", "APPEND")
_LIFE_CYCLES = ("fully_managed", "deletion_protected")

DATASOURCE_KEYWORDS = (*_OWN, *ENGINE_KEYWORDS, *CONNECTOR_KEYWORDS)
OTHER_DATASOURCE_KEYWORDS = (*ALIASES, *IGNORED, *CLASSIC_DATASOURCE)


def parse_datasource(text: str, file: str, name: str, problems: list[Problem]) -> DataSource:
    """The data source that a file describes."""
    written = parse_datafile(text, file, DATASOURCE_KEYWORDS, problems, OTHER_DATASOURCE_KEYWORDS)
    datafile = Datafile(file, current_entries(written.entries, DATASOURCE_KEYWORDS, problems))
    problems.extend(check_connectors(datafile.entries))
    problems.extend(_check_templates(datafile.entries))
    problems.extend(_check_indexes(datafile.entries))
    directives = unique_directives(
        (each for each in datafile.entries if each.keyword not in ("TOKEN", *CONNECTOR_KEYWORDS)), problems
    )
    in_schema: list[Problem] = []
    columns = with_added_columns(_parse_columns(datafile, directives, in_schema), datafile.entries)
    in_engine: list[Problem] = []
    engine = parse_engine(directives, columns, in_engine)
    problems.extend((*in_schema, *_own_problems(in_engine, in_schema)))
    return DataSource(
        name=name,
        columns=columns,
        engine=engine,
        description=parse_text(directives.get("DESCRIPTION")),
        tags=parse_items(directives.get("TAGS")),
        tokens=parse_tokens(datafile.entries, _SCOPES, problems),
        shared_with=parse_items(directives.get("SHARED_WITH")),
        indexes=_parse_indexes(directives.get("INDEXES")),
        forward_query=_parse_forward_query(directives.get("FORWARD_QUERY"), problems),
        keeps_history=_parse_backfill(directives.get("BACKFILL"), problems),
        renamed_from=_parse_renamed_from(directives.get("RENAMED_FROM"), problems),
        is_protected=_parse_life_cycle(directives.get("LIFE_CYCLE"), problems) == "deletion_protected",
        kafka=parse_kafka(datafile.entries, problems),
        files=parse_files(datafile.entries, problems),
        location=Location(file),
    )


def _own_problems(in_engine: Iterable[Problem], in_schema: Iterable[Problem]) -> Iterable[Problem]:
    """Those of an engine that do not just follow from a column that cannot be read: it is none that there is not."""
    broken = any(each.level == "error" for each in in_schema)
    return (each for each in in_engine if not (broken and each.code == "unknown-column"))


def _check_indexes(entries: Iterable[Entry]) -> Iterable[Problem]:
    for entry in entries:
        if entry.keyword == "INDEXES" and entry.value.text.strip():
            message = "INDEXES have no effect here: tables have statistics of their own"
            yield Problem("ignored-directive", message, entry.location, "they may stay", "warning")


def _check_templates(entries: Iterable[Entry]) -> Iterable[Problem]:
    for entry in entries:
        text = entry.value.text
        starts = text.startswith("%") and entry.keyword == "FORWARD_QUERY"
        if entry.keyword not in ("DESCRIPTION", *CONNECTOR_KEYWORDS) and (starts or "{{" in text):
            yield template_problem(entry.value.location)


def _parse_columns(datafile: Datafile, directives: Mapping[str, Entry], problems: list[Problem]) -> tuple[Column, ...]:
    schema = directives.get("SCHEMA")
    if schema is None:
        hint = "write `SCHEMA >` and the columns, indented, in the lines below"
        problems.append(Problem("missing-directive", "a data source needs a SCHEMA", datafile.location, hint))
        return ()
    before = len(problems)
    columns = parse_schema(schema.value, problems)
    if not columns and len(problems) == before:
        hint = "indent the columns in the lines below"
        problems.append(Problem("empty-directive", "the SCHEMA has no columns", schema.location, hint))
    return columns


def _parse_indexes(entry: Entry | None) -> tuple[str, ...]:
    lines = entry.value.text.split("\n") if entry else ()
    stripped = (line.strip().rstrip(",") for line in lines)
    return tuple(line for line in stripped if line and not line.startswith("--"))


def _parse_forward_query(entry: Entry | None, problems: list[Problem]) -> Text | None:
    if entry is None:
        return None
    if not entry.value.text.strip():
        hint = "remove it, or write the select list of the new columns"
        problems.append(Problem("empty-directive", "FORWARD_QUERY is empty", entry.location, hint))
        return None
    return entry.value


def _parse_backfill(entry: Entry | None, problems: list[Problem]) -> bool:
    """Whether a new target of a materialized view is filled from existing rows."""
    if entry is None:
        return True
    if entry.value.text.lower() != "skip":
        hint = did_you_mean(entry.value.text, ["skip"])
        message = f"expected BACKFILL skip, found `{entry.value.text[:60]}`"
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
        return True
    return False


def _parse_renamed_from(entry: Entry | None, problems: list[Problem]) -> str | None:
    return parse_name(entry.value, "a data source", problems) if entry else None


def _parse_life_cycle(entry: Entry | None, problems: list[Problem]) -> str:
    """Who may take rows from a data source; a word that is none is a problem."""
    if entry is None:
        return "fully_managed"
    found = entry.value.text.strip().lower()
    if found not in _LIFE_CYCLES:
        message = f"expected LIFE_CYCLE {' or '.join(_LIFE_CYCLES)}, found `{entry.value.text[:60]}`"
        hint = EXTERNALLY_MANAGED if found == "externally_managed" else did_you_mean(found, _LIFE_CYCLES)
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
    return found
