"""A call of a function in a template, and the signature of such a function.

Made by `expressions`. Invariant: the number of arguments and their names are checked when the template is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from penstock.errors import did_you_mean
from penstock.template.errors import Fault
from penstock.template.render_frame import RenderFrame
from penstock.template.values import Value


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`subject` is the first argument where it is a bare name: the parameter that is meant."""

    name: str
    given: Sequence[Value]
    named: dict[str, Value]
    subject: str | None
    offset: int
    frame: RenderFrame

    def value(self, place: int, name: str, default: Value = None) -> Value:
        """An argument by its place or name."""
        if place < len(self.given):
            return self.given[place]
        return self.named.get(name, default)

    def fault(self, code: str, message: str, hint: str | None = None) -> Fault:
        return Fault(code, message, self.offset, hint)

    @property
    def shown(self) -> str:
        """What is blamed: the parameter, else the function."""
        return f"parameter `{self.subject}`" if self.subject is not None else f"`{self.name}`"


@dataclass(frozen=True, slots=True)
class TemplateFunction:
    """`names` are those of its arguments, in order; the first `needed` must be given. `most` arguments may
    stand without a name. `open`: any other name is an argument as well."""

    run: Callable[[FunctionCall], Value]
    names: tuple[str, ...]
    needed: int = 1
    most: int | None = None
    open: bool = False

    def check(self, name: str, count: int, named: Collection[str], offset: int) -> None:
        """Raises Fault for a call that cannot be right."""
        most = len(self.names) if self.most is None else self.most
        if count > most:
            raise Fault("template-call", f"`{name}` takes at most {most} arguments, {count} are given", offset)
        for each in named:
            if not self.open and each not in self.names:
                message = f"`{name}` has no argument `{each[:60]}`"
                raise Fault("template-call", message, offset, did_you_mean(each, self.names))
            if each in self.names[:count]:
                raise Fault("template-call", f"`{name}` is given `{each}` twice", offset)
        for each in self.names[count : self.needed]:
            if each not in named:
                raise Fault("template-call", f"`{name}` lacks its argument `{each}`", offset)
