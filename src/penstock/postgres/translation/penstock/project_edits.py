"""The edits of a project's datafiles that carry the operations of one phase.

In: the operations and a draft of the project. Out: the draft with its edits, which `penstock plan` judges. Invariants:
a column that Postgres renames is renamed here (RENAMED_FROM keeps its rows) with its JSON path, and every query that
reads it keeps the names that it gives; what a query computes is left to the planner, which refuses what does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.errors import Location
from penstock.model import types as t
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.json_path import path_of_key
from penstock.model.pipe import Node, Pipe
from penstock.postgres.catalog.replicated_table import ReplicatedColumn, ReplicatedType
from penstock.postgres.catalog.store_types import penstock_type
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsValue,
    Operation,
    RenameColumn,
    RenameEnumValue,
    SwapColumns,
)
from penstock.postgres.translation.clickhouse.column_values import value_expression
from penstock.postgres.translation.clickhouse.schema import quoted_name
from penstock.postgres.translation.clickhouse.view_query import ViewQuery
from penstock.postgres.translation.penstock.project_draft import ProjectDraft
from penstock.postgres.translation.refusal import CannotTranslate, refuse_view


def edit_project(operations: Sequence[Operation], draft: ProjectDraft) -> None:
    """Make the edits of the operations. Raises CannotTranslate."""
    for operation in operations:
        match operation:
            case AddColumn():
                _add(draft, operation)
            case DropColumn(name):
                _drop(draft, draft.datasource, name)
            case RenameColumn(name, to):
                _rename(draft, name, to)
            case SwapColumns(name, other):
                _swap(draft, name, other)
            case ChangeType(name, of, narrowing):
                _change_type(draft, name, of, narrowing=narrowing)
            case DropNotNull(name):
                _change_kind(draft, draft.datasource, name, t.Nullable(_plain(_column(draft.source(), name).type)))
            case AddEnumValue() | RenameEnumValue():
                _change_labels(draft, operation)
            case _:
                # The store says whether a renamed table keeps its data source. A nullable column holds what is never
                # NULL; rows come with all their values; keys are the project's.
                continue


def _add(draft: ProjectDraft, operation: AddColumn) -> None:
    source = draft.source()
    old = operation.old_rows
    value = old.value if isinstance(old, OldRowsValue) else None
    described = ReplicatedColumn(0, operation.name, operation.type, not operation.nullable and value is not None)
    default = None if value is None else Text(_literal(described, value), Location(""))
    column = Column(operation.name, penstock_type(described), _path(source, operation.name), default)
    found = source.column(operation.name)
    if found is not None and found.type != column.type:
        hint = "remove or rename that column first"
        raise CannotTranslate(f"`{source.name}` has a column `{found.name}` of {found.type} already", hint)
    if found is None:
        draft.add_column(source.name, column)
    _pass_on(draft, source.name, replace(column, json_path=None))


def _literal(column: ReplicatedColumn, text: str) -> str:
    """The value as a DEFAULT of a datafile."""
    plain = _plain(penstock_type(column))
    match plain:
        case t.Int() | t.Bool():
            return value_expression(column, text) if isinstance(plain, t.Bool) else text
        case t.String():
            return value_expression(replace(column, type=ReplicatedType("text")), text)
        case t.DateTime64():
            return value_expression(column, text)
        case _:
            return f"CAST({value_expression(replace(column, type=ReplicatedType('text')), text)}, '{plain}')"


def _path(source: DataSource, name: str) -> str | None:
    """The JSON path of a new column: beside those of the other ones; None where the columns have no paths."""
    for each in source.columns:
        if each.json_path is not None and each.json_path.endswith(f".{each.name}"):
            prefix = each.json_path.removesuffix(each.name)
            return f"{prefix}{name}" if path_of_key(name) == f"$.{name}" else path_of_key(name)
    return path_of_key(name) if any(each.json_path for each in source.columns) else None


def _pass_on(draft: ProjectDraft, datasource: str, column: Column) -> None:
    for pipe, node, target in [*draft.views(datasource)]:
        if pipe.name not in draft.choices.chosen:
            continue
        said = draft.choices.queries.get(pipe.name)
        query = ViewQuery(node.sql.text)
        if said is None and not query.passes_rows:
            raise refuse_view(pipe.name, f"groups or joins: how `{column.name}` goes through it is not told")
        if said is None and draft.require(target).engine.name in ("SummingMergeTree", "AggregatingMergeTree"):
            raise refuse_view(pipe.name, f"fills {target}, whose rows are added up")
        if draft.require(target).column(column.name) is None:
            draft.add_column(target, column)
        if said is not None or query.use(column.name) == "none":
            draft.change_query(pipe, node, said or query.with_column(column.name).text)
        _pass_on(draft, target, column)


def _drop(draft: ProjectDraft, datasource: str, name: str) -> None:
    if draft.require(datasource).column(name) is None:
        return
    for pipe, node in [*draft.readers(datasource)]:
        said = draft.choices.queries.get(pipe.name)
        query = ViewQuery(node.sql.text)
        use = query.use(name)
        if said is not None:
            draft.change_query(pipe, node, said)
            continue
        if use == "none" or query.passes_all:
            continue
        without = query.without_column(name) if use == "plain" else None
        if without is None:
            raise refuse_view(pipe.name, f"needs the column `{name}`")
        outputs = query.outputs(name)
        draft.change_query(pipe, node, without.text)
        for view, _, target in [*draft.views(datasource)]:
            if view.name == pipe.name:
                for output in outputs:
                    _drop(draft, target, output)
    draft.remove_column(datasource, name)


def _rename(draft: ProjectDraft, name: str, to: str) -> None:
    source = draft.source()
    column = _column(source, name)
    if source.column(to) is not None:
        raise CannotTranslate(f"`{source.name}` has a column `{to}` already", "remove or rename that column first")
    _refuse_stale(source, column, name)
    engine = source.engine
    if any(name in key for key in (*engine.sorting_key, *engine.partition_key, *engine.primary_key)):
        hint = "rename it in the keys of the engine by hand, with RENAMED_FROM, and deploy that"
        raise CannotTranslate(f"the column `{name}` is in a key of `{source.name}`", hint)
    for pipe, node in [*draft.readers(source.name)]:
        _read_new_name(draft, pipe, node, (name, to))
    made = replace(column, name=to, json_path=_renamed_path(column, name, to), renamed_from=name)
    draft.change_columns(source.name, lambda each: made if each.name == name else each)


def _read_new_name(draft: ProjectDraft, pipe: Pipe, node: Node, names: tuple[str, str]) -> None:
    name, to = names
    query = ViewQuery(node.sql.text)
    said = draft.choices.queries.get(pipe.name)
    use = query.use(name)
    if said is not None:
        draft.change_query(pipe, node, said)
    elif use == "unclear" or query.passes_all:
        raise refuse_view(pipe.name, f"may read the column `{name}`, which is renamed to `{to}`")
    elif use != "none":
        draft.change_query(pipe, node, query.with_expression(name, quoted_name(to)).text)


def _swap(draft: ProjectDraft, name: str, other: str) -> None:
    """Each column gets the other's rows and type; JSON paths stay with the names, as queries do."""
    source = draft.source()
    one, two = _column(source, name), _column(source, other)
    _refuse_stale(source, one, other)
    _refuse_stale(source, two, name)
    made: Mapping[str, Column] = {
        name: replace(two, name=name, json_path=one.json_path, renamed_from=other),
        other: replace(one, name=other, json_path=two.json_path, renamed_from=name),
    }
    draft.change_columns(source.name, lambda each: made.get(each.name, each))
    for column in (made[name], made[other]):
        _follow(draft, source.name, column.name, column.type)


def _refuse_stale(source: DataSource, column: Column, renamed_from: str) -> None:
    """The planner takes a RENAMED_FROM for a rename only if the live version does not have it."""
    if column.renamed_from == renamed_from:
        hint = "remove RENAMED_FROM from the column, and deploy that first"
        message = f"`{column.name}` of `{source.name}` has RENAMED_FROM {renamed_from} of an earlier change"
        raise CannotTranslate(message, hint)


def _renamed_path(column: Column, name: str, to: str) -> str | None:
    path = column.json_path
    if path is None:
        return None
    if path == path_of_key(name):
        return path_of_key(to)
    if path.endswith(f".{name}") and path_of_key(to) == f"$.{to}":
        return path.removesuffix(name) + to
    raise CannotTranslate(f"the JSON path {path} does not end with the column's name", "edit the datafile by hand")


def _change_type(draft: ProjectDraft, name: str, of: ReplicatedType, *, narrowing: bool) -> None:
    column = _column(draft.source(), name)
    is_plain = not isinstance(column.type, t.Nullable)
    made = penstock_type(ReplicatedColumn(0, name, of, is_plain))
    if narrowing:
        hint = "rename it to another name by hand, add the new column, deploy both, and read the rows again"
        if made != column.type:
            raise CannotTranslate(f"`{name}` becomes {made}, which does not have its values", hint)
        return
    _change_kind(draft, draft.datasource, name, made)


def _change_kind(draft: ProjectDraft, datasource: str, name: str, made: t.Type) -> None:
    """The new type in the source, and in the targets to which views pass the column on as it is."""
    column = _column(draft.require(datasource), name)
    if column.type != made:
        draft.change_columns(datasource, lambda each: replace(each, type=made) if each.name == name else each)
    _follow(draft, datasource, name, made)


def _follow(draft: ProjectDraft, datasource: str, name: str, made: t.Type) -> None:
    for _, node, target in [*draft.views(datasource)]:
        for output in ViewQuery(node.sql.text).outputs(name):
            if draft.require(target).column(output) is not None:
                _change_kind(draft, target, output, made)


def _change_labels(draft: ProjectDraft, operation: AddEnumValue | RenameEnumValue) -> None:
    """A column that the project declares as Enum gets the label; a text takes any."""
    of = _column(draft.source(), operation.name).type
    plain = _plain(of)
    if not isinstance(plain, t.Enum) or (
        operation.value not in dict(plain.values) and isinstance(operation, RenameEnumValue)
    ):
        return
    labels = dict(plain.values)
    new = operation.to if isinstance(operation, RenameEnumValue) else operation.value
    labels.setdefault(new, max(labels.values()) + 1)
    made: t.Type = t.Enum(16 if max(labels.values()) > 127 else plain.bits, tuple(labels.items()))
    _change_kind(draft, draft.datasource, operation.name, t.Nullable(made) if of != plain else made)


def _plain(of: t.Type) -> t.Type:
    return of.of if isinstance(of, t.Nullable) else of


def _column(source: DataSource, name: str) -> Column:
    found = source.column(name)
    if found is None:
        hint = f"its columns: {', '.join(source.column_names[:20])}"
        raise CannotTranslate(f"the data source `{source.name}` has no column `{name}`", hint)
    return found
