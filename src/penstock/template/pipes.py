"""The parameters of a pipe: its own and those of the pipes that it reads.

In: a project and a pipe. Out: `Declared`, sorted as they are met. Called by serve, deploy and plan. Invariant:
a pipe that is named in the SQL counts as read.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.template.declared import Declared, both, declared
from penstock.template.tree import is_template, read_template

_WORD = re.compile(r"\w+")


def parameters_of(project: Project, pipe: Pipe) -> tuple[Declared, ...]:
    """What a call of the pipe may give."""
    found: dict[str, Declared] = {}
    for each in _pipes(project, pipe):
        for node in each.nodes:
            if is_template(node.sql.text):
                for parameter in declared(read_template(node.sql.text)):
                    before = found.get(parameter.name)
                    found[parameter.name] = parameter if before is None else both(before, parameter)
    return tuple(found.values())


def names_in(project: Project, pipe: Pipe) -> frozenset[str]:
    """Every name that a template of the pipe, or of one that it reads, has in it: nothing else of a call can
    make a difference."""
    texts = (node.sql.text for each in _pipes(project, pipe) for node in each.nodes)
    trees = (tree for text in texts if is_template(text) for tree in read_template(text).trees)
    return frozenset(node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))


def _pipes(project: Project, pipe: Pipe) -> Iterator[Pipe]:
    """The pipe, and each that it may read."""
    seen, waiting = {pipe.name}, [pipe]
    for each in waiting:  # grows while it is walked
        yield each
        for word in dict.fromkeys(word for node in each.nodes for word in _WORD.findall(node.sql.text)):
            other = project.pipe(word)
            if other is not None and word not in seen:
                seen.add(word)
                waiting.append(other)


def is_templated(pipe: Pipe) -> bool:
    """Whether a node of the pipe is a template."""
    return any(is_template(node.sql.text) for node in pipe.nodes)
