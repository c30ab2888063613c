"""The classes of `quick_dataclass` beside the same ones of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, dataclass, field
from typing import ClassVar

import pytest

from penstock.model import quick_dataclass

Decorator = Callable[..., Callable[[type], type]]
QUICK: Decorator = quick_dataclass.dataclass
STANDARD: Decorator = dataclass


def classes(made: Decorator) -> dict[str, type]:
    """One class of each kind that the package has."""

    @made(frozen=True, slots=True)
    class Empty:
        """Nothing."""

    @made(frozen=True, slots=True)
    class One:
        """A value."""

        value: object

    @made(frozen=True, slots=True)
    class Several:
        """Fields with and without defaults; one does not count."""

        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        place: str = field(default="", compare=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("negative")

    @made(frozen=True)
    class Loose:
        """With a dictionary."""

        name: str = "a"

    @made(frozen=True, slots=True)
    class More(Several):
        """A class over another one."""

        extra: tuple[int, ...] = ()

    @made(frozen=True, slots=True)
    class OwnMethods:
        """What it defines itself stays."""

        name: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, OwnMethods) and self.name.lower() == other.name.lower()

        def __hash__(self) -> int:
            return hash(self.name.lower())

        def __repr__(self) -> str:
            return "own"

    @made(frozen=True, slots=True)
    class OwnEquality:  # noqa: PLW1641 - its hash is made
        """Its hash is still that of its fields."""

        name: str

        def __eq__(self, other: object) -> bool:
            return True

    @made(frozen=True, slots=True, order=True)
    class Ordered:
        """Options of another kind."""

        at: int = 0

    @made(frozen=True)
    class Special:
        """Fields of another kind."""

        shared: ClassVar[int] = 1
        start: InitVar[int]
        found: int = field(init=False, default=0)

        def __post_init__(self, start: int) -> None:
            object.__setattr__(self, "found", start + 1)

    @made(slots=True)
    class Changing:
        """Not frozen."""

        name: str = ""

    return {each.__name__: each for each in locals().values() if isinstance(each, type)}


QUICK_CLASSES, STANDARD_CLASSES = classes(QUICK), classes(STANDARD)
CALLS: list[tuple[str, tuple[object, ...], dict[str, object]]] = [
    ("Empty", (), {}),
    ("One", (1,), {}),
    ("One", ((1, 2),), {}),
    ("One", (None,), {}),
    ("Several", ("a",), {}),
    ("Several", ("a", 4, [1], "here"), {}),
    ("Several", ("a",), {"place": "there", "parts": [2]}),
    ("Loose", (), {}),
    ("More", ("a",), {"extra": (1,)}),
    ("OwnMethods", ("A",), {}),
    ("OwnEquality", ("A",), {}),
    ("Ordered", (2,), {}),
    ("Special", (1,), {}),
    ("Changing", ("x",), {}),
]


@pytest.mark.parametrize(("name", "given", "named"), CALLS)
def test_values_behave_alike(name: str, given: tuple[object, ...], named: dict[str, object]) -> None:
    quick, standard = QUICK_CLASSES[name](*given, **named), STANDARD_CLASSES[name](*given, **named)
    assert repr(quick) == repr(standard)
    assert dataclasses.asdict(quick) == dataclasses.asdict(standard)
    assert (quick == QUICK_CLASSES[name](*given, **named)) == (standard == STANDARD_CLASSES[name](*given, **named))
    assert quick != standard or name == "OwnEquality"
    assert _hash(quick) == _hash(standard)
    assert copy.copy(quick) == quick
    assert copy.deepcopy(quick) == quick
    fields = [(each.name, each.type, each.compare) for each in dataclasses.fields(quick)]
    assert fields == [(each.name, each.type, each.compare) for each in dataclasses.fields(standard)]
    assert type(quick).__match_args__ == type(standard).__match_args__
    assert hasattr(quick, "__dict__") == hasattr(standard, "__dict__")


def _hash(value: object) -> object:
    try:
        return hash(value)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("name", [name for name in STANDARD_CLASSES if name != "Changing"])
def test_nothing_is_set_or_deleted(name: str) -> None:
    given = next((given, named) for each, given, named in CALLS if each == name)
    for made in (QUICK_CLASSES[name], STANDARD_CLASSES[name]):
        value = made(*given[0], **given[1])
        for each in [known.name for known in dataclasses.fields(value)]:
            with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{each}'"):
                setattr(value, each, 1)
            with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{each}'"):
                delattr(value, each)


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [("One", (), {}), ("One", (1, 2), {}), ("Several", ("a",), {"nothing": 1}), ("Several", ("a", -1), {})],
)
def test_wrong_arguments_are_refused_alike(name: str, given: tuple[object, ...], named: dict[str, object]) -> None:
    told = []
    for made in (QUICK_CLASSES[name], STANDARD_CLASSES[name]):
        with pytest.raises((TypeError, ValueError)) as refused:
            made(*given, **named)
        told.append((type(refused.value), str(refused.value)))
    assert told[0] == told[1]


@pytest.mark.parametrize("name", STANDARD_CLASSES)
def test_signatures_and_hints_are_alike(name: str) -> None:
    quick, standard = (inspect.signature(made[name]) for made in (QUICK_CLASSES, STANDARD_CLASSES))
    assert [(each.name, each.kind, each.annotation) for each in quick.parameters.values()] == [
        (each.name, each.kind, each.annotation) for each in standard.parameters.values()
    ]


def test_equal_means_the_same_class_and_the_same_objects_count_as_equal() -> None:
    several, more = QUICK_CLASSES["Several"], QUICK_CLASSES["More"]
    assert several("a") != more("a")
    assert several("a", place="x") == several("a", place="y")
    one = QUICK_CLASSES["One"]
    assert one(math.nan) == one(math.nan)  # the same object, as in tuples
    assert {one(1): 2}[one(1)] == 2
    assert one(1) != 1


def test_replaced_values_are_checked_again() -> None:
    value = QUICK_CLASSES["Several"]("a")
    assert dataclasses.replace(value, size=5).size == 5
    with pytest.raises(ValueError, match="negative"):
        dataclasses.replace(value, size=-1)


def test_each_value_has_a_list_of_its_own() -> None:
    made = QUICK_CLASSES["Several"]
    assert made("a").parts is not made("a").parts


@quick_dataclass.dataclass(frozen=True, slots=True)
class Stored:
    """A class that a pickle can name."""

    name: str
    size: int = 1


def test_values_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Stored("a", 2))) == Stored("a", 2)


def test_values_are_matched() -> None:
    match Stored("a", 2):
        case Stored(name, size):
            assert (name, size) == ("a", 2)
        case _:
            raise AssertionError("it matches")


def test_only_init_is_compiled_for_a_class() -> None:
    made = [name for name, each in vars(Stored).items() if getattr(each, "__code__", None) is not None]
    written = {name for name in made if vars(Stored)[name].__code__.co_filename == "<string>"}
    assert written == {"__init__"}
