"""A plan printed for people.

In: the JSON document of a plan. Out: its text, wrapped so that each line keeps its indent, then its warnings.
Invariant: what is printed is the text of `plan_text`, whole.
"""

from __future__ import annotations

import textwrap
from typing import Annotated, TypeAlias

import typer

from penstock.cli.errors import print_problems
from penstock.cli.json_documents import Json
from penstock.cli.output import console
from penstock.cli.plans.plan_text import PlanView, plan_lines

AllOption: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Show unchanged resources one by one, and the steps of the plan.")
]
WhyOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--why", metavar="NAME", help="Show the rules that were tried for a resource; repeatable."),
]
_HANGING = "      "


def plan_view(why: list[str] | None, *, everything: bool) -> PlanView:
    """What the options of a command ask for."""
    return PlanView(everything, tuple(why or ()))


def print_plan(plan: Json, view: PlanView | None = None) -> None:
    """Print a plan with its warnings. Raises WrongUsage if a resource is to be explained that it has not."""
    lines = list(plan_lines(plan, view or PlanView()))
    page = console()
    for line in lines:
        page.print(_wrap(line, page.width), markup=False, soft_wrap=True)
    print_problems(plan["problems"])


def _wrap(line: str, width: int) -> str:
    indent = line[: len(line) - len(line.lstrip())] + _HANGING
    wrapped = textwrap.wrap(
        line, max(width, 40), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "\n".join(wrapped)
