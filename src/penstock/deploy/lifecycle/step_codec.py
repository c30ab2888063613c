"""Steps as JSON text, to keep them in the journal.

In: a `Step`, or its text. Out: the other. Called by `deployer` and `executor`. Invariant: what is
read back equals what was written, so a restarted server runs exactly the steps that were planned.

Words of the journal that are no steps of a plan.

In: nothing. Out: constants. Called by deployer, executor and undo. Invariant: none of them is the JSON of
a step.
"""

from __future__ import annotations

from cattrs.strategies import configure_tagged_union

from penstock.plan.steps import Step
from penstock.state.manifest_codec import type_converter

_converter = type_converter()
configure_tagged_union(Step, _converter, tag_name="kind")


def step_to_json(step: Step) -> str:
    """The step as JSON text."""
    return _converter.dumps(step, unstructure_as=Step).decode()


def step_from_json(text: str) -> Step:
    """The inverse of `step_to_json`."""
    return _converter.loads(text, Step)  # type: ignore[arg-type]


PROMOTE = "promote"
"""A promotion that was asked for with the deployment."""
