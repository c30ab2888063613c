"""Renders a template to SQL, with a map from the SQL back to the template.

In: a `Text` that is a template, and `RenderInput`. Out: `RenderedSql`. A parameter that some expression reads as
`Array(…)` is a list everywhere. Invariants: the same template and parameters give the same SQL; each value is a token
of its own, never part of a quoted text, of the end of a comment or of a comment's beginning; each place in the SQL
leads to a place in the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault, TemplateAbort
from penstock.template.nodes import Attempt, Branch, Interpolation, Jump, Loop, Template, TemplateNode, Verbatim
from penstock.template.operators import elements, is_true
from penstock.template.parameter_types import READERS, WrongValue
from penstock.template.parser import is_template, read_template
from penstock.template.render_frame import LoopPosition, Parameter, RenderFrame, RenderInput
from penstock.template.statements import Statement
from penstock.template.values import NO_VALUE, Placeholder, UnwritableValue, Value, literal

Signal: TypeAlias = Literal["break", "continue", None]


@dataclass(frozen=True, slots=True)
class RenderedPart:
    """A part of rendered SQL."""

    at: int
    """Its start in the SQL."""
    offset: int
    """Its start in the template."""
    is_value: bool
    """It is an interpolated value."""


@dataclass(frozen=True, slots=True)
class RenderedSql(Text):
    """Rendered SQL; its places are those of the template."""

    template: str = field(default="", compare=False)
    parts: tuple[RenderedPart, ...] = field(default=(), compare=False)

    def at(self, line: int, column: int) -> Location:
        """The place in the file of a line and column of the SQL; for a value, the place of its expression."""
        starts = [0]
        for each in self.text.split("\n")[: max(line - 1, 0)]:
            starts.append(starts[-1] + len(each) + 1)
        return self.place(starts[-1] + column - 1)

    def is_value(self, at: int) -> bool:
        """Whether what is at an offset in the SQL is a value of the template."""
        return self._part(at).is_value

    def _part(self, at: int) -> RenderedPart:
        found = bisect_right([part.at for part in self.parts], at) - 1
        return self.parts[found] if found >= 0 else RenderedPart(0, 0, False)

    def place(self, at: int) -> Location:
        """The place in the file of an offset in the SQL."""
        part = self._part(at)
        return location_in(self, part.offset if part.is_value else part.offset + at - part.at)


def location_in(text: Text, offset: int) -> Location:
    """The place in the file of an offset in a template, rendered or not."""
    template = text.template if isinstance(text, RenderedSql) else text.text
    before = template[:offset]
    line = before.count("\n") + 1
    return Text(template, text.location, text.indent).at(line, len(before) - (before.rfind("\n") + 1) + 1)


def render(text: Text, given: RenderInput, read: Callable[[str], Template] = read_template) -> RenderedSql:
    """The SQL of a template. Raises Fault, and TemplateAbort if the template calls `error` or `custom_error`."""
    template = read(text.text)
    if template.faults:
        raise template.faults[0]
    lists = dict(array_values(template, given))
    frame = RenderFrame(given, dict(lists), lists)
    output = _Renderer(frame)
    try:
        output.run(template.steps)
    except RecursionError:
        raise Fault("template-limit", "the values are nested too deep", 0) from None
    sql = "".join(output.texts)
    _check_value_positions(sql, output)
    if given.trace is not None:
        given.trace.arms.setdefault(text.text, set()).update(frame.arms)
        given.trace.invented |= frame.invented
        given.trace.read |= frame.read
        given.trace.ttls += frame.ttls
        given.trace.made_up |= {location_in(text, offset) for offset in frame.made_up}
        for key, offsets in frame.stand_ins.items():
            given.trace.stand_ins.setdefault(key, set()).update(location_in(text, offset) for offset in offsets)
    return RenderedSql(sql, text.location, text.indent, text.text, tuple(output.parts))


def render_call(text: Text, parameters: Mapping[str, Parameter]) -> Text:
    """The SQL of a call: a template is rendered with the parameters, any other text stays as it is. Raises Fault and
    TemplateAbort."""
    return render(text, RenderInput("call", parameters)) if is_template(text.text) else text


def _check_value_positions(sql: str, output: _Renderer) -> None:
    wrong = find_misplaced_value(sql, output.values)
    if wrong is not None:
        message = "a value stands inside of quotes or a comment, or next to another value"
        hint = "write it by itself: `concat('%', {{ String(x) }}, '%')`"
        raise Fault("template-quotes", message, output.written[wrong], hint)


class _Renderer:
    """Executes the nodes of a template and collects the SQL."""

    def __init__(self, frame: RenderFrame):
        self._frame = frame
        self._length = 0
        self.texts: list[str] = []
        self.parts: list[RenderedPart] = []
        self.values: list[tuple[int, int]] = []
        self.written: list[int] = []

    def run(self, steps: Iterable[TemplateNode]) -> Signal:
        """Execute nodes; the result is the `break` or `continue` that ended them, if any."""
        for step in steps:
            signal: Signal = None
            if isinstance(step, Verbatim):
                self._add(step.text, RenderedPart(self._length, step.offset, is_value=False))
            elif isinstance(step, Interpolation):
                self._put(step)
            elif isinstance(step, Branch):
                signal = self._branch(step)
            elif isinstance(step, Loop):
                signal = self._loop(step)
            elif isinstance(step, Attempt):
                signal = self._attempt(step)
            elif isinstance(step, Jump):
                signal = "break" if step.word == "break" else "continue"
            else:
                self._change(step)
            if signal is not None:
                return signal
        return None

    def _change(self, step: Statement) -> None:
        step.run(self._frame)

    def _add(self, text: str, part: RenderedPart) -> None:
        self._frame.charge(len(text), part.offset)
        self.parts.append(part)
        self.texts.append(text)
        self._length += len(text)

    def _put(self, step: Interpolation) -> None:
        self._frame.offset = step.offset
        value = step.value(self._frame)
        if value == NO_VALUE and self._frame.given.mode == "check" and step.written.isidentifier():
            value = Placeholder(step.written)
        try:
            text = self._frame.stand_in("value", value) if isinstance(value, Placeholder) else literal(value)
        except UnwritableValue as error:
            raise _unwritable_fault(step, value, error) from None
        if not text:
            return
        if text.startswith("-") and self.texts and self.texts[-1].endswith("-"):
            self._add(" ", RenderedPart(self._length, step.offset, is_value=True))  # or the two would begin a comment
        before = self._length
        self._add(text, RenderedPart(self._length, step.offset, is_value=True))
        self.values.append((before, self._length))
        self.written.append(step.offset)

    def _branch(self, step: Branch) -> Signal:
        for arm in step.arms:
            if arm.test is None or is_true(arm.test(self._frame)):
                self._frame.arms.add(arm.id)
                return self.run(arm.body)
        return None

    def _attempt(self, step: Attempt) -> Signal:
        loops = list(self._frame.loops)
        try:
            signal = self.run(step.body) or self.run(step.rest)
        except (Fault, TemplateAbort) as error:
            is_limit = isinstance(error, Fault) and error.code == "template-limit"
            if step.handler is None or is_limit:
                raise
            self._frame.loops[:] = loops
            if step.name is not None:
                self._frame.variables[step.name] = str(error)
            signal = self.run(step.handler)
        return signal or self.run(step.final)

    def _loop(self, step: Loop) -> Signal:
        if self._while(step) if step.target is None else self._for(step):
            return None
        return self.run(step.rest)

    def _for(self, step: Loop) -> bool:
        """Execute a `for` loop; True if it ended by `break`."""
        assert step.target is not None, "a while has none"
        values = elements(step.values(self._frame), self._frame, step.offset)
        for at, value in enumerate(values):
            self._frame.charge(1, step.offset)
            step.target(self._frame, value)
            self._frame.loops.append(LoopPosition(at, len(values)))
            signal = self.run(step.body)
            self._frame.loops.pop()
            if signal == "break":
                return True
        return False

    def _while(self, step: Loop) -> bool:
        while is_true(step.values(self._frame)):
            self._frame.charge(1, step.offset)
            if self.run(step.body) == "break":
                return True
        return False


def _unwritable_fault(step: Interpolation, value: Value, error: UnwritableValue) -> Fault:
    shown = f"`{step.written[:60]}`"
    if value is None:
        hint = "give it a type and a default: `String(x, '')`"
        return Fault("missing-parameter", f"{shown} has no value", step.offset, hint)
    return Fault("template-type", f"{shown} cannot be written into SQL: it is {error}", step.offset)


def array_values(template: Template, given: RenderInput) -> Iterator[tuple[str, Value]]:
    """The parameters that some expression reads as `Array(…)`, each with its elements in the type that is named
    first."""
    for name, of in template.arrays.items():
        value = given.parameters.get(name)
        if isinstance(value, str):
            try:
                yield name, [READERS[of](part) for part in value.split(",")]
            except WrongValue:
                continue


# What has no end takes the rest of the text, so that no part of it is read twice.
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`\\]|\\.|``)*`"""
    r"""|(?P<comment>--[^\n]*|\#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))|(?P<tag>\$\w*\$).*?(?:(?P=tag)|\Z)|[^\s'"`/#$-]+|\s+|['"`].*|.""",
    re.DOTALL,
)
_BRACKETS = re.compile(r"/\*|\*/")


def find_misplaced_value(sql: str, values: Iterable[tuple[int, int]]) -> int | None:
    """The index of the first of `values` (start and end of each, in order) that is neither a token of its own nor
    inside a comment."""
    tokens = _TOKEN.finditer(sql)
    token = next(tokens, None)
    for place, (start, end) in enumerate(values):
        while token is not None and token.end() <= start:
            token = next(tokens, None)
        while token is not None and token.start() < end:
            if not _stands_alone(sql, token, start, end):
                return place
            if token.end() > end:
                break
            token = next(tokens, None)
    return None


def _stands_alone(sql: str, token: re.Match[str], start: int, end: int) -> bool:
    if token["comment"] is not None:
        opener = 1 if token[0].startswith("#") else 2
        within = token.start() + opener <= start and token.end() >= end
        return within and not _BRACKETS.search(sql, start, end)
    inside = token.start() >= start and token.end() <= end
    return inside or token[0][0] not in "'\"`$"
