"""DataFrames of pandas as record batches of Arrow; those with dicts in them as rows.

In: a DataFrame. Out: record batches, or `PandasRows`. Invariants: pandas is not imported; each row keeps exactly its
own keys, at whatever depth: Arrow would make one struct of all dicts of a column, in which a key that a row has not got
and one whose value is None are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Protocol, cast

import pyarrow as pa
from pydantic import BaseModel

from penstock.client.client_error import ClientError

_DEEPEST = 100
"""Lists in lists that are deeper are left to what writes rows, which refuses them."""


class _Series(Protocol):
    """What is used of a column of pandas."""

    dtype: object

    def __iter__(self) -> Iterator[object]: ...
    def isna(self) -> _Series: ...


class _Array(Protocol):
    """What is used of an array of NumPy."""

    dtype: object
    flat: Iterable[object]


class _Index(Protocol):
    names: Sequence[object]


class PandasFrame(Protocol):
    """What is used of a DataFrame of pandas."""

    columns: Sequence[object]

    @property
    def index(self) -> _Index: ...
    def items(self) -> Iterable[tuple[object, _Series]]: ...
    def drop(self, *, columns: list[object]) -> PandasFrame: ...


@dataclass(frozen=True, slots=True)
class PandasRows:
    """The rows of a frame that has dicts, as dicts; they can be read more than once."""

    columns: Mapping[str, Sequence[object]]

    def __iter__(self) -> Iterator[dict[str, object]]:
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))


def as_pandas_frame(rows: object) -> PandasFrame | None:
    """The rows, if they are a DataFrame of pandas."""
    kind = type(rows)
    is_frame = kind.__name__ == "DataFrame" and kind.__module__.startswith("pandas")
    return cast(PandasFrame, rows) if is_frame else None


def column_names(frame: PandasFrame) -> list[str]:
    """The names of the columns: an index with names is columns, too; one without is not."""
    return [*map(str, frame.columns), *(map(str, frame.index.names) if _has_named_index(frame) else ())]


def frame_rows(frame: PandasFrame) -> PandasRows | None:
    """The rows of a frame with dicts in it; None if it has none. Its columns have names of their own. Raises
    ClientError."""
    found = {label: column for label, column in frame.items() if _is_of_objects(column) and _has_dicts(column)}
    if not found:
        return None
    others = frame_table(frame.drop(columns=list(found)))
    columns: dict[str, Sequence[object]] = {}
    for label in frame.columns:
        columns[str(label)] = _own_values(found[label]) if label in found else others[str(label)].to_pylist()
    return PandasRows(columns | {name: others[name].to_pylist() for name in others.column_names if name not in columns})


def frame_table(frame: PandasFrame) -> pa.Table:
    """The frame as a table. Raises ClientError."""
    try:
        return pa.Table.from_pandas(frame, preserve_index=_has_named_index(frame))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = "; ".join(map(str, error.args)) or str(error)
        hint = "rows of values that Arrow does not have are inserted as frame.to_dict('records')"
        raise ClientError(
            f"a column of the DataFrame cannot be sent: {reason}", hint=hint, code="wrong-usage"
        ) from None


def _has_named_index(frame: PandasFrame) -> bool:
    return all(name is not None for name in frame.index.names)


def _own_values(column: _Series) -> list[object]:
    """The values as they are; a missing one is None."""
    return [None if is_missing else value for value, is_missing in zip(column, column.isna(), strict=True)]


def _has_dicts(values: Iterable[object], depth: int = 0) -> bool:
    """Whether one of the values is what Arrow makes a struct of, or has one inside."""
    values = list(values)
    kinds = set(map(type, values))
    if any(issubclass(each, (Mapping, BaseModel)) or is_dataclass(each) for each in kinds) or depth > _DEEPEST:
        return True
    lists = tuple(each for each in kinds if issubclass(each, (list, tuple)))
    parts: list[object] = [one for each in values if isinstance(each, lists) for one in cast(list[object], each)]
    arrays = [each for each in values if type(each).__name__ == "ndarray" and _is_of_objects(cast(_Array, each))]
    parts += [one for each in arrays for one in cast(_Array, each).flat]
    return bool(parts) and _has_dicts(parts, depth + 1)


def _is_of_objects(values: _Series | _Array) -> bool:
    return str(values.dtype) == "object"
