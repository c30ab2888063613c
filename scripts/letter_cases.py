"""The letters of ClickHouse's initcapUTF8, whose tables are of another Unicode than Java's: asks chDB for every letter.

Out: `LetterCases.java` in `lake/spark/jars/texts`, to be compiled by scripts/java_jars.py. Run it after a step to
another ClickHouse; a test compares every letter.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from chdb.session import Session

ROOT = Path(__file__).resolve().parent.parent
JAVA = ROOT / "src/penstock/lake/spark/jars/texts/LetterCases.java"
SURROGATES = range(0xD800, 0xE000)
LETTERS = tuple(code for code in range(1, 0x110000) if code not in SURROGATES)
AT_ONCE = 20_000
SETTINGS = "SETTINGS max_query_size=100000000, max_ast_elements=10000000, max_expanded_ast_elements=100000000"
WIDTH = 100
_HEAD = """package penstock;

/**
 * The letters of ClickHouse's initcapUTF8: which letter each becomes, at the beginning of a word and inside of one, and
 * whether the next one is inside of a word. As numbers of base 36.
 *
 * scripts/letter_cases.py writes this file.
 */
public final class LetterCases {
    private LetterCases() {}
"""


class Letter(NamedTuple):
    """What becomes of a letter, and whether the next one is inside of a word."""

    code: int
    becomes: int
    goes_on: bool


def main() -> int:
    first = list(_asked("x || 'a'", 0))
    inside = list(_asked("'a' || x || 'a'", 1))
    parts = (
        *_strings("FIRST_CASES", _case_runs(first), "code, how many, step, what is added"),
        *_strings("INSIDE_CASES", _case_runs(inside), "code, how many, step, what is added"),
        *_strings("GOES_ON_FIRST", _ranges(each.code for each in first if each.goes_on), "code, how many"),
        *_strings("GOES_ON_INSIDE", _ranges(each.code for each in inside if each.goes_on), "code, how many"),
    )
    JAVA.write_text(_HEAD + "".join(f"{part}\n" for part in parts) + "}\n", encoding="utf-8")
    print(JAVA.name)
    return 0


def _asked(text: str, place: int) -> Iterator[Letter]:
    """Each letter `x` in a text, at a place of it, with an `a` behind it."""
    session = Session()
    for start in range(0, len(LETTERS), AT_ONCE):
        some = LETTERS[start : start + AT_ONCE]
        given = ", ".join("'" + chr(code).replace("\\", "\\\\").replace("'", "\\'") + "'" for code in some)
        query = f"SELECT hex(initcapUTF8({text})) FROM (SELECT arrayJoin([{given}]) AS x) {SETTINGS}"
        rows = json.loads(session.query(query, "JSONCompact").bytes())["data"]
        for code, (shown,) in zip(some, rows, strict=True):
            letters = bytes.fromhex(shown).decode()
            yield Letter(code, ord(letters[place]), letters[-1] == "a")


def _case_runs(letters: Iterable[Letter]) -> Iterator[tuple[int, ...]]:
    """Runs of letters, one or two apart, to which the same is added; each counts from the end of the last one."""
    runs: list[list[int]] = []
    for code, becomes, _ in (each for each in letters if each.becomes != each.code):
        last = runs[-1] if runs else None
        step = code - (last[0] + last[2] * (last[1] - 1)) if last else 0
        if last and last[3] == becomes - code and step in ((1, 2) if last[1] == 1 else (last[2],)):
            last[1:3] = last[1] + 1, step
        else:
            runs.append([code, 1, 1, becomes - code])
    end = 0
    for code, many, step, added in runs:
        yield code - end, many, step, added
        end = code


def _ranges(codes: Iterable[int]) -> Iterator[tuple[int, ...]]:
    runs: list[list[int]] = []
    for code in codes:
        if runs and sum(runs[-1]) == code:
            runs[-1][1] += 1
        else:
            runs.append([code, 1])
    end = 0
    for code, many in runs:
        yield code - end, many
        end = code


def _strings(name: str, rows: Iterable[tuple[int, ...]], about: str) -> Iterator[str]:
    numbers = " ".join(_base_36(number) for row in rows for number in row)
    lines = [numbers[at : at + WIDTH] for at in range(0, len(numbers), WIDTH)]
    yield f"\n    /** By rows of: {about}. Each code counts from the one before it. */"
    written = "\n        + ".join(f'"{line}"' for line in lines)
    yield f"    public static final String {name} =\n        {written};"


def _base_36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    if number < 0:
        return "-" + _base_36(-number)
    return (_base_36(number // 36) if number >= 36 else "") + digits[number % 36]


if __name__ == "__main__":
    sys.exit(main())
