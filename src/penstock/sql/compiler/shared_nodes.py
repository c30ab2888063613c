"""Nodes that no call changes, compiled once for all compilations of one project.

In: the environment of a node. Out: what it compiles to; what it reads is noted as read and its steps are counted, as
if it were compiled again. Invariant: a node is kept only if no template was rendered in it or in what it reads, no
table of another database is read and no problem was found: all else may differ from one compilation to the next.
"""

from __future__ import annotations

from dataclasses import field, replace

from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.environment import Environment, SelectOutput
from penstock.sql.compiler.scope import UsedSources


@dataclass(frozen=True, slots=True)
class _Key:
    """A node, and how it is read."""

    pipe: str
    node: str
    triggers: bool
    feeds_view: bool

    @property
    def part(self) -> tuple[tuple[str, str], bool]:
        """Its key among the parts of one compilation."""
        return (self.pipe, self.node), self.triggers


@dataclass(slots=True)
class _OpenNode:
    """A node that is being compiled: the nodes that it reads, and the steps that these took."""

    nested: list[_Key] = field(default_factory=list)
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _CompiledNode:
    """A node, what it reads, and the steps that it took without the nodes that it reads."""

    output: SelectOutput
    uses: UsedSources
    nested: tuple[_Key, ...]
    steps: int


class SharedNodes:
    """The nodes of one project that were compiled so far. For one thread."""

    def __init__(self) -> None:
        self._kept: dict[_Key, _CompiledNode] = {}
        self._open: list[_OpenNode] = []

    def compile(self, environment: Environment, pipe: str, node: str) -> SelectOutput:
        """The node whose environment this is. Raises what its compilation raises."""
        key, budget = _Key(pipe, node, environment.triggers, environment.feeds_view), environment.uses.budget
        around = self._open[-1] if self._open else _OpenNode()
        around.nested.append(key)
        known = environment.compiled.get(key.part)
        if known is not None:
            return known[1]
        before = budget.left
        output = self._compile(environment, key) if key not in self._kept else self._repeat(environment, key)
        around.steps += before - budget.left
        budget.spend(environment.text, 0)
        environment.compiled[key.part] = (key, output)
        return output

    def _compile(self, environment: Environment, key: _Key) -> SelectOutput:
        uses, problems = UsedSources(budget=environment.uses.budget), len(environment.report.problems)
        inner, before, own = replace(environment, uses=uses), uses.budget.left, _OpenNode()
        self._open.append(own)
        try:
            output = inner.compile_text(inner)
        finally:
            self._open.pop()
        environment.uses.add_all(uses)
        is_sound = len(environment.report.problems) == problems and not uses.externals
        if is_sound and not uses.templates and all(each in self._kept for each in own.nested):
            self._kept[key] = _CompiledNode(output, uses, tuple(own.nested), before - uses.budget.left - own.steps)
        return output

    def _repeat(self, environment: Environment, key: _Key) -> SelectOutput:
        """Note all that the compilation of a kept node would note."""
        kept = self._kept[key]
        for each in kept.nested:
            if each.part not in environment.compiled:
                environment.compiled[each.part] = (each, self._repeat(environment, each))
        environment.uses.add_all(kept.uses)
        environment.uses.budget.left -= kept.steps
        return kept.output
