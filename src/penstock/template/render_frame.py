"""The state of one rendering: its parameters, its variables and the work that is left to it.

In: `RenderInput`. Out: `RenderFrame`, read and changed by every expression and function. Invariant: each operation is
charged before it is done, by the size of what it reads and makes, so a rendering ends within bounded time and memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

from penstock.template.errors import Fault
from penstock.template.values import Placeholder, Value

Mode: TypeAlias = Literal["call", "deploy", "check"]

MAX_WORK = 1_000_000
"""Operations and characters of one rendering: at most about half a second."""
MAX_DIGITS = 400
"""Digits of a whole number: UInt256 has 78."""


@dataclass(frozen=True, slots=True)
class ListParameter:
    """A parameter that a JSON body gives as a list. `json` is the list as it was sent."""

    json: str
    items: tuple[str, ...]


Parameter: TypeAlias = Union[str, ListParameter]


@dataclass(slots=True)
class RenderTrace:
    """What renderings did: the ids of the branches taken, by the text of the template; and whether a placeholder was
    written into the SQL."""

    arms: dict[str, set[int]] = field(default_factory=dict)
    invented: bool = False


@dataclass(frozen=True, slots=True)
class RenderInput:
    """What a template is rendered with. `call`: for a request. `deploy`: for what runs without a request;
    a parameter needs a default. `check`: a parameter without a value gets a placeholder, and nothing is asked
    of the caller. `secrets` None: they are not to be read here. `trace` is told what was done."""

    mode: Mode = "check"
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    secrets: Mapping[str, str] | None = None
    trace: RenderTrace | None = None


CALL, CHECK, DEPLOY = RenderInput("call"), RenderInput("check"), RenderInput("deploy")


@dataclass(slots=True)
class RenderFrame:
    """One rendering. `arms` are the ids of the branches that it took; `invented`: a placeholder was written."""

    given: RenderInput
    variables: dict[str, Value] = field(default_factory=dict)
    work: int = 0
    arms: set[int] = field(default_factory=set)
    invented: bool = False

    def charge(self, amount: int, offset: int) -> None:
        """Count `amount` operations. Raises Fault if the rendering exceeds its limit."""
        self.work += amount + 1
        if self.work > MAX_WORK:
            raise Fault("template-limit", "the template does too much", offset, "loop over fewer or shorter values")

    def lookup(self, name: str) -> Value:
        """The value of a variable, otherwise of a parameter, otherwise None (a placeholder in a check)."""
        if name in self.variables:
            return self.variables[name]
        found = self.given.parameters.get(name)
        if found is None:
            return Placeholder(name) if self.given.mode == "check" else None
        return list(found.items) if isinstance(found, ListParameter) else found
