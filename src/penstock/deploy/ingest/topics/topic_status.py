"""How a topic is read: what people and metrics are shown.

In: what a reading says of itself. Out: `TopicStatus`. Invariant: a reading that has stopped says which offsets are
missing; every other state goes on by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

ReadingState: TypeAlias = Literal["connecting", "reading", "waiting", "stopped"]


@dataclass(frozen=True, slots=True)
class ReadingStatus:
    """How a reading goes."""

    state: ReadingState
    reason: str | None = None
    """Why it waits, or has stopped."""
    missing: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By partition, the offsets [first, end) that the topic has lost; the reading has stopped because of them."""


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """How the topic of a data source is read."""

    datasource: str
    topic: str
    status: ReadingStatus
    lag: Mapping[int, int]

    def as_json(self) -> dict[str, object]:
        missing = {str(at): list(offsets) for at, offsets in self.status.missing.items()}
        return {
            "datasource": self.datasource,
            "topic": self.topic,
            "state": self.status.state,
            "reason": self.status.reason,
            "lag": {str(at): offsets for at, offsets in self.lag.items()},
            "missing": missing,
        }
