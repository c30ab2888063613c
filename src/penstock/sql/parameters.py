"""The parameters of the lambdas that the compiler makes up: ` x`, ` e` …

In: a letter. Out: a Spark name. Called by what writes lambdas, and by tables. Invariant: a made-up name begins
with a space, which no column may hold and with which no table's alias may begin, so it hides nothing that a user
can name. (Not with a dot: Spark does not find the parameters of such a name.)
"""

from __future__ import annotations

import re

_MADE_UP = " "


def fresh(letter: str, text: str) -> str:
    """The first of ` x0`, ` x1` … that does not stand in a text."""
    taken = {int(each) for each in re.findall(rf"`{_MADE_UP}{letter}([0-9]+)`", text)}
    return f"`{_MADE_UP}{letter}{next(place for place in range(len(taken) + 1) if place not in taken)}`"


def is_made_up(name: str) -> bool:
    """Whether a name could be that of a parameter."""
    return name.startswith(_MADE_UP)
