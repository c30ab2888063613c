"""The second half of docs/deployments.md: the states of a deployment, its moves, and its steps with their inverses.

In: `deploy/states.MOVES`, the classes of `plan/steps` and `deploy/undo.INVERSES`. Out: a diagram and two tables in
Markdown, and the page with them. A move or a step that is in the code is in the page; above the mark the page is
written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.deploy.lifecycle.states import MOVES, OVER
from penstock.deploy.lifecycle.undo import INVERSES
from penstock.model.deployment import RUNNING, DeploymentState
from penstock.plan.steps import STEP_ORDER

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/deployments.md"
MARK = "<!-- From here on written by scripts/deployment_docs.py. -->\n"
WHO: Mapping[tuple[DeploymentState, DeploymentState], str] = {
    ("planned", "preparing"): "Penstock, right after the plan is saved",
    ("planned", "failed"): "Penstock, if a step fails",
    ("planned", "discarded"): "you: `penstock deployment discard`",
    ("preparing", "backfilling"): "Penstock, once tables are made and the version's flows start",
    ("preparing", "failed"): "Penstock, if a step fails",
    ("preparing", "discarded"): "you: `penstock deployment discard`",
    ("backfilling", "ready"): "Penstock, once every flow has all rows that had arrived",
    ("backfilling", "failed"): "Penstock, if a flow of its own keeps failing or rows do not convert",
    ("backfilling", "discarded"): "you: `penstock deployment discard`",
    ("ready", "live"): "you: `penstock deployment promote`, or `penstock deploy` without `--no-promote`",
    ("ready", "failed"): "Penstock, if it exceeds a limit of `[deploy]` (`candidate_…`)",
    ("ready", "discarded"): "you: `penstock deployment discard`",
    ("live", "previous"): "you, by promoting another version: both moves are one transaction",
    ("live", "ready"): "you: `penstock deployment rollback`; the version still gets every new row, and can be promoted",
    ("previous", "live"): "you: `penstock deployment rollback`",
    ("previous", "retired"): (
        "you: `penstock deployment retire`, or by promoting another version; Penstock, after `rollback_window_hours`"
    ),
    ("failed", "discarded"): "you: `penstock deployment discard`",
}
"""Who makes each move of the table in deploy/lifecycle/states.py."""


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(MOVES)} states, {len(STEP_ORDER)} steps")
    return 0


def page(text: str) -> str:
    """The page with states and steps as they are in the code."""
    above, mark, _ = text.partition(MARK)
    assert mark, "the page says where the generated part begins"
    parts = ("## States", _diagram(), "## Moves", _moves(), "## Steps", _steps())
    return f"{above}{MARK}\n" + "\n\n".join(parts) + "\n"


def _diagram() -> str:
    lines = ["    [*] --> planned"]
    lines += [f"    {state} --> {to}" for state, moves in MOVES.items() for to in moves]
    lines += [f"    {state} --> [*]" for state in MOVES if state in OVER]
    running = ", ".join(f"`{state}`" for state in MOVES if state in RUNNING)
    return (
        "```mermaid\nstateDiagram-v2\n"
        + "\n".join(lines)
        + f"\n```\n\nThe flows of a version run while it is {running}."
    )


def _moves() -> str:
    rows = [f"| `{state}` | `{to}` | {WHO[state, to]} |" for state, moves in MOVES.items() for to in moves]
    return "\n".join(("| from | to | who |", "|---|---|---|", *rows))


def _steps() -> str:
    return "\n".join(("| step | what it does | what undoes it |", "|---|---|---|", *_step_rows()))


def _step_rows() -> Iterator[str]:
    for step in STEP_ORDER:
        told = " ".join((step.__doc__ or "").split()).rstrip(".")
        yield f"| {step.__name__} | {told} | {INVERSES[step]} |"


if __name__ == "__main__":
    sys.exit(main())
