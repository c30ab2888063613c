"""`dataclass` for frozen values: as that of the standard library, in less than half of its time.

In: a class. Out: what `dataclasses.dataclass` makes of it. The standard library writes and compiles six methods for
each class, which took a quarter of a check: it loads 250. Here `__init__` is compiled; the others are closures over the
fields. Invariant: what is not frozen, or has options or fields of another kind, is left to the standard library;
`fields`, `replace`, `match`, copies and pickles work alike.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from inspect import get_annotations
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, TypeVar

__all__ = ["dataclass"]

T = TypeVar("T")
_Values = Callable[[object], tuple[object, ...]]
_KINDS_OF_THEIR_OWN = ("InitVar", "KW_ONLY", "ClassVar")


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type[T] | None = None, /, **options: bool) -> type[T] | Callable[[type[T]], type[T]]:
        """A decorator with the options of `dataclasses.dataclass`."""

        def made(cls: type[T]) -> type[T]:
            if options.get("frozen") and options.keys() <= {"frozen", "slots"} and _is_plain(cls):
                return _frozen_class(cls, slots=options.get("slots", False))
            return dataclasses.dataclass(**options)(cls)

        return made if cls is None else made(cls)


def _is_plain(cls: type) -> bool:
    """Whether every field is a parameter and counts in comparisons as it is, and every base is made here."""
    kinds = get_annotations(cls).values()
    fields = (each for each in cls.__dict__.values() if isinstance(each, dataclasses.Field))
    bases = (base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base))
    return (
        not any(word in str(kind) for kind in kinds for word in _KINDS_OF_THEIR_OWN)
        and all(each.init and each.repr and each.hash is None and not _is_by_keyword(each) for each in fields)
        and all(getattr(base, "__setattr__", None) is _refuse_change for base in bases)
    )


def _is_by_keyword(field: dataclasses.Field[object]) -> bool:
    return field.kw_only is not dataclasses.MISSING and bool(field.kw_only)


def _frozen_class(cls: type[T], **storage: bool) -> type[T]:
    """The class with its methods; `storage` may say `slots`."""
    own = dict(cls.__dict__)
    made = dataclasses.dataclass(init=False, repr=False, eq=False, **storage)(cls)
    fields: tuple[dataclasses.Field[object], ...] = dataclasses.fields(made)  # type: ignore[arg-type]
    values = _values_of([each.name for each in fields if each.compare])
    methods: dict[str, object] = {
        "__init__": _new_init(made, fields),
        "__repr__": _new_repr([each.name for each in fields]),
        "__eq__": _new_eq(values),
    }
    changes: dict[str, object] = {"__setattr__": _refuse_change, "__delattr__": _refuse_removal}
    if storage.get("slots"):
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    if "__hash__" not in own or (own["__hash__"] is None and "__eq__" in own):
        own.pop("__hash__", None)
        methods["__hash__"] = _new_hash(values)
    for name, method in {**{name: each for name, each in methods.items() if name not in own}, **changes}.items():
        setattr(made, name, method)
    return made


def _refuse_change(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_removal(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _values_of(names: list[str]) -> _Values:
    """A function that gives the values of these fields as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    only = attrgetter(names[0])
    return lambda each: (only(each),)


def _new_eq(values: _Values) -> Callable[[object, object], object]:
    def equals(self: object, other: object) -> object:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return equals


def _new_hash(values: _Values) -> Callable[[object], int]:
    return lambda self: hash(values(self))


def _new_repr(names: Iterable[str]) -> Callable[[object], str]:
    @recursive_repr()
    def written(self: object) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return written


def _state(self: object) -> list[object]:
    return [getattr(self, each.name) for each in dataclasses.fields(self)]  # type: ignore[arg-type]


def _set_state(self: object, state: Iterable[object]) -> None:
    for each, value in zip(dataclasses.fields(self), state, strict=True):  # type: ignore[arg-type]
        object.__setattr__(self, each.name, value)


def _new_init(cls: type, fields: Iterable[dataclasses.Field[object]]) -> Callable[..., None]:
    """An `__init__` with a parameter for each field, compiled: it is called for every value."""
    given: dict[str, object] = {"_set_": object.__setattr__, "_missing_": dataclasses.MISSING}
    parameters, lines = ["self"], []
    for place, each in enumerate(fields):
        default, value = f"_default_{place}_", each.name
        if each.default_factory is not dataclasses.MISSING:
            given[default] = each.default_factory
            parameters.append(f"{each.name}=_missing_")
            value = f"{default}() if {each.name} is _missing_ else {each.name}"
        elif each.default is not dataclasses.MISSING:
            given[default] = each.default
            parameters.append(f"{each.name}={default}")
        else:
            parameters.append(each.name)
        lines.append(f"_set_(self, {each.name!r}, {value})")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    body = "\n  ".join(lines or ["pass"])
    text = f"def make({', '.join(given)}):\n def __init__({', '.join(parameters)}):\n  {body}\n return __init__"
    made: dict[str, Callable[..., Callable[..., None]]] = {}
    exec(text, sys.modules[cls.__module__].__dict__, made)
    init = made["make"](**given)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {**{each.name: each.type for each in fields}, "return": None}
    return init
