"""Whether a call to deploy was made before, so that it goes on with the candidate that there is.

In: the candidates and what a call asks for. Out: the newest one that the same call made. Invariant: it has the same
files, was planned against the version that is live now, and was allowed no more than this call allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.model.deployment import Deployment


@dataclass(frozen=True, slots=True)
class RepeatedCall:
    """What a call to deploy asks for."""

    files: Mapping[str, str]
    name: str | None
    live: int | None
    """The id of the deployment that is live now."""
    asked: Mapping[str, object]
    """The options, as the plan of a deployment records them."""


def find_repeated(candidates: Iterable[Deployment], call: RepeatedCall) -> Deployment | None:
    """The newest of the candidates that this call made when it was made before. A paused one would never be ready."""
    for each in sorted(candidates, key=lambda one: one.id, reverse=True):
        named = (call.name or "") == each.name
        if named and not each.paused and each.base == call.live and _is_same(each, call):
            return each
    return None


def _is_same(candidate: Deployment, call: RepeatedCall) -> bool:
    asked = {key: candidate.plan.get(key) for key in call.asked}
    return asked == dict(call.asked) and dict(candidate.files) == dict(call.files)
