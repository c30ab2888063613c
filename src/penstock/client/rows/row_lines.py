"""Rows of a program as lines of NDJSON.

In: models, dicts and dataclasses. Out: lines. Invariant: a row is a whole line or an `UnsendableValue`; a dict is
checked by the model and sent with its own values, which the model may have with fewer digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass

from pydantic import BaseModel, ValidationError

from penstock.api.objects.no_column_type import NoColumnType
from penstock.client.client_error import ClientError
from penstock.client.rows.row_shape import RowShape, row_shape
from penstock.client.rows.sendable_values import UnsendableValue, sendable_parts, write_row
from penstock.client.rows.unknown_keys import key_check

_SHOWN_ERRORS = 3


class RowWriter:
    """Writes rows of one table; `model` is that of the table, if it is known."""

    def __init__(self, model: type[BaseModel] | None, check: Callable[[object], None]):
        self._shape = shape_of(model) if model is not None else None
        self._check = check

    def line(self, row: object) -> bytes:
        """The line of a row. Raises UnsendableValue."""
        try:
            return write_row(self._parts(row))
        except RecursionError:
            raise UnsendableValue("the row contains itself, or is nested too deeply") from None

    def _parts(self, row: object) -> dict[str, object]:
        if isinstance(row, BaseModel):
            self._check(row)
            return shape_of(type(row)).of_model(row)
        if is_dataclass(row) and not isinstance(row, type):
            row = {each.name: getattr(row, each.name) for each in fields(row)}
        if not isinstance(row, Mapping):
            raise UnsendableValue(_why_no_row(row))
        self._check(row)
        if self._shape is not None:
            return self._shape.of_mapping(row)
        wrong = next((key for key in row if not isinstance(key, str)), None)
        if wrong is not None:
            raise UnsendableValue(f"the name of a value is a text, not {wrong!r}")
        return sendable_parts(row)


def shape_of(model: type[BaseModel]) -> RowShape:
    """The shape of a model. Raises ClientError for a model that no table can have."""
    try:
        return row_shape(model)
    except NoColumnType as fault:
        raise ClientError(f"{model.__name__}: {fault.message}", hint=fault.hint, code="wrong-usage") from None


def row_check(model: type[BaseModel] | None, *, validates: bool) -> Callable[[object], None]:
    """What checks a row by the model before it is sent. It raises UnsendableValue."""
    if model is None or not validates:
        return _accept
    expected, check_keys = model, _key_check(model)

    def check(row: object) -> None:
        if isinstance(row, BaseModel):
            if not isinstance(row, expected):
                raise UnsendableValue(f"a {type(row).__name__}, where a {expected.__name__} was expected")
            if type(row) is not expected:
                check_keys(dict.fromkeys(type(row).model_fields))
            return
        check_keys(row)
        try:
            expected.model_validate(row)
        except ValidationError as error:
            raise UnsendableValue(shown_validation_error(error)) from None
        except Exception as error:  # of a validator, or of a model that is not whole
            raise UnsendableValue(f"{expected.__name__} cannot check it: {type(error).__name__}: {error}") from error

    return check


def _key_check(model: type[BaseModel]) -> Callable[[object], None]:
    """What refuses the keys that no field has. Raises ClientError for a model that no table can have."""
    shape_of(model)
    return key_check(model)


def shown_validation_error(error: ValidationError) -> str:
    """The first mistakes that Pydantic found, each with its place."""
    found = error.errors(include_url=False, include_context=False)
    shown = [f"{'.'.join(map(str, each['loc'])) or 'the row'}: {each['msg']}" for each in found[:_SHOWN_ERRORS]]
    more = len(found) - _SHOWN_ERRORS
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _accept(row: object) -> None:
    """Every row."""


def _why_no_row(row: object) -> str:
    if hasattr(row, "asDict"):  # a Row of Spark: its times have lost their zone
        return "a Row of Spark has times without their zone: insert the DataFrame itself"
    return f"a {type(row).__name__} is no row: rows are models, dicts or dataclasses"
