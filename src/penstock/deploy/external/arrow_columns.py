"""Columns of Parquet files, as Arrow reads them, as columns of ClickHouse.

In: a schema and its values. Out: ClickHouse's types for them, as ClickHouse infers them, and arrays as they are stored.
Invariant: a value is taken exactly or refused: nothing is rounded, cut or wrapped around; a time without a zone is one
of UTC. Source: ClickHouse's documentation of the format Parquet (tests compare with it).
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.deploy.external.stored_values import UnsupportedValue, default_value, stored_arrow
from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type

_PLAIN: dict[pa.DataType, Type] = {
    **{getattr(pa, f"int{bits}")(): t.Int(bits) for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): t.Int(bits, signed=False) for bits in (8, 16, 32, 64)},
    pa.float32(): t.Float(32),
    pa.float64(): t.Float(64),
    pa.bool_(): t.Bool(),
    pa.date32(): t.Date(wide=True),
    **dict.fromkeys((pa.string(), pa.large_string(), pa.binary(), pa.large_binary()), t.String()),
}
_DIGITS = {"s": 3, "ms": 3, "us": 6, "ns": 9}
"""The digits of a second that ClickHouse gives times of each unit; Parquet has no whole seconds."""
_DAYS = (-25567, 120529)
_SECONDS = (-2208988800, 10413791999)
"""The first and last days and moments that ClickHouse's types have: the years 1900 to 2299."""


class UnreadableColumn(ValueError):
    """A column that has no type of ClickHouse here; the message says why."""


def inferred_type(field: pa.Field) -> Type:
    """The type that ClickHouse infers for a column. Raises UnreadableColumn."""
    of, may_be_null = field.type, field.nullable
    if pa.types.is_dictionary(of):
        return inferred_type(field.with_type(of.value_type))
    if pa.types.is_list(of) or pa.types.is_large_list(of):
        return t.Array(inferred_type(of.value_field))
    if pa.types.is_map(of):
        return t.Map(inferred_type(of.key_field.with_nullable(False)), inferred_type(of.item_field))
    if pa.types.is_struct(of) and of.num_fields:
        return t.Tuple(tuple((each.name, inferred_type(each)) for each in of))
    plain = _scalar(of)
    return t.Nullable(plain) if may_be_null else plain


def _scalar(of: pa.DataType) -> Type:
    if of in _PLAIN:
        return _PLAIN[of]
    if pa.types.is_timestamp(of):
        return t.DateTime64(_DIGITS[of.unit], "UTC")
    if pa.types.is_fixed_size_binary(of):
        return t.FixedString(of.byte_width)
    if pa.types.is_decimal(of) and of.precision <= 38 and 0 <= of.scale <= of.precision:
        return t.Decimal(of.precision, of.scale)
    raise UnreadableColumn(f"is of the type {of} in the file, which has no counterpart here")


def is_same_type(given: Type, inferred: Type) -> bool:
    """Whether a type that is written for a column differs from the file's only in what may be NULL, how it is stored,
    and the zone in which a time is shown."""
    given, inferred = unwrap_type(given), unwrap_type(inferred)
    match given, inferred:
        case (t.Array(one), t.Array(other)):
            return is_same_type(one, other)
        case (t.Map(key, one), t.Map(other_key, other)):
            return is_same_type(key, other_key) and is_same_type(one, other)
        case (t.Tuple(fields), t.Tuple(others)):
            same_names = [name for name, _ in fields] == [name for name, _ in others]
            return same_names and all(is_same_type(a, b) for (_, a), (_, b) in zip(fields, others, strict=True))
        case (t.DateTime64(digits), t.DateTime64(other_digits)):
            return digits == other_digits
        case _:
            return given == inferred


def stored_array(array: pa.Array, of: Type) -> pa.Array:
    """The values of a column as its type is stored. Raises UnsupportedValue."""
    try:
        return _stored(array, of)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise UnsupportedValue(str(error).splitlines()[0]) from error


def _stored(array: pa.Array, of: Type) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    plain = unwrap_type(of)
    nested = _NESTED.get(type(plain))
    if nested is not None:
        return nested(array, plain)
    if isinstance(plain, t.UUID):
        array = _uuid_texts(array)
    if isinstance(plain, t.Date):
        _check_range(array.cast(pa.int32()), _DAYS)
    if isinstance(plain, t.DateTime64):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[array.type.unit]
        _check_range(array.cast(pa.int64()), (_SECONDS[0] * per_second, (_SECONDS[1] + 1) * per_second - 1))
    made = (
        _nanoseconds(array)
        if array.type == pa.timestamp("ns", array.type.tz if pa.types.is_timestamp(array.type) else None)
        else _plain(array, of)
    )
    if made.null_count and not is_nullable(of):
        made = pc.fill_null(made, pa.scalar(default_value(of), made.type))
    return made


def _uuid_texts(array: pa.Array) -> pa.Array:
    """The texts of UUIDs, from their bytes."""
    stored = array.storage if isinstance(array, pa.ExtensionArray) else array
    return pa.array([None if each is None else str(UUID(bytes=each)) for each in stored.to_pylist()], pa.string())


def _plain(array: pa.Array, of: Type) -> pa.Array:
    to = stored_arrow(of)
    if pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.binary())
    if pa.types.is_timestamp(to):
        return array.cast(pa.timestamp("us", array.type.tz)).cast(to)
    return array.cast(to)


def _nanoseconds(array: pa.Array) -> pa.Array:
    """Seconds with nine digits after the point, from whole nanoseconds."""
    valid = pc.is_valid(array)
    whole = pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    wide = np.stack([whole, whole >> 63], axis=1)  # the low and the high half of 128 bits
    made = pa.Array.from_buffers(pa.decimal128(20, 9), len(array), [None, pa.py_buffer(np.ascontiguousarray(wide))])
    return pc.if_else(valid, made, pa.scalar(None, made.type))


def _check_range(values: pa.Array, bounds: tuple[int, int]) -> None:
    found = pc.min_max(values)
    low, high = found["min"].as_py(), found["max"].as_py()
    if low is not None and (low < bounds[0] or high > bounds[1]):
        raise UnsupportedValue("a day or a time is outside of the years 1900 to 2299, which ClickHouse's types have")


def _stored_array_of(array: pa.Array, of: Type) -> pa.Array:
    assert isinstance(of, t.Array), "the table below says so"
    if pa.types.is_large_list(array.type):
        array = array.cast(pa.list_(array.type.value_field))
    values = _stored(array.flatten(), of.of)
    # An offset for each list, and one more; a list that is NULL has no elements.
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=stored_arrow(of))


def _stored_map(array: pa.Array, of: Type) -> pa.Array:
    assert isinstance(of, t.Map), "the table below says so"
    if array.offset or array.null_count:  # keys and items are those of the whole buffer
        array = pa.concat_arrays([pc.take(array, pa.array(range(len(array))))])
    filled = pa.array([pairs or [] for pairs in array.to_pylist()], array.type) if array.null_count else array
    keys, items = _stored(filled.keys, of.key), _stored(filled.items, of.value)
    return pa.MapArray.from_arrays(filled.offsets, keys, items, stored_arrow(of))


def _stored_tuple(array: pa.Array, of: Type) -> pa.Array:
    assert isinstance(of, t.Tuple), "the table below says so"
    if array.null_count:
        raise UnsupportedValue("a group of values is NULL, and a Tuple cannot be")
    parts = [_stored(each, inner) for each, (_, inner) in zip(array.flatten(), of.fields, strict=True)]
    return pa.StructArray.from_arrays(parts, fields=list(stored_arrow(of)))


_NESTED: dict[type[Type], Callable[[pa.Array, Type], pa.Array]] = {
    t.Array: _stored_array_of,
    t.Map: _stored_map,
    t.Tuple: _stored_tuple,
}
