"""What came of each call, in a file that grows with each run.

In: answered queries. Out: a line of JSON for each, and what the file says later on: which calls are the same, which
differ. Invariant: the last line about a call holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.differential.typed.batches import Answer, Generated

Asked = tuple[str, str]
"""A call and its rows."""


@dataclass(frozen=True)
class Ledger:
    """The file."""

    path: Path

    def add(self, answers: Iterable[Answer]) -> None:
        """Lines at the end of the file."""
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(_line(answer) for answer in answers)

    def answers(self) -> Iterator[Answer]:
        """The last one about each call."""
        last: dict[Asked, Answer] = {}
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else ():
            answer = _answer(json.loads(line))
            last[asked_as(answer.query)] = answer
        yield from last.values()

    def settled(self) -> frozenset[Asked]:
        """Calls that need not be asked again: both engines gave the same, or one of them nothing."""
        return frozenset(
            asked_as(answer.query)
            for answer in self.answers()
            if answer.verdict in ("same", "fails", "clickhouse refuses")
        )


def asked_as(query: Generated) -> Asked:
    """What the file knows a query by."""
    return query.items[0] if query.items else query.whole, query.rest


def _line(answer: Answer) -> str:
    query = answer.query
    words = {"verdict": answer.verdict, "key": query.key, "rest": query.rest, "cells": sorted(query.cells)}
    words |= {"item": query.items[0]} if query.items else {"whole": query.whole}
    return json.dumps(words | {"what": answer.what}, ensure_ascii=False) + "\n"


def _answer(words: dict[str, object]) -> Answer:
    cells = frozenset((function, argument) for function, argument in words["cells"])  # type: ignore[attr-defined]
    items = (str(words["item"]),) if "item" in words else ()
    query = Generated(0, items, str(words["key"]), str(words["rest"]), whole=str(words.get("whole", "")), cells=cells)
    return Answer(query, words["verdict"], str(words["what"]))  # type: ignore[arg-type]
