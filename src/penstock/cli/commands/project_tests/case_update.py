"""Writes what endpoints answered into a file of tests, as the results that it expects.

In: the text of the file, and results by the name of the test. Out: the text with these results. Invariants: everything
else in the file stays as it is, with its comments; the new text reads as what was to be written, or the file is left
alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from penstock.cli.commands.project_tests.endpoint_cases import OK_STATUS, CaseFile, compose_document, parse_cases
from penstock.errors import InvalidRequest, Problem


@dataclass(frozen=True, slots=True)
class NewResult:
    """What a test is to expect from now on."""

    lines: tuple[str, ...]
    status: int


@dataclass(frozen=True, slots=True)
class _Change:
    """A part of a text, and what takes its place."""

    start: int
    end: int
    text: str


def update_cases(file: CaseFile, results: Mapping[str, NewResult]) -> str:
    """The text of a file with new results by the name of the test. Raises InvalidRequest where its YAML has a form in
    which they cannot be written."""
    problems: list[Problem] = []
    root = compose_document(file.text, file.path, problems)
    changes: list[_Change] = []
    for node in root.value if isinstance(root, yaml.SequenceNode) else ():
        values = {key.value: value for key, value in node.value}
        result = results.get(str(values["name"].value)) if "name" in values else None
        if result is not None:
            changes += _changes(file.text, node, result)
    text = file.text
    for change in sorted(changes, key=lambda each: -each.start):
        text = text[: change.start] + change.text + text[change.end :]
    _check(file, text, results)
    return text


def _changes(text: str, node: yaml.MappingNode, result: NewResult) -> list[_Change]:
    """The changes of one test."""
    keys = {key.value: (key, value) for key, value in node.value}
    indent = " " * node.value[0][0].start_mark.column
    is_block = not node.flow_style
    written = _result_text(result.lines, indent) if is_block else _quote("\n".join(result.lines))
    made = [_value_change(text, node, keys, "expected_result", written)]
    if result.status != OK_STATUS or "expected_http_status" in keys:
        made.append(_value_change(text, node, keys, "expected_http_status", str(result.status)))
    return _merge_insertions(made)


def _value_change(
    text: str, node: yaml.MappingNode, keys: Mapping[str, tuple[yaml.Node, yaml.Node]], key: str, written: str
) -> _Change:
    if key in keys:
        start, value = keys[key][0].end_mark.index, keys[key][1]
        end = start + len(text[start : value.end_mark.index].rstrip())
        return _Change(start, max(end, start + 1), f": {written}")
    last = node.value[-1][1]
    start = node.value[-1][0].end_mark.index
    end = start + max(len(text[start : last.end_mark.index].rstrip()), 1)
    before = f"\n{' ' * node.value[0][0].start_mark.column}" if not node.flow_style else ", "
    return _Change(end, end, f"{before}{key}: {written}")


def _merge_insertions(changes: list[_Change]) -> list[_Change]:
    """Texts that are inserted at one place, as one."""
    first, *rest = changes
    if rest and first.start == first.end == rest[0].start == rest[0].end:
        return [_Change(first.start, first.end, first.text + rest[0].text)]
    return changes


def _result_text(lines: tuple[str, ...], indent: str) -> str:
    if not lines:
        return "''"
    return "|\n" + "\n".join(f"{indent}  {line}" for line in lines)


def _quote(text: str) -> str:
    """A text in double quotes, as YAML and JSON both read it."""
    return json.dumps(text)


def _check(file: CaseFile, text: str, results: Mapping[str, NewResult]) -> None:
    """Raises InvalidRequest unless the new text reads as what was to be written."""
    problems: list[Problem] = []
    before = {case.name: case for case in file.cases}
    after = {case.name: case for case in parse_cases(text, file.path, problems)}
    wrong = [name for name, result in results.items() if name not in after or not _says(after[name].text, result)]
    others = [name for name in before if name not in results and before[name].text != after[name].text] if after else []
    if problems or wrong or others or before.keys() != after.keys():
        message = f"the results cannot be written into {file.path}: its YAML has a form that is kept as it is"
        raise InvalidRequest(message, hint="write `expected_result: |` with lines below it, without anchors")


def _says(text: str, result: NewResult) -> bool:
    return text.rstrip("\n") == "\n".join(result.lines)
