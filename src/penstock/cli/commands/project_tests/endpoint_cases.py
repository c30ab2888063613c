"""The tests of endpoints that a project has in `tests/*.yaml`.

In: a file of YAML: a list of objects with `name`, `description`, `parameters`, `expected_result` and
`expected_http_status`; the file has the name of the endpoint. Out: `EndpointCase`s with their places, and problems.
Invariants: no content of a file raises; what a test says is never ignored: an unknown key is a problem.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import yaml

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.json_documents.numbers import JsonNumber
from penstock.parse.project_files import decode, read_project_file

FOLDER = "tests"
ENDINGS = (".yaml", ".yml")
KEYS = ("name", "description", "parameters", "expected_result", "expected_http_status")
OK_STATUS = 200
_CODE = "invalid-test"
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class ExpectedRow:
    """A row that an endpoint is to answer."""

    value: object
    """As JSON has it; a number with a point is a `JsonNumber`."""
    line: int


@dataclass(frozen=True, slots=True)
class EndpointCase:
    """One test: a call of an endpoint, and what it is to answer."""

    pipe: str
    name: str
    parameters: Mapping[str, tuple[str, ...]]
    rows: tuple[ExpectedRow, ...]
    text: str
    """The expected result as written."""
    status: int
    location: Location

    @property
    def fails(self) -> bool:
        """Whether the call is to be refused."""
        return self.status >= 400


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of tests."""

    path: str
    """Below the project's folder."""
    text: str
    cases: tuple[EndpointCase, ...]

    @property
    def pipe(self) -> str:
        """The endpoint that it is about."""
        return Path(self.path).stem


def read_case_files(folder: Path, problems: list[Problem]) -> tuple[CaseFile, ...]:
    """The files of tests of a project, by path."""
    found = sorted(path for path in (folder / FOLDER).glob("**/*") if path.suffix in ENDINGS and path.is_file())
    files = (_read_file(folder, path.relative_to(folder).as_posix(), problems) for path in found)
    return tuple(each for each in files if each is not None)


def _read_file(folder: Path, path: str, problems: list[Problem]) -> CaseFile | None:
    content = read_project_file(folder, path, problems)
    text = decode(content, path, problems) if content is not None else None
    return CaseFile(path, text, parse_cases(text, path, problems)) if text is not None else None


def parse_cases(text: str, path: str, problems: list[Problem]) -> tuple[EndpointCase, ...]:
    """The tests of a text; wrong ones are problems."""
    root = compose_document(text, path, problems)
    if root is None or root.tag == _NULL:
        return ()
    if not isinstance(root, yaml.SequenceNode):
        problems.append(_problem("a file of tests is a list", path, root, "begin each test with `- name: …`"))
        return ()
    cases = [case for node in root.value for case in _parse_case(node, path, problems)]
    for at, case in enumerate(cases):
        if any(case.name == other.name for other in cases[:at]):
            problems.append(Problem(_CODE, f"a second test `{case.name}`", case.location, "give it another name"))
    return tuple(cases)


def compose_document(text: str, path: str, problems: list[Problem]) -> yaml.Node | None:
    """The tree of a text of YAML, with the places of its nodes."""
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Location(path, mark.line + 1, mark.column + 1) if mark is not None else Location(path)
        problems.append(Problem(_CODE, f"this is no YAML: {error.problem or error.context}", place, _SHAPE_HINT))
    except (yaml.YAMLError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        problems.append(Problem(_CODE, f"this is no YAML: {reason}", Location(path), _SHAPE_HINT))
    return None


_SHAPE_HINT = "docs/testing.md shows a file of tests"


def _parse_case(node: yaml.Node, path: str, problems: list[Problem]) -> Iterator[EndpointCase]:
    if not isinstance(node, yaml.MappingNode):
        problems.append(_problem("a test is an object with keys", path, node, "such as `- name: first_page`"))
        return
    before = len(problems)
    values = _read_keys(node, path, problems)
    name = _text(values.get("name"), path, problems)
    if not name:
        problems.append(_problem("a test has a `name`", path, node, "`penstock test run NAME` runs it alone"))
    status = _status(values.get("expected_http_status"), path, problems)
    result = values.get("expected_result")
    text = _text(result, path, problems)
    parameters = _parameters(values.get("parameters"), path, problems)
    rows = tuple(_rows(result, text, path, problems)) if status < 400 else ()
    if len(problems) == before:
        yield EndpointCase(Path(path).stem, name, parameters, rows, text, status, place_of(path, node))


def _read_keys(node: yaml.MappingNode, path: str, problems: list[Problem]) -> dict[str, yaml.Node]:
    values: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value not in KEYS:
            shown = key.value if isinstance(key, yaml.ScalarNode) else "?"
            problems.append(_problem(f"a test has no `{shown}`", path, key, did_you_mean(str(shown), KEYS)))
        elif key.value in values:
            problems.append(_problem(f"a second `{key.value}`", path, key, "remove one of them"))
        else:
            values[key.value] = value
    return values


def _text(node: yaml.Node | None, path: str, problems: list[Problem]) -> str:
    """The text of a node; nothing for null."""
    if node is None or node.tag == _NULL:
        return ""
    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    hint = "a result is one JSON object a line below `expected_result: |`; parameters are written a=b&c=d"
    problems.append(_problem("a text was expected", path, node, hint))
    return ""


def _status(node: yaml.Node | None, path: str, problems: list[Problem]) -> int:
    text = _text(node, path, problems)
    if not text:
        return OK_STATUS
    if text.isascii() and text.isdecimal() and 100 <= int(text[:4]) <= 599:
        return int(text)
    problems.append(_problem(f"`{text}` is no HTTP status", path, node, "such as 200 or 400"))
    return OK_STATUS


def _parameters(node: yaml.Node | None, path: str, problems: list[Problem]) -> Mapping[str, tuple[str, ...]]:
    text = _text(node, path, problems).strip().removeprefix("?")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    except ValueError:
        problems.append(_problem(f"`{text}` is no list of parameters", path, node, "write them as a=b&c=d"))
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        found[name] = (*found.get(name, ()), value)
    return found


def _rows(node: yaml.Node | None, text: str, path: str, problems: list[Problem]) -> Iterator[ExpectedRow]:
    """The rows of an expected result; lines of a block stand where it says."""
    for at, line in enumerate(text.split("\n")):
        if not line.strip() or node is None:
            continue
        is_block = isinstance(node, yaml.ScalarNode) and node.style == "|"
        number = node.start_mark.line + (2 + at if is_block else 1)
        try:
            value = parse_expected(line)
        except (ValueError, RecursionError) as error:
            hint = "write the objects of `GET /v0/pipes/NAME.ndjson`, or let --update write them"
            problems.append(Problem(_CODE, f"this is no JSON: {error}", Location(path, number), hint))
            continue
        if not isinstance(value, dict):
            problems.append(Problem(_CODE, "a row is a JSON object", Location(path, number), 'such as {"a": 1}'))
        yield ExpectedRow(value, number)


def parse_json(text: str) -> object:
    """A value of JSON whose numbers keep every digit. Raises ValueError or RecursionError."""
    return json.loads(text, parse_float=JsonNumber)


def parse_expected(text: str) -> object:
    """The same, of what somebody expects. Raises ValueError also for a key that stands twice, of whose values one would
    be passed over, and for NaN and the like, which no answer has."""
    return json.loads(text, parse_float=JsonNumber, parse_constant=_refuse_constant, object_pairs_hook=_distinct)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _distinct(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {json.dumps(key, ensure_ascii=False)} stands twice")
        found[key] = value
    return found


def place_of(path: str, node: yaml.Node) -> Location:
    """Where a node begins."""
    return Location(path, node.start_mark.line + 1, node.start_mark.column + 1)


def _problem(message: str, path: str, node: yaml.Node | None, hint: str | None) -> Problem:
    return Problem(_CODE, message, place_of(path, node) if node is not None else Location(path), hint)


def select_cases(files: Sequence[CaseFile], names: Sequence[str]) -> tuple[tuple[EndpointCase, ...], tuple[str, ...]]:
    """The tests that names choose, by file, endpoint or test; all without names. Also the names that choose none."""
    every = [(file, case) for file in files for case in file.cases]
    if not names:
        return tuple(case for _, case in every), ()
    asked = {name: name.removeprefix("./") for name in names}
    chosen = tuple(case for file, case in every if any(_is_chosen(file, case, each) for each in asked.values()))
    unknown = (name for name, each in asked.items() if not any(_is_chosen(file, case, each) for file, case in every))
    return chosen, tuple(unknown)


def _is_chosen(file: CaseFile, case: EndpointCase, name: str) -> bool:
    return name in (file.path, Path(file.path).name, file.pipe, case.name, f"{file.pipe}::{case.name}")
