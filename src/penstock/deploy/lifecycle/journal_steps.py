"""The steps of a deployment as the journal keeps them: those of its plan and, at the end, a promotion.

In: a `JournalStep`, or its text in the journal. Out: the text, or the step. Invariant: what is read back equals what
was written, so a restarted server runs exactly the steps that were planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union

from cattrs.strategies import configure_tagged_union

from penstock.plan.steps import Step
from penstock.state.manifest_codec import manifest_converter


@dataclass(frozen=True, slots=True)
class Promote:
    """Make the deployment live as soon as it is ready, because that was requested when it was created."""


JournalStep: TypeAlias = Union[Step, Promote]

_PROMOTE_TEXT = "promote"
"""A promotion in the journal: this word, where every other step is a JSON object with its class in `kind`."""
_converter = manifest_converter()
configure_tagged_union(Step, _converter, tag_name="kind")


def step_to_json(step: JournalStep) -> str:
    """The step as the journal keeps it."""
    if isinstance(step, Promote):
        return _PROMOTE_TEXT
    return _converter.dumps(step, unstructure_as=Step).decode()


def step_from_json(text: str) -> JournalStep:
    """The inverse of `step_to_json`. Raises an exception of cattrs or orjson for any other text."""
    if text == _PROMOTE_TEXT:
        return Promote()
    return _converter.loads(text, Step)  # type: ignore[arg-type]
