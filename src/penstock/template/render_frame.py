"""The state of one rendering: its parameters, its variables and the work that is left to it.

In: `RenderInput`. Out: `RenderFrame`, read and changed by every expression and function. Invariant: each operation is
charged before it is done, by the size of what it reads and makes, so a rendering ends within bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime, timezone
from typing import Literal, TypeAlias, Union

from penstock.errors import Location
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.values import NO_VALUE, Placeholder, StandInKey, StandInKind, Value, text_literal

Mode: TypeAlias = Literal["call", "deploy", "check"]

MAX_WORK = 1_000_000
"""Operations and characters of one rendering: at most about half a second."""
MAX_DIGITS = 400
"""Digits of a whole number: UInt256 has 78."""


@dataclass(frozen=True, slots=True)
class ListParameter:
    """A parameter that a JSON body gives as a list."""

    json: str
    """The list as it was sent."""
    items: tuple[str, ...]


Parameter: TypeAlias = Union[str, ListParameter]


@dataclass(slots=True)
class RenderTrace:
    """What renderings did, collected for checks."""

    arms: dict[str, set[int]] = field(default_factory=dict)
    """The ids of the branches taken, by the text of the template."""
    invented: bool = False
    """A placeholder was written into the SQL."""
    stand_ins: dict[StandInKey, set[Location]] = field(default_factory=dict)
    """What stood for parameters of which the template does not say the type, with the places."""
    made_up: set[Location] = field(default_factory=set)
    """In a check: the places of the values that no call gave and no default says."""
    ttls: list[int] = field(default_factory=list)
    """The seconds of each `cache_ttl`."""
    read: set[str] = field(default_factory=set)
    """The names that were read as parameters: not those of variables, nor of branches that were not taken."""


@dataclass(frozen=True, slots=True)
class RenderInput:
    """What a template is rendered with."""

    mode: Mode = "check"
    """`call`: for a request. `deploy`: for SQL that runs without a request, so each parameter needs a default. `check`:
    a parameter without a value gets a placeholder."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    secrets: Mapping[str, str] | None = None
    """The secrets by name; None: they may not be read here."""
    trace: RenderTrace | None = None
    """Records what the rendering did."""
    stand_ins: Mapping[StandInKey, str] = field(default_factory=dict)
    """In a check: the SQL that is written for a parameter of which the template does not say the type, instead of a
    name or a text that says nothing."""


JOB_TIMESTAMP = "job_timestamp"
"""The parameter that every run of a copy is given unless its caller does: the time for which it runs."""


def format_moment(moment: datetime) -> str:
    """A time as the value of a parameter, in UTC."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


CALL, CHECK, DEPLOY = RenderInput("call"), RenderInput("check"), RenderInput("deploy")


@dataclass(frozen=True, slots=True)
class LoopPosition:
    """Where a `for` loop is: what `loop.first`, `loop.last` and the others read."""

    at: int
    """From 0."""
    length: int

    def read(self, attribute: str) -> int | bool:
        """The value of `loop.ATTRIBUTE`."""
        return LOOP_ATTRIBUTES[attribute](self)


LITERALS: Mapping[str, bool] = {"true": True, "false": False}
"""Words that people write as in SQL or JSON: `required=true`. They are no parameters."""
LOOP = "loop"
"""The name by which a template reads where its innermost loop is."""
LOOP_ATTRIBUTES: Mapping[str, Callable[[LoopPosition], int | bool]] = {
    "first": lambda loop: loop.at == 0,
    "last": lambda loop: loop.at == loop.length - 1,
    "index": lambda loop: loop.at + 1,
    "index0": lambda loop: loop.at,
    "revindex": lambda loop: loop.length - loop.at,
    "revindex0": lambda loop: loop.length - loop.at - 1,
    "length": lambda loop: loop.length,
}
"""What may be read of a loop, by name."""


@dataclass(slots=True)
class RenderFrame:
    """The state of one rendering."""

    given: RenderInput
    variables: dict[str, Value] = field(default_factory=dict)
    lists: Mapping[str, Value] = field(default_factory=dict)
    """The parameters that are lists everywhere; they are variables from the beginning."""
    read: set[str] = field(default_factory=set)
    """The names that were read as parameters."""
    ttls: list[int] = field(default_factory=list)
    """The seconds of each `cache_ttl`."""
    work: int = 0
    """The operations charged so far."""
    arms: set[int] = field(default_factory=set)
    """The ids of the branches taken."""
    invented: bool = False
    """A placeholder was written into the SQL."""
    loops: list[LoopPosition] = field(default_factory=list)
    """The `for` loops around the current place, the innermost last."""
    offset: int = 0
    """Where the value begins that is being written."""
    stand_ins: dict[StandInKey, set[int]] = field(default_factory=dict)
    """What stood for parameters, with the offsets of the values."""
    made_up: set[int] = field(default_factory=set)
    """The offsets of the values that no call gave and no default says."""

    def charge(self, amount: int, offset: int) -> None:
        """Count `amount` operations. Raises Fault if the rendering exceeds its limit."""
        self.work += amount + 1
        if self.work > MAX_WORK:
            hint = "loop over fewer or shorter values"
            raise Fault("template-limit", "the template takes too many steps", offset, hint)

    def stand_in(self, kind: StandInKind, placeholder: Placeholder) -> str:
        """The SQL that is written for a placeholder."""
        self.invented = True
        self.stand_ins.setdefault((kind, placeholder.name), set()).add(self.offset)
        instead = text_literal(NO_VALUE) if kind == "value" else "`placeholder`"
        return self.given.stand_ins.get((kind, placeholder.name), instead)

    def lookup(self, name: str) -> Value:
        """The value of a variable, else of a parameter, else None (in a check: a placeholder)."""
        if name in self.variables:
            if name in self.lists and self.variables[name] is self.lists[name]:
                self.read.add(name)
            return self.variables[name]
        self.read.add(name)
        found = self.given.parameters.get(name)
        if found is not None and self.given.mode == "check":
            self.made_up.add(self.offset)
        if found is None:
            return Placeholder(name) if self.given.mode == "check" else None
        return list(found.items) if isinstance(found, ListParameter) else found
