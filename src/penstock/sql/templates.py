"""A node's or a user's template, rendered before it is compiled.

In: an environment whose text may be a template. Out: the environment of the SQL that the template makes.
Called by transpile. Invariant: a problem of the template, and one of its SQL, stands at a place of the file; what
the caller of an endpoint has to put right is told to the caller, not collected as a problem of the project.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import Problem
from penstock.sql.environment import Environment
from penstock.sql.problems import Refused
from penstock.template.faults import OF_PARAMETERS, Declined, Fault, Stop, wrong_parameter
from penstock.template.rendering import Rendered, place_in, render
from penstock.template.tree import is_template, read_once, read_template


def with_rendered(environment: Environment) -> Environment:
    """Raises Refused; for a call also InvalidRequest and what the template itself answers."""
    text, given = environment.text, environment.given
    if isinstance(text, Rendered) or not is_template(text.text):
        return environment
    if environment.dialect == "spark":
        message = "a template cannot be of the dialect `spark`: its values are written as ClickHouse's literals"
        raise Refused(Problem("unsupported-template", message, place_in(text, 0), "write `DIALECT clickhouse`"))
    own = environment.pipe is None
    if own:
        given = replace(given, secrets=None)  # the author of a pipe may read them
    try:
        return replace(environment, text=render(text, given, read_once if own else read_template))
    except Stop as stop:
        if given.mode == "call":
            raise Declined(stop, place_in(text, stop.offset)) from None
        problem = Problem("declined", f"the template gives up: {stop.message}", place_in(text, stop.offset))
        raise Refused(problem) from None
    except Fault as fault:
        problem = fault.problem(place_in(text, fault.offset))
        if given.mode == "call" and fault.code in OF_PARAMETERS:
            raise wrong_parameter(problem) from None
        raise Refused(problem) from None
