"""`penstock test`: the tests that a project has of its endpoints.

In: the project's folder with `fixtures/` and `tests/`. Out: what passed and what did not, with file, line and
difference. Invariants: the project's own server is not asked; exit code 0 means that every test that was chosen has
passed, and that every row of the fixtures fits.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.cli.commands.deploy import load_sound_project
from penstock.cli.commands.project_tests.case_run import CaseResult, read_answer, run_cases
from penstock.cli.commands.project_tests.case_update import update_cases
from penstock.cli.commands.project_tests.endpoint_cases import CaseFile, EndpointCase, read_case_files, select_cases
from penstock.cli.commands.project_tests.environment import (
    PostedFixture,
    ProgressLine,
    ProjectEnvironment,
    project_environment,
)
from penstock.cli.commands.project_tests.fixtures import Fixture, find_fixtures
from penstock.cli.commands.project_tests.former_version import former_version
from penstock.cli.commands.project_tests.known_parameters import unknown_parameters
from penstock.cli.commands.project_tests.migration_check import (
    ExpectedTable,
    TableCheck,
    check_counts,
    compare_rows,
    read_expected_tables,
)
from penstock.cli.errors import FAILED, print_problems
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import console, format_number, print_json, print_table
from penstock.cli.session import Session, command
from penstock.errors import Conflict, InvalidProject, NotFound, Problem, did_you_mean

group = typer.Typer()


@group.command("run")
@command
def run(
    session: Session,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Files, endpoints or tests.")] = None,
    update: Annotated[bool, typer.Option("--update", help="Write what is answered as what is expected.")] = False,
) -> None:
    """Run the tests of endpoints on a throw-away server with the rows of the fixtures."""
    began, project = time.monotonic(), session.project
    read = load_sound_project(session)
    files, cases, fixtures = read_tests(project, read, names or [])
    with ProgressLine(is_shown=not session.as_json) as progress, project_environment(project, progress) as environment:
        environment.deploy(read, {})
        posted = environment.post(project, fixtures)
        progress.show("running the tests")
        results = run_cases(environment.client, read.loaded.project, cases)
    updated = write_results(project, files, results) if update else ()
    document = _document(posted, results, updated, time.monotonic() - began)
    if session.as_json:
        print_json(document)
    else:
        print_results(posted, results, updated, document["seconds"])
    if not document["ok"]:
        raise typer.Exit(FAILED)


@group.command("migration")
@command
def migration(
    session: Session,
    ref: Annotated[str, typer.Option("--from", metavar="REF", help="A commit, a branch, or a folder.")],
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]…", help="Files, endpoints or tests.")] = None,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
) -> None:
    """Deploy a former version with its fixtures, then this one over it, and run the tests."""
    began, project = time.monotonic(), session.project
    read = load_sound_project(session)
    _, cases, _ = read_tests(project, read, names or [])
    expected = _expected_tables(project, read)
    with former_version(project, ref) as former:
        before = load_sound_folder(former)
        fixtures = _fixtures_of(former, before)
        with ProgressLine(is_shown=not session.as_json) as progress, project_environment(project, progress) as made:
            migrated = _Migration(made, before, read, allow_destructive_operations)
            posted, checks = migrated.run(former, fixtures, expected)
            results = run_cases(made.client, read.loaded.project, cases)
    document = _document(posted, results, (), time.monotonic() - began)
    document["tables"] = [each.as_json() for each in checks]
    document["ok"] = document["ok"] and all(each.is_passed for each in checks)
    if session.as_json:
        print_json(document)
    else:
        _print_checks(checks)
        print_results(posted, results, (), document["seconds"])
    if not document["ok"]:
        raise typer.Exit(FAILED)


@dataclass(frozen=True, slots=True)
class _Migration:
    """A former version and the one that follows it."""

    environment: ProjectEnvironment
    before: SourceProject
    after: SourceProject
    allow_destructive: bool

    def run(
        self, folder: Path, fixtures: tuple[Fixture, ...], expected: Sequence[ExpectedTable]
    ) -> tuple[tuple[PostedFixture, ...], list[TableCheck]]:
        """Deploy the former version, post its fixtures, deploy the new one, and look at the rows."""
        self.environment.deploy(self.before, {})
        posted = self.environment.post(folder, fixtures)
        former = self._count(self.before)
        asked = query_parameters(allow_destructive_operations=self.allow_destructive)
        made = self.environment.deploy(self.after, asked)
        checks = check_counts(self.after.loaded.project, made["plan"], former, self._count(self.after))
        by_source = {each.source: each for each in expected}
        return posted, [self._with_rows(each, by_source.get(each.source)) for each in checks]

    def _count(self, read: SourceProject) -> dict[str, int]:
        sources = (each for each in read.loaded.project.datasources if each.engine.name != "Null")
        counts = {each.name: self.environment.count_rows(each.name) for each in sources}
        return {each.name: counts.get(each.name, 0) for each in read.loaded.project.datasources}

    def _with_rows(self, check: TableCheck, expected: ExpectedTable | None) -> TableCheck:
        if expected is None:
            return check
        if not expected.columns:
            lines = [f"{expected.path}: no row is expected, there are {check.after:,}"] if check.after else []
        else:
            lines = compare_rows(expected, read_answer(self.environment.rows_of(expected.source, expected.columns)))
        return replace(check, difference=(*check.difference, *lines))


def load_sound_folder(folder: Path) -> SourceProject:
    """The former version of a project. Raises InvalidProject if it has problems."""
    read = load_source_folder(folder)
    if read.loaded.errors:
        raise InvalidProject("the former version has problems", read.places.problems(read.loaded.errors))
    return read


def _fixtures_of(folder: Path, read: SourceProject) -> tuple[Fixture, ...]:
    """The fixtures of the former version. Raises InvalidProject, and NotFound if there are none."""
    problems: list[Problem] = []
    fixtures = find_fixtures(folder, read.loaded.project, problems)
    if problems:
        raise InvalidProject("the fixtures of the former version have problems", problems)
    if not fixtures:
        raise NotFound("the former version has no fixtures", hint="a migration of no rows shows nothing")
    return fixtures


def _expected_tables(project: Path, read: SourceProject) -> tuple[ExpectedTable, ...]:
    problems: list[Problem] = []
    expected = read_expected_tables(project, read.loaded.project, problems)
    if problems:
        raise InvalidProject("the expected rows have problems", problems)
    return expected


def _print_checks(checks: Sequence[TableCheck]) -> None:
    rows = [
        (each.source, each.strategy, "" if each.before is None else each.before, each.after, _check_text(each))
        for each in checks
    ]
    print_table(("data source", "strategy", "rows before", "rows after", ""), rows)
    for each in checks:
        for line in each.difference:
            console().print(f"  {each.source}: {line}", style=_line_style(line), markup=False)
    console().print()


def _check_text(check: TableCheck) -> str:
    return "" if check.is_passed else "failed"


def read_tests(
    project: Path, read: SourceProject, names: Sequence[str]
) -> tuple[tuple[CaseFile, ...], tuple[EndpointCase, ...], tuple[Fixture, ...]]:
    """The files of tests, the chosen tests, and the fixtures. Raises InvalidProject with all that is wrong in them,
    NotFound for a name that chooses none, or if there are none."""
    problems: list[Problem] = []
    files = read_case_files(project, problems)
    fixtures = find_fixtures(project, read.loaded.project, problems)
    endpoints = {pipe.name: pipe for pipe in read.loaded.project.pipes if pipe.endpoint is not None}
    for file in files:
        problems += _unknown_endpoint(file, endpoints.keys())
        if file.pipe in endpoints:
            problems += unknown_parameters(file, read.loaded.project, endpoints[file.pipe])
    if problems:
        count = format_number(len(problems), "problem", "problems")
        raise InvalidProject(f"the tests have {count}", problems)
    cases, unknown = select_cases(files, names)
    if unknown:
        known = {name for file in files for name in (file.path, file.pipe, *(case.name for case in file.cases))}
        raise NotFound(f"there is no test `{unknown[0]}`", hint=did_you_mean(unknown[0], known))
    if not cases:
        raise NotFound("the project has no tests", hint="write tests/ENDPOINT.yaml; docs/testing.md shows one")
    return files, cases, fixtures


def _unknown_endpoint(file: CaseFile, endpoints: Collection[str]) -> list[Problem]:
    if file.pipe in endpoints or not file.cases:
        return []
    message = f"there is no endpoint `{file.pipe}`: a file of tests has the name of its endpoint"
    return [Problem("invalid-test", message, file.cases[0].location, did_you_mean(file.pipe, endpoints))]


def write_results(project: Path, files: Sequence[CaseFile], results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Write the answers of the tests that did not pass into their files. Returns these results."""
    failed = [each for each in results if not each.is_passed and each.found is not None]
    by_file: dict[str, list[CaseResult]] = defaultdict(list)
    for each in failed:
        by_file[each.case.location.file].append(each)
    for file in files:
        if file.path in by_file:
            found = {each.case.name: each.found for each in by_file[file.path] if each.found is not None}
            _write_unless_changed(project / file.path, file, update_cases(file, found))
    return tuple(failed)


def _write_unless_changed(path: Path, file: CaseFile, text: str) -> None:
    """Raises Conflict if somebody has written the file since its tests were read."""
    if not path.is_file() or path.read_bytes() != file.text.encode():
        raise Conflict(f"{file.path} was changed while its tests ran, and is left as it is", hint="run --update again")
    path.write_bytes(text.encode())


def _document(
    posted: Sequence[PostedFixture], results: Sequence[CaseResult], updated: Sequence[CaseResult], seconds: float
) -> Json:
    passed = sum(each.is_passed for each in results)
    problems = [problem.as_json() for each in posted for problem in each.problems]
    tests = [{**each.as_json(), **({"status": "updated"} if each in updated else {})} for each in results]
    return {
        "ok": passed + len(updated) == len(results) and not problems,
        "passed": passed,
        "failed": len(results) - passed - len(updated),
        "updated": len(updated),
        "seconds": round(seconds, 1),
        "fixtures": [{"datasource": each.source, "rows": each.rows} for each in posted],
        "tests": tests,
        "problems": problems,
    }


def print_results(
    posted: Sequence[PostedFixture], results: Sequence[CaseResult], updated: Sequence[CaseResult], seconds: float
) -> None:
    """Print what became of each test, by file."""
    page = console()
    file = ""
    for each in results:
        if each.case.location.file != file:
            file = each.case.location.file
            page.print(file, style="bold", markup=False)
        _print_result(each, is_updated=each in updated)
    print_problems([problem.as_json() for each in posted for problem in each.problems])
    failed = len(results) - len(updated) - sum(each.is_passed for each in results)
    parts = [f"{sum(each.is_passed for each in results)} passed"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{len(updated)} updated"] if updated else []
    page.print(f"\n{', '.join(parts)} in {seconds:.1f} s", style="red" if failed else "green", markup=False)


def _print_result(result: CaseResult, *, is_updated: bool) -> None:
    page = console()
    if result.is_passed:
        page.print(f"  passed   {result.case.name}", style="green", markup=False)
        return
    word, style = ("updated", "yellow") if is_updated else ("failed ", "red")
    place = f"{result.case.location.file}:{result.case.location.line}"
    page.print(f"  {word}  {result.case.name}   {place}", style=style, markup=False)
    for line in () if is_updated else result.difference:
        page.print(f"      {line}", style=_line_style(line), markup=False)


def _line_style(line: str) -> str:
    return "red" if line.startswith("- ") else "green" if line.startswith("+ ") else ""
