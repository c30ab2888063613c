"""The parameters that a template, or a pipe with all that it reads, declares.

In: a template; or a project and a pipe. Out: `DeclaredParameter`s, in the order of their first mention. Invariants:
nothing is rendered; a variable that the template sets itself is no parameter; a pipe whose name occurs in the SQL
counts as read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.model.graph import walk
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Json
from penstock.template.functions.typed_parameters import DETAIL_ARGUMENTS, TYPED_FUNCTIONS
from penstock.template.nodes import Template
from penstock.template.parameter_types import element_type
from penstock.template.parser import is_template, read_template
from penstock.template.render_frame import LITERALS, LOOP

_UNTYPED_FUNCTIONS = ("column", "columns", "split_to_array")
"""Functions that read a text, with a default."""
CHOOSE_TABLES = frozenset({"table", "symbol"})
"""Functions by which a parameter can name the pipe that is read."""


@dataclass(frozen=True, slots=True)
class DeclaredParameter:
    """A parameter of a template."""

    name: str
    type: str = "String"
    """The name of a ClickHouse type, or JSON."""
    default: Json = None
    required: bool | None = None
    """As the author declares it; None: not declared."""
    description: str | None = None
    enum: tuple[Json, ...] = ()
    example: Json = None
    format: str | None = None
    optional: bool = False
    """The template renders without it."""
    typed: bool = False
    """Some mention of it declares a type."""

    @property
    def is_required(self) -> bool:
        """Whether a call must give it: as the author declares, otherwise whether the template cannot render without
        it."""
        return self.required if self.required is not None else self.default is None and not self.optional


def declared_parameters(template: Template) -> tuple[DeclaredParameter, ...]:
    """The parameters of a template, in the order of their first mention."""
    walked = [(tree, tuple(ast.walk(tree))) for tree in template.trees]
    own = {name for tree, nodes in walked for name in _assigned_names(tree, nodes)}
    found: dict[str, DeclaredParameter] = {}
    for tree, nodes in walked:
        for each in _find_declarations(tree, nodes):
            if each.name not in own:
                before = found.get(each.name)
                found[each.name] = each if before is None else merge_declarations(before, each)
    return tuple(found.values())


def merge_declarations(first: DeclaredParameter, second: DeclaredParameter) -> DeclaredParameter:
    """Two mentions of one parameter merged: the first one with a type decides, the other fills its gaps."""
    if second.typed and not first.typed:
        first, second = second, first
    return replace(
        first,
        default=first.default if first.default is not None else second.default,
        required=first.required if first.required is not None else second.required,
        description=first.description or second.description,
        enum=first.enum or second.enum,
        example=first.example if first.example is not None else second.example,
        format=first.format or second.format,
        optional=first.optional or second.optional,
    )


def _assigned_names(tree: ast.AST, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The variables that a tree sets, except those that it derives from the parameter of the same name."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    for node in names:
        if isinstance(node.ctx, ast.Store) and not (isinstance(tree, ast.Assign) and node.id in read):
            yield node.id


def _find_declarations(tree: ast.AST, nodes: Sequence[ast.AST]) -> Iterator[DeclaredParameter]:
    """The mentions of parameters, those with a type before bare names."""
    known = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    known |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and _is_loop(node.value)}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            subject = node.args[0]
            if isinstance(subject, ast.Name):
                found = tuple(_declarations_in_call(node.func.id, subject.id, node))
                known |= {id(subject)} if found else set()
                yield from found
    known |= {id(node) for node in nodes if isinstance(node, ast.Name) and node.id in LITERALS}
    optional = not isinstance(tree, ast.expr)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in known:
            yield DeclaredParameter(node.id, optional=optional or node is not tree)


def _is_loop(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == LOOP


def _declarations_in_call(function: str, subject: str, call: ast.Call) -> Iterator[DeclaredParameter]:
    if function == "defined":
        yield DeclaredParameter(subject, optional=True)
    elif function in _UNTYPED_FUNCTIONS:
        yield DeclaredParameter(subject, default=_argument(call, 1, "default"), optional=function == "split_to_array")
    elif function in TYPED_FUNCTIONS:
        yield _typed_declaration(function, subject, call)


def _typed_declaration(function: str, subject: str, call: ast.Call) -> DeclaredParameter:
    place = 2 if function == "Array" else 1
    about = {name: _argument(call, place + 1 + at, name) for at, name in enumerate(DETAIL_ARGUMENTS)}
    required, description, enum, written = (about[name] for name in ("required", "description", "enum", "format"))
    of, default = function, _argument(call, place, "default")
    if function == "Array":
        element, instead = element_type(_argument(call, 1, "_type"))
        of, default = f"Array({element})", default if default is not None else instead
    return DeclaredParameter(
        subject,
        of,
        default=default,
        required=required if isinstance(required, bool) else None,
        description=description if isinstance(description, str) else None,
        enum=tuple(enum) if isinstance(enum, list) else (),
        example=about["example"],
        format=written if isinstance(written, str) else None,
        optional=about["defined"] is False or function in ("Boolean", "bool", "JSON"),
        typed=True,
    )


def _argument(call: ast.Call, place: int, name: str) -> Json:
    """An argument that is a literal."""
    named = next((each.value for each in call.keywords if each.arg == name), None)
    return _constant(call.args[place] if place < len(call.args) else named)


def _constant(node: ast.expr | None) -> Json:
    if isinstance(node, ast.Name) and node.id in LITERALS:
        return LITERALS[node.id]
    if isinstance(node, ast.Constant):
        value = node.value
        return value if isinstance(value, (str, int, float)) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(node.operand)
        return -inner if isinstance(inner, (int, float)) else None
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_constant(each) for each in node.elts]
    return None


_WORD = re.compile(r"\w+")


def parameters_of(project: Project, pipe: Pipe) -> tuple[DeclaredParameter, ...]:
    """The parameters that a call of the pipe may give."""
    found: dict[str, DeclaredParameter] = {}
    for each in pipes_read(project, pipe):
        for node in each.nodes:
            if is_template(node.sql.text):
                for parameter in declared_parameters(read_template(node.sql.text)):
                    before = found.get(parameter.name)
                    found[parameter.name] = parameter if before is None else merge_declarations(before, parameter)
    return tuple(found.values())


def names_in_templates(project: Project, pipe: Pipe) -> frozenset[str]:
    """All names in the templates of the pipe, and of the pipes that it reads: no other parameter of a call can make a
    difference."""
    texts = (node.sql.text for each in pipes_read(project, pipe) for node in each.nodes)
    trees = (tree for text in texts if is_template(text) for tree in read_template(text).trees)
    return frozenset(node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))


def pipes_read(project: Project, pipe: Pipe) -> tuple[Pipe, ...]:
    """The pipe, and each pipe that it may read."""

    def named_in(name: str) -> Iterator[str]:
        found = pipe if name == pipe.name else project.pipe(name)
        for node in found.nodes if found is not None else ():
            yield from (word for word in _WORD.findall(node.sql.text) if project.pipe(word) is not None)

    others = (project.pipe(name) for name in walk([pipe.name], named_in) if name != pipe.name)
    return (pipe, *(other for other in others if other is not None))


def is_templated(pipe: Pipe) -> bool:
    """Whether a node of the pipe is a template."""
    return any(is_template(node.sql.text) for node in pipe.nodes)
