"""What is walked, in which order, and what is kept of the answers; without an engine."""

from __future__ import annotations

from pathlib import Path

from tests.differential.compare import Verdict
from tests.differential.typed.batches import Answer, Generated
from tests.differential.typed.every_cell import may_be_tamed, new_cells_first, tamed
from tests.differential.typed.ledger import Ledger


def _call(item: str, *cells: tuple[str, str]) -> Generated:
    return Generated(0, (item,), cells=frozenset(cells))


ABS, SIGN = _call("abs(u8)", ("abs", "u8")), _call("sign(f64)", ("sign", "f64"))
BOTH = _call("plus(abs(u8), u8)", ("abs", "u8"), ("plus", "(abs)"))


def test_calls_with_cells_of_their_own_come_first() -> None:
    again = _call("abs(u8 + 0)", ("abs", "u8"))
    assert new_cells_first([ABS, again, SIGN, BOTH]) == [ABS, SIGN, BOTH, again]


def test_the_last_answer_about_a_call_holds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    assert list(ledger.answers()) == []
    ledger.add([Answer(ABS, "differs", "row 1: 2 | 3"), Answer(SIGN, "same")])
    ledger.add([Answer(ABS, "same")])
    assert list(ledger.answers()) == [Answer(ABS, "same"), Answer(SIGN, "same")]


def test_what_differs_is_asked_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    verdicts: list[Verdict] = ["same", "fails", "clickhouse refuses", "differs", "refused"]
    ledger.add(Answer(_call(verdict), verdict) for verdict in verdicts)
    assert {item for item, _ in ledger.settled()} == {"same", "fails", "clickhouse refuses"}


def test_what_fails_over_extremes_is_asked_over_ordinary_rows() -> None:
    ordinary = tamed(ABS)
    assert (ordinary.sql, ordinary.cells) == ("SELECT id, abs(u8) AS c0 FROM tame", ABS.cells)
    asked = [Answer(ABS, "fails"), Answer(ABS, "clickhouse refuses"), Answer(ABS, "differs"), Answer(ordinary, "fails")]
    assert list(map(may_be_tamed, asked)) == [True, True, False, False]
