"""One step of a store on its way through a migration.

In: nothing; translations make steps. Out: frozen values that a journal can keep. Invariant: a step can be carried out
again without harm: by itself, or because `done` says that it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoreStep:
    """One statement, or one change in the store's own terms."""

    text: str
    """The statement; in stores without statements, what is shown."""
    about: str
    """Why, in a few words."""
    done: str | None = None
    """A query of one number: anything but 0 means that the step is not needed (any more)."""
    undo: str | None = None
    """The statement that takes it back, while no later phase has begun."""
    deletes: bool = False
    """Whether it deletes what an earlier step hid; it waits for the stated delay."""

    def as_json(self) -> dict[str, object]:
        return {
            "text": self.text,
            "about": self.about,
            "done": self.done,
            "undo": self.undo,
            "deletes": self.deletes,
        }


def parse_step(document: Mapping[str, object]) -> StoreStep:
    """The step of a journal."""
    done, undo = document["done"], document["undo"]
    return StoreStep(
        str(document["text"]),
        str(document["about"]),
        str(done) if done is not None else None,
        str(undo) if undo is not None else None,
        bool(document["deletes"]),
    )
