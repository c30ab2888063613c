"""Names of tables and consumers as parts of the names of a broker, which takes fewer letters.

In: a name. Out: what the broker calls it, and back. Invariants: two names never meet in one; a name that the broker
takes stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

MOST_LETTERS = 200
"""Of the name of a durable consumer; NATS takes 255."""
_SHORT = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class NameForm:
    """How names are parts of a subject or topic."""

    plain: re.Pattern[str]
    """What the broker takes."""
    mark: str
    """How every name begins that had to be written otherwise, and no other one."""

    def encode(self, name: str) -> str:
        """The name as a part."""
        is_plain = self.plain.fullmatch(name) is not None and not name.startswith(self.mark)
        return name if is_plain else self.mark + name.encode().hex()

    def decode(self, part: str) -> str | None:
        """The name of a part; None if it is none."""
        name = part
        if part.startswith(self.mark):
            try:
                name = bytes.fromhex(part.removeprefix(self.mark)).decode()
            except ValueError:
                return None
        return name if self.encode(name) == part else None


NATS_NAMES = NameForm(re.compile(r"[^\s\x00-\x1f\x7f.*>]+"), "=")
"""A token of a subject."""
KAFKA_NAMES = NameForm(re.compile(r"[A-Za-z0-9._-]+"), "..")
"""The end of a topic's name."""


def durable_name(reader: str, store: str) -> str:
    """What NATS calls the consumer of a table for a reader."""
    plain = f"penstock_{reader}_{store}"
    is_clear = "_" not in reader and len(plain) <= MOST_LETTERS  # the first _ ends the reader
    if is_clear and _SHORT.fullmatch(plain):
        return plain
    return "penstock-" + hashlib.sha256(f"{reader}\0{store}".encode()).hexdigest()[:40]
