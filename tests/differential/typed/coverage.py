"""Which calls have been compared: cells of a function, the type of an argument, and the values that the argument holds.

In: answered queries. Out: the cells, as lines of a file that grows with each run, and what is not tried. A cell counts
only if both engines answered the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.typed.batches import Answer
from tests.differential.typed.every_type import COLUMNS
from tests.differential.typed.signatures import Signatures

OF_TAME = ("value", "NULL")
"""The classes of values in the ordinary rows."""


@dataclass
class Coverage:
    """The cells of a run."""

    cells: set[tuple[str, str, str]] = field(default_factory=set)
    """Function, column, class of value."""
    pairs: set[tuple[str, str]] = field(default_factory=set)
    """A function, and the one that gave its argument."""
    compared: int = 0
    """So many queries both engines were asked, which the compiler takes and ClickHouse answers."""

    def add(self, answer: Answer) -> None:
        """What one query covers."""
        self.compared += answer.verdict in ("same", "differs", "fails")
        if answer.verdict != "same" or "FROM nil" in answer.query.rest:
            return
        for function, argument in answer.query.cells:
            if argument.startswith("("):
                self.pairs.add((function, argument[1:-1]))
            elif argument in COLUMNS:
                self.cells.update((function, argument, each) for each in _classes(argument, answer.query.rest))

    def append_to(self, path: Path) -> None:
        """The cells as lines."""
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{self.compared}\n")
            file.writelines(f"{' '.join(each)}\n" for each in sorted((*self.cells, *self.pairs)))

    @staticmethod
    def read(paths: Iterable[Path]) -> Coverage:
        """The sum of several runs."""
        whole = Coverage()
        for words in (line.split() for path in paths for line in path.read_text(encoding="utf-8").splitlines()):
            match words:
                case [many]:
                    whole.compared += int(many)
                case [function, inner]:
                    whole.pairs.add((function, inner))
                case [function, column, of_values]:
                    whole.cells.add((function, column, of_values))
        return whole


def _classes(column: str, rest: str) -> Iterator[str]:
    for each in COLUMNS[column].classes:
        if "FROM w" in rest or each in OF_TAME:
            yield each


def possible_cells(signatures: Signatures) -> set[tuple[str, str, str]]:
    """Every cell that compiles."""
    return {
        (signature.form.name, column, each)
        for by_name in (signatures.of, signatures.aggregates)
        for found in by_name.values()
        for signature in found
        for column in signature.columns
        if column in COLUMNS
        for each in COLUMNS[column].classes
    }
