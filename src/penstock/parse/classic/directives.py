"""The directives of the format's former version, and those that have no meaning here.

In: the entries of a datafile. Out: the entries that count, and a problem for each other one. Invariant: what the
format's own parser ignores is at most a warning; what it no longer reads is an error that names `penstock migrate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.errors import Problem
from penstock.parse.datafile import Entry

MIGRATE_HINT = "`penstock migrate` shows how the file is written today, and with --write converts it"

KEY_DIRECTIVES = ("PARTITION_KEY", "SORTING_KEY", "PRIMARY_KEY", "SAMPLING_KEY", "TTL")
"""Former names of the ENGINE directives."""
IGNORED_ANYWHERE = ("VERSION", "MAINTAINER")
"""Former directives without any effect, which the format still accepts."""
INCLUDE = "INCLUDE"
SOURCES = ("SOURCE", "SOURCES")
SETTINGS = "SETTINGS"

CLASSIC_DATASOURCE = (*IGNORED_ANYWHERE, INCLUDE, *SOURCES, SETTINGS, *KEY_DIRECTIVES)
"""Former directives of data sources."""

_REPLACED: Mapping[str, str] = {
    INCLUDE: "INCLUDE is not read any more: a file holds all of its directives",
    SETTINGS: "SETTINGS is not read any more: today it is ENGINE_SETTINGS",
    **{each: f"{each} is not read any more: rows are appended, not fetched" for each in SOURCES},
}
_WITHOUT_MEANING: Mapping[str, str] = {
    "CACHE": "answers are not cached",
    "CACHE_TTL": "answers are not cached",
    "SHARDS": "tables have no shards",
    "SHARD_KEY": "tables have no shards",
    "ENGINE_SHARD_KEY": "tables have no shards",
    **dict.fromkeys(
        ("ENGINE_JOIN_STRICTNESS", "ENGINE_JOIN_TYPE", "ENGINE_KEY_COLUMNS"),
        "there is no engine Join, and each JOIN names its kind and its key",
    ),
    "DEPLOYMENT_METHOD": "the plan of a deployment chooses how a view changes",
    "ON_DEMAND_COMPUTE": "copies run on this server",
    "FILTER": "the format's own servers ignore it as well",
}
IGNORED = tuple(_WITHOUT_MEANING)
"""Directives of the format that change nothing here."""
_ALIASES: Mapping[str, str] = {"MODE": "COPY_MODE", "INDICES": "INDEXES", "SCOPE": "NODE"}
ALIASES = tuple(_ALIASES)
"""Other names of directives, which the format accepts as well."""


def classic_pipe_keywords(engine: Collection[str]) -> tuple[str, ...]:
    """The former directives of pipes: their materialized nodes had the ENGINE of the target."""
    return (*IGNORED_ANYWHERE, INCLUDE, *engine)


def current_entries(entries: Iterable[Entry], keywords: Collection[str], problems: list[Problem]) -> tuple[Entry, ...]:
    """The entries whose keyword, or the keyword that it is another name of, is one of `keywords`; a problem for each
    other one."""
    named = [replace(entry, keyword=_ALIASES.get(entry.keyword, entry.keyword)) for entry in entries]
    problems.extend(problem for entry in named if entry.keyword not in keywords for problem in _outdated(entry))
    return tuple(entry for entry in named if entry.keyword in keywords)


def _outdated(entry: Entry) -> Iterator[Problem]:
    keyword, place = entry.keyword, entry.location
    if keyword in _WITHOUT_MEANING:
        message = f"{keyword} has no effect here: {_WITHOUT_MEANING[keyword]}"
        yield Problem("ignored-directive", message, place, "it may stay", "warning")
    elif keyword in IGNORED_ANYWHERE:
        message = f"{keyword} has no effect: it belongs to the classic format"
        yield Problem("classic-format", message, place, f"it may stay; {MIGRATE_HINT}", "warning")
    elif keyword in KEY_DIRECTIVES:
        message = f"{keyword} has no effect: today it is ENGINE_{keyword}"
        yield Problem("classic-format", message, place, MIGRATE_HINT, "warning")
    elif keyword in _REPLACED:
        yield Problem("classic-format", _REPLACED[keyword], place, MIGRATE_HINT)
    else:
        message = f"{keyword} is not read in a pipe any more: today it is in the .datasource file of the target"
        yield Problem("classic-format", message, place, MIGRATE_HINT)
