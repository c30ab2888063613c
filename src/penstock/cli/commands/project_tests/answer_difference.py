"""What an endpoint's answer has that a test does not expect, and the other way round.

In: the expected rows, the answer's columns and rows, and whether the query orders its rows. Out: lines that say how
they differ; none if they are the same. Invariants: a value is the same only if its type in JSON is: `1` is not `"1"`,
and null is not absent; numbers are compared by value and exactly, but for columns of Float type, whose last
digits depend on the order in which rows are summed: there a relative difference of 1e-9 is none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher

from penstock.cli.commands.project_tests.endpoint_cases import ExpectedRow
from penstock.model.json_documents.numbers import JsonNumber

MOST_LINES = 24
RELATIVE = 1e-9
LONGEST_LINE = 400


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """What an endpoint answered."""

    types: Mapping[str, str]
    """The type of each column, as ClickHouse spells it."""
    rows: Sequence[Mapping[str, object]]

    def is_approximate(self, column: str) -> bool:
        """Whether the last digits of a column's numbers may differ."""
        return "Float" in self.types.get(column, "")


def find_difference(expected: Sequence[ExpectedRow], answer: EndpointAnswer, *, is_ordered: bool) -> list[str]:
    """The lines of the difference, `-` before what was expected and `+` before what was answered."""
    # Both sides as numbers: a row of the answer that is the same as an expected one has its number.
    left = _numbers([row.value for row in expected], answer)
    right = _numbers_of_answer(left, expected, answer)
    if left == right:
        return []
    if sorted(left) == sorted(right):
        if not is_ordered:
            return []
        at = next(at for at, pair in enumerate(zip(left, right, strict=True)) if pair[0] != pair[1])
        why = "the same rows in another order; if ORDER BY leaves it open, add a column to it"
        return [why, *_changed_lines(expected[at : at + 1], answer.rows[at : at + 1], answer)]
    if not is_ordered:
        left, right, expected, answer = _sort_sides(left, right, expected, answer)
    return _shorten(_difference_lines(left, right, expected, answer))


def _difference_lines(
    left: Sequence[int], right: Sequence[int], expected: Sequence[ExpectedRow], answer: EndpointAnswer
) -> list[str]:
    lines: list[str] = []
    for kind, from_, to, start, end in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if kind != "equal":
            lines += _changed_lines(expected[from_:to], answer.rows[start:end], answer)
    return lines


def _sort_sides(
    left: Sequence[int], right: Sequence[int], expected: Sequence[ExpectedRow], answer: EndpointAnswer
) -> tuple[list[int], list[int], list[ExpectedRow], EndpointAnswer]:
    """Both sides with equal rows at the same places, where the order of rows means nothing."""
    by_left = sorted(range(len(left)), key=lambda at: left[at])
    by_right = sorted(range(len(right)), key=lambda at: right[at])
    return (
        [left[at] for at in by_left],
        [right[at] for at in by_right],
        [expected[at] for at in by_left],
        EndpointAnswer(answer.types, [answer.rows[at] for at in by_right]),
    )


def _numbers(values: Sequence[object], answer: EndpointAnswer) -> list[int]:
    """For each expected row the position of the first one that is the same."""
    found: list[int] = []
    for at, value in enumerate(values):
        found.append(next((before for before in range(at) if _same_row(values[before], value, answer)), at))
    return found


def _numbers_of_answer(left: Sequence[int], expected: Sequence[ExpectedRow], answer: EndpointAnswer) -> list[int]:
    """For each row of the answer the number of the expected row that it is, else one that no other has."""
    first = {number: expected[number].value for number in left}
    exact: dict[str, int] = {}
    for number, value in first.items():
        exact.setdefault(to_json(value), number)
    found = []
    for at, row in enumerate(answer.rows):
        same = (number for number, value in first.items() if _same_row(value, row, answer))
        known = exact.get(to_json(row))
        found.append(known if known is not None else next(same, len(left) + at))
    return found


def _same_row(expected: object, found: object, answer: EndpointAnswer) -> bool:
    if not isinstance(expected, dict) or not isinstance(found, dict) or expected.keys() != found.keys():
        return False
    return all(_same(value, found[key], answer.is_approximate(key)) for key, value in expected.items())


def _same(expected: object, found: object, is_approximate: bool) -> bool:
    if _is_number(expected) and _is_number(found):
        return _same_number(str(expected), str(found), is_approximate)
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(
            _same(value, found[key], is_approximate) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(found, list):
        pairs = zip(expected, found, strict=False)
        return len(expected) == len(found) and all(_same(*pair, is_approximate) for pair in pairs)
    return type(expected) is type(found) and expected == found


def _is_number(value: object) -> bool:
    return isinstance(value, JsonNumber) or (isinstance(value, int) and not isinstance(value, bool))


def _same_number(expected: str, found: str, is_approximate: bool) -> bool:
    if is_approximate:
        return math.isclose(float(expected), float(found), rel_tol=RELATIVE)
    return Decimal(expected) == Decimal(found)


def _changed_lines(
    expected: Sequence[ExpectedRow], found: Sequence[Mapping[str, object]], answer: EndpointAnswer
) -> list[str]:
    """The lines of rows that stand in each other's place."""
    lines: list[str] = []
    for at in range(max(len(expected), len(found))):
        pair = (expected[at] if at < len(expected) else None, found[at] if at < len(found) else None)
        if pair[0] is not None:
            lines.append(f"- {_cut(to_json(pair[0].value))}   (line {pair[0].line})")
        if pair[1] is not None:
            lines.append(f"+ {_cut(to_json(pair[1]))}")
        if pair[0] is not None and pair[1] is not None and isinstance(pair[0].value, dict):
            lines += _column_lines(pair[0].value, pair[1], answer)
    return lines


def _column_lines(expected: Mapping[str, object], found: Mapping[str, object], answer: EndpointAnswer) -> list[str]:
    """Which columns of two rows differ, if some do not."""
    missing = [f"`{key}` is not answered" for key in expected if key not in found]
    more = [f"`{key}` is not expected" for key in found if key not in expected]
    other = [
        f"`{key}` is {_cut(to_json(found[key]))}, expected {_cut(to_json(value))}"
        for key, value in expected.items()
        if key in found and not _same(value, found[key], answer.is_approximate(key))
    ]
    return [f"  {'; '.join((*missing, *more, *other))}"] if len(other) < max(len(expected), 2) else []


def _shorten(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"… and {more} lines more"]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + "…"


def to_json(value: object) -> str:
    """Compact JSON, with numbers as they were written and characters that cannot be shown as escapes."""
    if isinstance(value, JsonNumber):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_json_text(str(key))}:{to_json(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    return _json_text(value) if isinstance(value, str) else json.dumps(value)


def _json_text(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)
    return shown if shown.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in shown)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]
