"""A call of a function in a template, and the signature of such a function.

Made by `expressions`. Invariant: the number of arguments and their names are checked when the template is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from penstock.errors import did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.render_frame import RenderFrame
from penstock.template.values import Value


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function in a template."""

    name: str
    given: Sequence[Value]
    """The positional arguments."""
    named: dict[str, Value]
    """The keyword arguments."""
    subject: str | None
    """The first argument if it is a bare name: the parameter that is meant."""
    offset: int
    """The offset of the call in the template."""
    frame: RenderFrame

    def value(self, place: int, name: str, default: Value = None) -> Value:
        """An argument by its position or name."""
        if place < len(self.given):
            return self.given[place]
        return self.named.get(name, default)

    def fault(self, code: str, message: str, hint: str | None = None) -> Fault:
        return Fault(code, message, self.offset, hint)

    @property
    def shown(self) -> str:
        """The name for error messages: that of the parameter, else of the function."""
        return f"parameter `{self.subject}`" if self.subject is not None else f"`{self.name}`"


@dataclass(frozen=True, slots=True)
class TemplateFunction:
    """A function that templates may call."""

    run: Callable[[FunctionCall], Value]
    names: tuple[str, ...]
    """The names of its arguments, in order."""
    needed: int = 1
    """The number of arguments that must be given."""
    most: int | None = None
    """The most positional arguments; None: as many as there are names."""
    open: bool = False
    """Keyword arguments with other names are allowed as well."""

    def check(self, name: str, count: int, named: Collection[str], offset: int) -> None:
        """Check the number and names of the arguments. Raises Fault."""
        most = len(self.names) if self.most is None else self.most
        if count > most:
            raise Fault("template-call", f"`{name}` takes at most {most} arguments, {count} are given", offset)
        for each in named:
            if not self.open and each not in self.names:
                message = f"`{name}` has no argument `{each[:60]}`"
                raise Fault("template-call", message, offset, did_you_mean(each, self.names))
            if each in self.names[:count]:
                raise Fault("template-call", f"`{name}` is given `{each}` twice", offset, "give it once")
        for each in self.names[count : self.needed]:
            if each not in named:
                raise Fault("template-call", f"`{name}` needs the argument `{each}`", offset)
