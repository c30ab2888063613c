"""Which columns of a version another Iceberg reader can be given, and which it would read wrong.

In: a binding, the ids of the physical columns, what each data file holds, and the values of constants. Out:
`ShownColumn` and `OmittedColumn` values. Invariant: a column is shown only if a reader that knows nothing but the
metadata gets, in every row, the value that SQL gets.

Iceberg gives a column that a file lacks its `initial-default`, in all rows of the file. So the value of older rows can
be said if it is a constant and older rows that other columns were stored for are not in files that have NULL instead.
That relies on this: rows up to the cutover offset hold, in the column of a newer version, NULL or the value itself.
Source: Iceberg spec, "Default values".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, Union

from penstock.model.manifest import ICEBERG_NAMES, Before, Binding, BoundColumn
from penstock.model.types import AggregateFunction, has_fields_alike, has_part
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.stored_types import spark_type

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


ConstantKind: TypeAlias = Literal["default", "stored", "opaque"]
"""How a reader can be given a constant: as the default of its column; only by files that have it; or only by files of
which manifests do not tell whether they have it (lists, maps, tuples)."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """What is known of one data file."""

    path: str
    rows: int
    low: int | None
    high: int | None
    """The least and the greatest `_seq` of its rows; None if a row has none (it was written from outside)."""
    nulls: Mapping[int, int]
    """By field id, how many rows have NULL; a column without an entry is not in the file."""


@dataclass(frozen=True, slots=True)
class Constant:
    """The value that a column has in older rows."""

    value: Json
    """As Iceberg writes single values in JSON; None is NULL, or no JSON."""
    kind: ConstantKind = "default"


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of the version, and the physical column that a reader reads."""

    name: str
    field: int
    doc: str
    default: Json = None
    """The value in files that lack the column."""


@dataclass(frozen=True, slots=True)
class OmittedColumn:
    """A column that a reader is not given."""

    name: str
    reason: str
    unfilled: tuple[str, ...] = ()
    """It can be shown once these files have the constant value of its older rows: their paths."""


OpenColumn: TypeAlias = Union[ShownColumn, OmittedColumn]


def open_columns(
    binding: Binding, fields: Mapping[str, int], files: Sequence[FileColumns], constants: Mapping[str, Constant]
) -> tuple[OpenColumn, ...]:
    """The columns of a binding, in its order. `fields` has the ids of the physical columns, `constants` the values of
    `constant_columns`."""
    taken: set[int] = set()
    found: list[OpenColumn] = []
    for column in binding.columns:
        each = _open_column(column, fields.get(column.physical), files, constants.get(column.name))
        if isinstance(each, ShownColumn) and each.field in taken:
            each = OmittedColumn(column.name, "another column of the version is stored in the same place")
        if isinstance(each, ShownColumn):
            taken.add(each.field)
        found.append(each)
    return tuple(found)


def constant_columns(binding: Binding) -> tuple[BoundColumn, ...]:
    """The columns that have one constant value in older rows."""
    return tuple(
        column
        for column in binding.columns
        if (before := older_rows(column)) is not None and expression_facts(before.expression).is_constant
    )


def older_rows(column: BoundColumn) -> Before | None:
    """How older rows are computed that do not hold the value of a column; None if all rows hold it."""
    before = column.before
    return None if before is None or before.cut is None or before.is_settled else before


def _open_column(
    column: BoundColumn, field: int | None, files: Sequence[FileColumns], constant: Constant | None
) -> OpenColumn:
    doc = str(column.type)
    if field is None:
        return OmittedColumn(column.name, "its physical column was dropped from outside")
    if reason := _unreadable(column):
        return OmittedColumn(column.name, reason)
    before = older_rows(column)
    if before is None or not any(_may_have_older(file, before) for file in files):
        return ShownColumn(column.name, field, doc)
    if constant is None:
        return OmittedColumn(column.name, "its values in older rows are computed when they are read")
    if constant.value is None and constant.kind == "default":
        return ShownColumn(column.name, field, doc)  # NULL is what a reader finds anyway
    return _with_default(ShownColumn(column.name, field, doc, constant.value), before, files, constant)


def _unreadable(column: BoundColumn) -> str | None:
    """Why some readers would read the column wrong, or not the table at all; None if they do not."""
    if column.name.casefold() in ICEBERG_NAMES:
        return "Iceberg keeps this name for itself, and Spark reads no table with such a column"
    if has_fields_alike(column.type):
        return "fields of its tuple differ in case only, which DuckDB does not tell apart"
    return None


def _with_default(shown: ShownColumn, before: Before, files: Sequence[FileColumns], constant: Constant) -> OpenColumn:
    """The column with its default, if each file that lacks it has older rows only and no other file has NULL in an
    older row. (A newer row may have NULL as its value, so a file of older and newer rows with a NULL tells nothing.)"""
    name, field = shown.name, shown.field
    lacking = [file for file in files if field not in file.nulls]
    unfilled = [file for file in files if file.nulls.get(field) and _may_have_older(file, before)]
    unfilled += [file for file in lacking if constant.kind != "default" or not _has_only_older(file, before)]
    if not unfilled:
        return replace(shown, default=constant.value if lacking else None)
    helps = constant.kind != "opaque" and all(_has_only_older(file, before) for file in unfilled)
    return OmittedColumn(name, _REASONS[constant.kind], tuple(file.path for file in unfilled) if helps else ())


_REASONS: Mapping[ConstantKind, str] = {
    "default": "some files have NULL in its place in older rows",
    "stored": "older rows have a value that this reader would not find as a default",
    "opaque": "Iceberg has no default for lists, maps and tuples, and older rows have one",
}


def _may_have_older(file: FileColumns, before: Before) -> bool:
    """Whether a row of the file may be one whose value is computed."""
    assert before.cut is not None, "the column has older rows"
    if file.low is None or file.high is None:
        return file.rows > 0
    return file.rows > 0 and file.high > before.settled and file.low <= before.cut


def _has_only_older(file: FileColumns, before: Before) -> bool:
    """Whether each row of the file is one whose value is computed."""
    assert before.cut is not None, "the column has older rows"
    if file.low is None or file.high is None:
        return False
    return file.low > before.settled and file.high <= before.cut


def finer_columns(binding: Binding, stored: Mapping[str, str]) -> tuple[str, ...]:
    """The columns of Float32 that another version has widened: SQL rounds what is stored, another reader does not. By
    physical column, `stored` has the types in the table's metadata. Lists, maps and tuples are compared as a whole."""
    return tuple(
        column.name
        for column in binding.columns
        if column.physical in stored
        and spark_type(column.type).lower().count("float") > stored[column.physical].lower().count("float")
    )


def state_columns(binding: Binding) -> tuple[str, ...]:
    """The columns with states of aggregate functions, whatever they are stored as: a sum so far is a number."""
    return tuple(column.name for column in binding.columns if has_part(column.type, AggregateFunction))


def may_hide_rows(files: Sequence[FileColumns], rejects: int | None) -> bool:
    """Whether a file has rows that some version rejects; `rejects` is the field id of `_rejects`."""
    return rejects is not None and any(file.nulls.get(rejects, file.rows) < file.rows for file in files)
