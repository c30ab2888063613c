"""Finds the changes from one version of a project to the next, by content.

In: two projects. Out: `Change` values, by resource. Invariant: equal content gives no change, whatever the format of
the SQL, the file names and the order of the files.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.datasource import DataSource, Token
from penstock.model.engine import Engine
from penstock.model.pipe import Materialized, OnError, Pipe
from penstock.model.project import Project
from penstock.plan.diff.changes import (
    Change,
    ColumnAdded,
    ColumnDefaultChanged,
    ColumnDropped,
    ColumnPathChanged,
    ColumnRenamed,
    ColumnsReordered,
    ColumnTypeChanged,
    EndpointChanged,
    EngineChanged,
    MetadataChanged,
    PartitionKeyChanged,
    ResourceAdded,
    ResourceRemoved,
    ResourceRenamed,
    SettingsChanged,
    SortingKeyChanged,
    TtlChanged,
    ViewChanged,
)
from penstock.plan.diff.column_matching import ColumnMatch, find_former_names, match_columns
from penstock.plan.diff.forward_columns import read_forward_query
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.plan.diff.query_equality import is_same_pipe, is_same_text, normalize_sql
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.plan.diff.ttl_and_final import is_same_ttl


def diff_projects(before: Project, after: Project) -> tuple[Change, ...]:
    """Every change, data sources first, each kind by name."""
    return diff_versions(ProjectQueries(before), ProjectQueries(after))


def diff_versions(old_queries: ProjectQueries, new_queries: ProjectQueries) -> tuple[Change, ...]:
    """Like `diff_projects`, of two projects whose queries are compiled for others too."""
    before, after = old_queries.project, new_queries.project
    former = find_former_names(before, after)
    continued = set(former.values())
    gone = [source for source in before.datasources if source.name not in continued]
    found: list[Change] = [ResourceRemoved(source.name, "datasource") for source in gone]
    for source in after.datasources:
        old = before.datasource(former[source.name]) if source.name in former else None
        if old == source:
            continue
        found += _datasource_changes(old, source) if old else [ResourceAdded(source.name, "datasource")]
    found += [ResourceRemoved(pipe.name, pipe_kind(pipe)) for pipe in before.pipes if after.pipe(pipe.name) is None]
    for pipe in after.pipes:
        known = before.pipe(pipe.name)
        if known == pipe:
            continue
        found += _pipe_changes(old_queries, new_queries, pipe) if known else [ResourceAdded(pipe.name, pipe_kind(pipe))]
    return tuple(found)


def _datasource_changes(old: DataSource, new: DataSource) -> Iterator[Change]:
    if old.name != new.name:
        yield ResourceRenamed(new.name, "datasource", old.name)
    match = match_columns(old, new, read_forward_query(old, new))
    yield from _column_changes(old, new, match)
    yield from _engine_changes(old, new)
    what = _changed_metadata(old, new)
    if what:
        yield MetadataChanged(new.name, "datasource", what)


def _column_changes(old: DataSource, new: DataSource, match: ColumnMatch) -> Iterator[Change]:
    for column, origin in match.pairs:
        if origin is None:
            yield ColumnAdded(new.name, column.name, column.type)
            continue
        if column.name != origin.name:
            yield ColumnRenamed(new.name, column.name, origin.name)
        if column.type != origin.type:
            yield ColumnTypeChanged(new.name, column.name, origin.type, column.type)
        if not is_same_text(origin.default, column.default):
            texts = [each.default.text if each.default else None for each in (origin, column)]
            yield ColumnDefaultChanged(new.name, column.name, texts[0], texts[1])
        if old.path_of(origin) != new.path_of(column):
            yield ColumnPathChanged(new.name, column.name, old.path_of(origin), new.path_of(column))
    yield from (ColumnDropped(new.name, column.name) for column in match.dropped)
    kept = [origin.name for _, origin in match.pairs if origin is not None]
    if kept != [column.name for column in old.columns if column.name in kept]:
        yield ColumnsReordered(new.name)


def _engine_changes(before: DataSource, after: DataSource) -> Iterator[Change]:
    name, old, new = after.name, before.engine, after.engine
    if _merge_rule_texts(old) != _merge_rule_texts(new):
        yield EngineChanged(name, " ".join(_merge_rule_texts(old)), " ".join(_merge_rule_texts(new)))
    if _normalize_all(old.sorting_key) != _normalize_all(new.sorting_key):
        yield SortingKeyChanged(name, old.sorting_key, new.sorting_key)
    if _normalize_all(old.partition_key) != _normalize_all(new.partition_key):
        yield PartitionKeyChanged(name, old.partition_key, new.partition_key)
    if not is_same_ttl(before, after):
        yield TtlChanged(name, old.ttl, new.ttl)
    if _comparable_settings(old) != _comparable_settings(new):
        yield SettingsChanged(name)


def _merge_rule_texts(engine: Engine) -> tuple[str, ...]:
    """The engine and what decides which rows it merges."""
    options = {
        "ENGINE_VER": engine.ver,
        "ENGINE_IS_DELETED": engine.is_deleted,
        "ENGINE_SIGN": engine.sign,
        "ENGINE_VERSION": engine.version,
        "ENGINE_COLUMNS": ", ".join(engine.summed),
    }
    return (engine.name, *(f"{name} {value}" for name, value in options.items() if value))


def _comparable_settings(engine: Engine) -> tuple[object, ...]:
    return tuple(sorted(engine.settings)), _normalize_all(engine.primary_key), normalize_sql(engine.sampling_key or "")


def _normalize_all(expressions: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(normalize_sql, expressions))


def _changed_metadata(old: DataSource, new: DataSource) -> tuple[str, ...]:
    parts = {
        "description": (old.description, new.description),
        "tags": (old.tags, new.tags),
        _changed_tokens(old.tokens, new.tokens): (set(old.tokens), set(new.tokens)),
        "shared with": (old.shared_with, new.shared_with),
        "indexes": (old.indexes, new.indexes),
        "backfill": (old.keeps_history, new.keeps_history),
        "life cycle": (old.is_protected, new.is_protected),
        "topic": (old.kafka, new.kafka),
        "files": (old.files, new.files),
        "forward query": (_normal_forward_query(old), _normal_forward_query(new)),
        "former names": (_has_ended_renames(old, new), False),
        "codecs": tuple({column.name: column.codec for column in each.columns if column.codec} for each in (old, new)),
    }
    return tuple(what for what, (before, after) in parts.items() if before != after)


def _has_ended_renames(old: DataSource, new: DataSource) -> bool:
    """Whether a RENAMED_FROM of an earlier step is gone: only without it in live the same rename can be made again."""
    pairs = ((each, new.column(each.name)) for each in old.columns if each.renamed_from is not None)
    return any(made is not None and made.renamed_from is None for _, made in pairs)


def _normal_forward_query(source: DataSource) -> str | None:
    return normalize_sql(source.forward_query.text) if source.forward_query else None


def _pipe_changes(before: ProjectQueries, after: ProjectQueries, new: Pipe) -> Iterator[Change]:
    old = before.project.pipe(new.name)
    assert old is not None, "asked for pipes of both versions"
    if is_same_pipe(before, after, new.name):
        pass
    elif new.materialized is not None:
        yield ViewChanged(new.name, new.materialized.name)
    else:
        yield EndpointChanged(new.name, pipe_kind(new))
    parts = {
        "description": (old.description, new.description),
        "tags": (old.tags, new.tags),
        _changed_tokens(old.tokens, new.tokens): (set(old.tokens), set(new.tokens)),
        "node descriptions": tuple([node.description for node in pipe.nodes] for pipe in (old, new)),
        "ON_ERROR": tuple(_error_policy(pipe) for pipe in (old, new)),
        "schedule": tuple(pipe.copies.schedule if pipe.copies is not None else None for pipe in (old, new)),
        "sink": tuple(pipe.exported.kind if pipe.exported is not None else None for pipe in (old, new)),
        "COPY_MODE": tuple(pipe.copies.mode if pipe.copies is not None else None for pipe in (old, new)),
    }
    what = tuple(name for name, (before, after) in parts.items() if before != after)
    if what:
        yield MetadataChanged(new.name, pipe_kind(new), what)


def _changed_tokens(old: tuple[Token, ...], new: tuple[Token, ...]) -> str:
    """What is said of TOKEN lines that differ: `tokens (+ dashboard READ, - tracker APPEND)`."""
    added = [f"+ {each.name} {each.scope}" for each in dict.fromkeys(new) if each not in old]
    removed = [f"- {each.name} {each.scope}" for each in dict.fromkeys(old) if each not in new]
    return f"tokens ({', '.join([*added, *removed])})"


def _error_policy(pipe: Pipe) -> OnError | None:
    node = pipe.materialized
    return node.kind.on_error if node is not None and isinstance(node.kind, Materialized) else None
