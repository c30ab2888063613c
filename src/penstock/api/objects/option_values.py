"""The values that options of objects may have, checked where an object is made.

In: an option and its value. Out: the value, or a TypeError that says what it must be. Invariant: a value that would be
taken for another one, or for none, never passes: what is given is done or is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TypeVar

Member = TypeVar("Member", bound=Enum)


def member_of(kind: type[Member], option: str, given: object) -> Member | None:
    """The member that is given itself or as its text; None for None. Raises TypeError for anything else."""
    if given is None or isinstance(given, kind):
        return given
    for each in kind:
        if isinstance(given, str) and given == each.value:
            return each
    choices = ", ".join(f"{kind.__name__}.{each.name}" for each in kind)
    raise TypeError(f"{option} must be one of {choices}, not {given!r}")


def require_flags(**given: object) -> None:
    """Raises TypeError for an option that is neither True nor False."""
    for option, value in given.items():
        if not isinstance(value, bool):
            raise TypeError(f"{option} must be True or False, not {value!r}")


def require_kind(option: str, given: object, kind: type) -> None:
    """Raises TypeError for a value that is neither None nor an object of the class; the class itself is none."""
    if given is None or isinstance(given, kind):
        return
    if isinstance(given, type) and issubclass(given, kind):
        raise TypeError(f"{option} must be an object: write {given.__name__}(…)")
    raise TypeError(f"{option} must be of {kind.__name__}, not {given!r}")


def require_items(option: str, given: object, kind: type) -> None:
    """Raises TypeError for what is no list of such values. A text is none, whose letters would be its values."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Sequence):
        raise TypeError(f"{option} must be a list of {kind.__name__}, not {given!r}")
    for each in given:
        if not isinstance(each, kind):
            raise TypeError(f"{option} must be a list of {kind.__name__}, and has {each!r}")


def require_mapping(option: str, given: object) -> None:
    """Raises TypeError for what is no dict."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{option} must be a dict, not {given!r}")
