"""What `freshness` measured, as a page.

In: for each load the ways of posts and the steps. Out: Markdown. Invariant: the parts of a way add up to the way, and
those of a step to the step: what no part has is shown as the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, median
from typing import Protocol


class Step(Protocol):
    """A step as `freshness_stages` has it."""

    kind: str
    began: float
    ended: float
    parts: dict[str, float]


@dataclass(frozen=True)
class Way:
    """A post on its way through the tables."""

    batch: int
    sent: float
    acknowledged: float
    steps: tuple[tuple[float, float], ...] = ()
    """Begin and end of the steps that took it on; fewer than tables if it did not come to its end."""

    def through(self, steps: Sequence[Step | None]) -> Way:
        """The way with its steps."""
        return replace(self, steps=tuple((each.began, each.ended) for each in steps if each is not None))

    @property
    def seconds(self) -> float:
        return self.steps[-1][1] - self.sent


@dataclass(frozen=True)
class Phase:
    """A load and what was measured of it."""

    name: str
    ways: Sequence[Way]
    steps: Sequence[Step]
    queries: Sequence[float]
    cores: Mapping[str, float]
    rows_a_second: float


PLACES = ("until the answer", "waits for the landing", "landing", "waits for the view", "view", "waits", "second view")


def report(phases: Sequence[Phase], load: float) -> str:
    """The page."""
    lines = [
        "# How long until a row is visible",
        "",
        "`make bench-freshness` wrote this: the demo's rows are posted into the example `flights` (a landing, two views",
        "of it, a view of one of these; weather with a view beside it), without HTTP. A post is followed to its rows in",
        "`carrier_monthly`, two views away. Seconds, means unless said otherwise, on 2 cores. Load before:",
        f"{load:.1f}.",
        "",
    ]
    for phase in phases:
        lines += _phase(phase)
    return "\n".join(lines)


def _phase(phase: Phase) -> list[str]:
    came = [way for way in phase.ways if len(way.steps) == 3]
    ordered = sorted(way.seconds for way in came) or [float("nan")]
    cores = ", ".join(f"{kind} {share:.2f}" for kind, share in phase.cores.items())
    return [
        f"## {phase.name.capitalize()} fed",
        "",
        f"{phase.rows_a_second:,.0f} rows a second; posted → two views away: **p50 {median(ordered):.2f} s**, p95 "
        f"{ordered[int(0.95 * len(ordered))]:.2f} s ({len(came)} posts); a query of the last table takes "
        f"{median(phase.queries or [float('nan')]):.2f} s (p50). Cores used: {cores}.",
        "",
        f"| {' | '.join(PLACES)} |",
        f"|{'---|' * len(PLACES)}",
        f"| {' | '.join(f'{mean(each):.3f}' for each in zip(*map(_places, came), strict=True))} |",
        "",
        *_parts(phase.steps),
    ]


def _places(way: Way) -> list[float]:
    """The seconds at each of PLACES. A step may have begun before the post was answered."""
    at, found = way.acknowledged, [way.acknowledged - way.sent]
    for began, ended in way.steps:
        found += [max(began - at, 0.0), ended - max(began, at)]
        at = ended
    return found


def _parts(steps: Sequence[Step]) -> list[str]:
    kinds = sorted({step.kind for step in steps})
    names = list(dict.fromkeys(name for step in steps for name in step.parts))
    head = "".join(f" {kind} ({sum(step.kind == kind for step in steps)} steps) |" for kind in kinds)
    lines = [f"| part of a step |{head}", f"|---|{'---|' * len(kinds)}"]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(_mean(steps, kind, name) for kind in kinds) + " |")
    rest = (mean(s.ended - s.began - sum(s.parts.values()) for s in steps if s.kind == kind) for kind in kinds)
    whole = (mean(s.ended - s.began for s in steps if s.kind == kind) for kind in kinds)
    lines.append("| the rest | " + " | ".join(f"{each:.3f}" for each in rest) + " |")
    lines.append("| **a step** | " + " | ".join(f"**{each:.3f}**" for each in whole) + " |")
    return [*lines, ""]


def _mean(steps: Sequence[Step], kind: str, part: str) -> str:
    return f"{mean(step.parts.get(part, 0.0) for step in steps if step.kind == kind):.3f}"
