"""Runs the tests of endpoints against a server.

In: tests, and a client of the server that has the project and its fixtures. Out: what became of each, in their order.
Invariant: a test passes only if status and rows are as expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from penstock.cli.client import ServerClient
from penstock.cli.commands.project_tests.answer_difference import EndpointAnswer, find_difference, to_json
from penstock.cli.commands.project_tests.case_update import NewResult
from penstock.cli.commands.project_tests.endpoint_cases import OK_STATUS, EndpointCase, parse_json
from penstock.cli.commands.project_tests.row_order import orders_rows
from penstock.cli.errors import ServerRefusal
from penstock.cli.json_documents import Json
from penstock.errors import PenstockError
from penstock.model.project import Project

AT_ONCE = 4
_PASSING = (408, 429)
"""What a server answers that has too much to do: no test is to expect it."""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of a test."""

    case: EndpointCase
    difference: tuple[str, ...]
    """Lines that say what is not as expected; empty if it passed."""
    found: NewResult | None
    """What the endpoint answered; None if it could not be asked."""

    @property
    def is_passed(self) -> bool:
        return not self.difference

    def as_json(self) -> Json:
        case = self.case
        place = {"file": case.location.file, "line": case.location.line}
        status = "passed" if self.is_passed else "failed"
        return {**place, "pipe": case.pipe, "name": case.name, "status": status, "difference": [*self.difference]}


def run_cases(client: ServerClient, project: Project, cases: Sequence[EndpointCase]) -> list[CaseResult]:
    """The results of tests, several at a time."""
    ordered = {pipe.name: orders_rows(pipe) for pipe in project.pipes}
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="tests") as threads:
        return list(threads.map(lambda case: _run_case(client, case, ordered), cases))


def _run_case(client: ServerClient, case: EndpointCase, ordered: Mapping[str, bool]) -> CaseResult:
    try:
        text = client.text(f"/v0/pipes/{quote(case.pipe)}.json", case.parameters)
    except ServerRefusal as refusal:
        return _refused_result(case, refusal)
    except PenstockError as error:  # no server, or none in time
        return CaseResult(case, (f"{call_text(case)}: {error.message}",), None)
    answer = read_answer(text)
    found = NewResult(tuple(map(to_json, answer.rows)), OK_STATUS)
    if case.status != OK_STATUS:
        return CaseResult(case, (f"{call_text(case)}: status {OK_STATUS}, expected {case.status}",), found)
    lines = find_difference(case.rows, answer, is_ordered=ordered.get(case.pipe, False))
    return CaseResult(case, (f"{call_text(case)}:", *lines) if lines else (), found)


def _refused_result(case: EndpointCase, refusal: ServerRefusal) -> CaseResult:
    """The result of a call that was refused. Of its message the test may quote a part."""
    lines = tuple(filter(None, refusal.message.splitlines()))
    found = NewResult(lines, refusal.status) if refusal.status not in _PASSING and refusal.status < 500 else None
    call = call_text(case)
    if refusal.status != case.status:
        wrong = f"{call}: status {refusal.status}, expected {case.status}: {refusal.message}"
        return CaseResult(case, (wrong,), found)
    said, expected = " ".join(refusal.message.split()), " ".join(case.text.split())
    if expected not in said:
        return CaseResult(case, (f"{call}:", f"- {expected}", f"+ {said}"), found)
    return CaseResult(case, (), found)


def read_answer(text: str) -> EndpointAnswer:
    """The answer of a call."""
    document = parse_json(text)
    assert isinstance(document, dict), "an answer is an object"
    return EndpointAnswer({each["name"]: each["type"] for each in document["meta"]}, document["data"])


def call_text(case: EndpointCase) -> str:
    """The call of a test as people read it."""
    parameters = urlencode(case.parameters, doseq=True)
    return f"GET {case.pipe}.json{'?' if parameters else ''}{parameters}"
