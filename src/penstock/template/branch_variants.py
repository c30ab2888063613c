"""Parameter values that lead into each branch of a template's `if`s, to check the SQL of every branch.

In: templates, the branches that were rendered already, the declared parameters. Out: `RenderInput`s. Invariant: each
is a call that somebody can make: values are chosen so that the conditions hold; no condition is bypassed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from penstock.model.quick_dataclass import dataclass
from penstock.template.declared_parameters import DeclaredParameter
from penstock.template.functions.typed_parameters import TYPED_FUNCTIONS
from penstock.template.nodes import BranchArm, Template
from penstock.template.parameter_types import placeholder_text
from penstock.template.render_frame import Parameter, RenderInput, RenderTrace

MAX_VARIANTS = 64
"""The most calls that are tried for one pipe."""
_STEP = {ast.Gt: 1, ast.GtE: 0, ast.Lt: -1, ast.LtE: 0}

Wanted: TypeAlias = bool
"""Whether a condition is to hold."""
ParameterValues: TypeAlias = dict[str, "str | None"]
"""By parameter: its value; None: not given."""


def branch_inputs(
    templates: Iterable[Template], trace: RenderTrace, parameters: Sequence[DeclaredParameter]
) -> Iterator[RenderInput]:
    """An input for each branch that `trace` has not seen yet when it comes to that branch; `trace` may grow in
    between."""
    known = {each.name: each for each in parameters}
    tried: set[tuple[tuple[str, str], ...]] = set()
    for template in templates:
        wishes = _BranchSolver(known, _single_assignments(template))
        for arm in template.arms:
            if arm.id in trace.arms.get(template.text, {arm.id}) or len(tried) >= MAX_VARIANTS:
                continue
            values = wishes.of(arm)
            key = tuple(sorted(values.items()))
            if values and key not in tried:
                tried.add(key)
                given: dict[str, Parameter] = dict(values)
                yield RenderInput("check", given, None, trace)


def _single_assignments(template: Template) -> Mapping[str, ast.expr]:
    """The values of the variables that are set exactly once."""
    found: dict[str, list[ast.expr]] = {}
    for tree in template.trees:
        if isinstance(tree, ast.Assign) and len(tree.targets) == 1 and isinstance(tree.targets[0], ast.Name):
            found.setdefault(tree.targets[0].id, []).append(tree.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


@dataclass(frozen=True, slots=True)
class _BranchSolver:
    """Finds parameter values that lead into a branch."""

    parameters: Mapping[str, DeclaredParameter]
    aliases: Mapping[str, ast.expr]

    def of(self, arm: BranchArm) -> dict[str, str]:
        """The values that lead into the branch; empty if none are known."""
        wish = self._all([self._wish(node, wanted) for node, wanted in arm.conditions])
        return {name: value for name, value in (wish or {}).items() if value is not None}

    def _all(self, wishes: Iterable[ParameterValues | None]) -> ParameterValues | None:
        """Values that fulfil all wishes at once; None if two contradict each other."""
        whole: ParameterValues = {}
        for wish in wishes:
            if wish is None or any(whole.get(name, value) != value for name, value in wish.items()):
                return None
            whole.update(wish)
        return whole

    def _wish(self, node: ast.expr, wanted: Wanted) -> ParameterValues | None:
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self._wish(node.operand, not wanted)
        if isinstance(node, ast.BoolOp):
            parts = [self._wish(each, wanted) for each in node.values]
            if isinstance(node.op, ast.And) == wanted:
                return self._all(parts)
            return next((each for each in parts if each), next((each for each in parts if each is not None), None))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, wanted)
        return self._there(node, wanted)

    def _there(self, node: ast.expr, wanted: Wanted) -> ParameterValues:
        """Values for a condition that tests whether a value is there: a parameter, `defined(x)`, `Boolean(x)`."""
        name = self._subject(node)
        if name is None:
            return {}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Boolean", "bool"):
            return {name: "1" if wanted else "0"}
        return {name: self._sample(name) if wanted else None}

    def _compared(self, node: ast.Compare, wanted: Wanted) -> ParameterValues:
        name, other, sign = self._subject(node.left), node.comparators[0], type(node.ops[0])
        if name is None:
            name, other = self._subject(other), node.left
        if name is None:
            return {}
        if sign in (ast.NotEq, ast.NotIn, ast.IsNot):
            wanted = not wanted
        if isinstance(other, (ast.List, ast.Tuple)) and other.elts:
            other = other.elts[0]
        value = other.value if isinstance(other, ast.Constant) else None
        if value is None:
            return {name: None if wanted else self._sample(name)} if isinstance(other, ast.Constant) else {}
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value += _STEP.get(sign, 0) if wanted else -1 * _STEP.get(sign, 0)
        return {name: str(value)} if wanted or sign in _STEP else {}

    def _subject(self, node: ast.expr) -> str | None:
        """The parameter that a value comes from."""
        for _ in range(5):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                if node.func.id not in TYPED_FUNCTIONS and node.func.id != "defined":
                    return None
                node = node.args[0]
            elif isinstance(node, ast.Name) and node.id in self.aliases:
                node = self.aliases[node.id]
            else:
                break
        return node.id if isinstance(node, ast.Name) else None

    def _sample(self, name: str) -> str:
        """A value that the parameter accepts."""
        parameter = self.parameters.get(name, DeclaredParameter(name))
        for each in (parameter.default, parameter.example, *parameter.enum[:1]):
            if isinstance(each, (str, int, float)) and str(each):
                return str(each)
        if parameter.type == "JSON":
            return "{}"
        return placeholder_text(parameter.type.removeprefix("Array(").rstrip(")"))
