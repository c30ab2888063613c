"""Writes what endpoints answered into a file of tests, as the results that it expects.

In: the text of the file, and results by the name of the test. Out: the text with these results. Invariants: everything
else in the file stays as it is, with its comments; the new text reads as what was to be written, or the file is left
alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from penstock.cli.commands.project_tests.endpoint_cases import OK_STATUS, CaseFile, compose_document, parse_cases
from penstock.errors import InvalidRequest, Problem

_BLOCK_COMMENT = re.compile(r":[ \t]+[|>][-+0-9]*[ \t]+(#[^\n]*)\n")
"""A comment in the line that begins a block."""


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
        return _replacement(text, *keys[key], written)
    last = node.value[-1]
    end = _end_of_value(text, *last)
    if node.flow_style:
        return _Change(end, end, f", {key}: {written}")
    end += len(_rest_of_line(text, end))  # behind a comment
    return _Change(end, end, f"\n{' ' * node.value[0][0].start_mark.column}{key}: {written}")


def _replacement(text: str, key: yaml.Node, value: yaml.Node, written: str) -> _Change:
    """The change of a value; a comment in the line of the key stays there."""
    start, end = key.end_mark.index, _end_of_value(text, key, value)
    head, _, block = written.partition("\n")
    found = _BLOCK_COMMENT.match(text, start, end)
    if found is not None:
        return _Change(start, end, f": {head}  {found[1].rstrip()}{block and chr(10)}{block}")
    rest = _rest_of_line(text, end)
    if block and rest.strip():
        return _Change(start, end + len(rest), f": {head}{rest}\n{block}")
    return _Change(start, end, f": {written}")


def _end_of_value(text: str, key: yaml.Node, value: yaml.Node) -> int:
    start = key.end_mark.index
    return start + max(len(text[start : value.end_mark.index].rstrip()), 1)


def _rest_of_line(text: str, at: int) -> str:
    return text[at:].partition("\n")[0].rstrip("\r")


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
