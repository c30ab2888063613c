"""The parameters that tests give to endpoints which do not read them.

In: a file of tests, and its endpoint. Out: a problem for each. Invariant: a parameter that can make a difference is
none: the server passes over all others, so that a test with a misspelt one would show something else than it says.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.cli.commands.project_tests.endpoint_cases import CaseFile
from penstock.errors import Problem, did_you_mean
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.template.declared_parameters import CHOOSE_TABLES, names_in_templates, parameters_of
from penstock.template.general_parameters import EXPLAIN, GENERAL_PARAMETERS


def unknown_parameters(file: CaseFile, project: Project, pipe: Pipe) -> Iterator[Problem]:
    """The parameters that no template of the endpoint names. One that chooses by a parameter what it reads may read
    any."""
    known = names_in_templates(project, pipe)
    if known & CHOOSE_TABLES:
        return
    declared = [each.name for each in parameters_of(project, pipe)]
    for case in file.cases:
        for name in case.parameters:
            if name not in known and name not in GENERAL_PARAMETERS and name != EXPLAIN:
                message = f"the endpoint `{pipe.name}` reads no parameter `{name}`"
                hint = did_you_mean(name, declared) or "no template of it reads any"
                yield Problem("invalid-test", message, case.location, hint)
