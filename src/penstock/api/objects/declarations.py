"""The objects that a Python project declares, and where.

In: calls such as `OlapTable[Event]("events")`. Out: `DECLARED`, the objects in the order in which they were made, each
with the file and line of the call. Invariant: to construct is to declare; nothing is compared with others here.
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import BaseModel, RootModel

RowModel = TypeVar("RowModel", bound=BaseModel)
_OWN = "penstock.api"


@dataclass(frozen=True, slots=True)
class CallLocation:
    """The line of a call: the file as Python knows it."""

    file: str
    line: int


class Declared:
    """An object of a project. In SQL, `f"{table}"` is its name."""

    has_file: ClassVar[bool] = True
    """Whether it becomes a datafile of its own."""

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"the name of {type(self).__name__} must be a str, not {type(name).__name__}")
        self.name = name
        self.location = find_caller()
        DECLARED.append(self)
        if self.has_file and next(_FILES) > MOST_OBJECTS:
            raise TooManyObjects(f"the project declares more than {MOST_OBJECTS:,} objects")

    @property
    def ref(self) -> str:
        """The name under which SQL reads it."""
        return self.name

    def __str__(self) -> str:
        return self.ref


DECLARED: list[Declared] = []
MOST_OBJECTS = 5_000
"""A project with more is refused: its plan alone would take minutes."""
_FILES = itertools.count(1)
"""The number of the next object that becomes a datafile."""


class TooManyObjects(Exception):
    """Ends a project that declares without end. The objects are there still, should the project go on."""


def require_text(what: str, value: object) -> None:
    """Raises TypeError for a value that is no text."""
    if not isinstance(value, str):
        raise TypeError(f"the {what} must be a str, not {type(value).__name__}")


class Modelled(Declared, Generic[RowModel]):
    """An object whose rows have a Pydantic model: `OlapTable[Event]`."""

    model: ClassVar[type[BaseModel] | None] = None

    if not TYPE_CHECKING:

        def __class_getitem__(cls, model: object) -> type:
            if isinstance(model, TypeVar):
                return cls  # a class of this package is being defined
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                raise TypeError(f"{cls.__name__}[…] needs a Pydantic model, not {model!r}")
            if issubclass(model, RootModel):
                raise TypeError(f"{cls.__name__}[…] needs a model with fields, and {model.__name__} is a RootModel")
            return _with_model(cls, model)

    @property
    def row_model(self) -> type[BaseModel]:
        """The model between the square brackets. Raises TypeError if there is none."""
        if self.model is None:
            raise TypeError(f"{type(self).__name__} needs the model of its rows: {type(self).__name__}[Model](…)")
        return self.model


@cache
def _with_model(kind: type, model: type[BaseModel]) -> type:
    return type(kind.__name__, (kind,), {"model": model, "__module__": kind.__module__})


def find_caller() -> CallLocation:
    """The nearest line on the stack that is not of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith(f"{_OWN}."):
        frame = frame.f_back
    return CallLocation(frame.f_code.co_filename, frame.f_lineno)
