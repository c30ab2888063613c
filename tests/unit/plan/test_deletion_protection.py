"""Data sources with `LIFE_CYCLE deletion_protected` lose neither rows nor values, whatever a deployment allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from golden_cases import FOLDER, case_folders, read_case
from penstock.parse.project_loader import load_files
from penstock.plan.offline import plan_projects
from penstock.plan.plan import Plan, PlanOptions, Size

LOSSES = {"destructive-change", "history-lost", "history-shorter"}
REFUSALS = {"deletion-protected", "history-lost"}
CHANGES = ("would be computed anew by", "would merge rows that live keeps apart", "changes together with its rows")
"""What is no loss of others, since it is asked for."""
CASES = [each for each in case_folders() if "57_" not in each.name]


def protected(files: Mapping[str, str]) -> dict[str, str]:
    line = "\nLIFE_CYCLE deletion_protected\n"
    return {path: text + line if path.endswith(".datasource") else text for path, text in files.items()}


def planned(before: Mapping[str, str], after: Mapping[str, str], sizes: Mapping[str, Size], allowed: bool) -> Plan:
    return plan_projects(load_files(before).project, load_files(after).project, sizes, PlanOptions("d2", allowed))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_no_leave_allows_what_a_protected_one_would_lose(folder: Path) -> None:
    case = read_case(folder)
    refused = [
        (each.location.file, each.message)
        for each in planned(case.before, case.after, case.sizes, False).problems
        if each.code in LOSSES
    ]
    for before, after in ((protected(case.before), case.after), (case.before, protected(case.after))):
        removed = [each for each in refused if each[1].split("`")[2].startswith(" is removed")]
        expected = refused if before is not case.before else [each for each in refused if each not in removed]
        found = planned(before, after, case.sizes, True).errors
        told = [(each.location.file, each.message) for each in found if each.code in REFUSALS]
        assert set(expected) <= set(told)
        assert all(any(words in message for words in CHANGES) for _, message in set(told) - set(expected))
        assert all("LIFE_CYCLE fully_managed" in (each.hint or "") for each in found if each.code in REFUSALS)


def test_there_are_losses_of_each_kind_among_the_cases() -> None:
    cases = map(read_case, CASES)
    errors = [each for case in cases for each in planned(case.before, case.after, case.sizes, False).problems]
    assert {each.code for each in errors} >= LOSSES
    assert {each.message.partition("` ")[2].partition(" ")[0] for each in errors} >= {"is", "of", "no", "would"}


def test_what_is_no_longer_protected_may_go_in_the_next_deployment() -> None:
    case = read_case(FOLDER / "04_drop_without_leave")
    first = planned(protected(case.before), case.before, case.sizes, False)
    assert (first.errors, {each.strategy for each in first.resources}) == ((), {"none"})
    assert planned(case.before, case.after, case.sizes, True).errors == ()


def test_history_that_a_ttl_has_shortened_is_an_error_instead_of_a_warning() -> None:
    case = read_case(FOLDER / "14_view_query")
    landing = next(path for path, text in case.before.items() if path.endswith(".datasource") and "json:" in text)
    ttl = "\nENGINE_TTL timestamp + INTERVAL 1 DAY\n"
    before, after = ({**files, landing: files[landing] + ttl} for files in (case.before, case.after))
    view = "materializations/actions.pipe"
    after[view] = after[view].replace("action != 'test'", "version != ''")  # which no stored row tells
    (warning,) = [each for each in planned(before, after, case.sizes, False).problems if each.code == "history-shorter"]
    errors = {each.message: each.code for each in planned(protected(before), after, case.sizes, True).errors}
    assert errors[warning.message] == "deletion-protected"


SALES = "SCHEMA >\n    `id` UInt64 `json:$.id`,\n    `at` DateTime `json:$.at`,\n    `text` String `json:$.text`\n"
VIEW = "NODE n\nSQL >\n    SELECT id FROM sales{}\nTYPE materialized\nDATASOURCE kept\n"
KEPT = "SCHEMA >\n    `id` UInt64\nENGINE MergeTree\nENGINE_SORTING_KEY id\n"
PROTECTED = "LIFE_CYCLE deletion_protected\n"
FIRST = {
    "sales.datasource": f"{SALES}ENGINE MergeTree\nENGINE_SORTING_KEY id\n{PROTECTED}",
    "kept.datasource": KEPT + PROTECTED,
    "to_kept.pipe": VIEW.format(""),
}
FORWARD = "FORWARD_QUERY >\n    SELECT * REPLACE (rand() AS id)\n"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("to_kept.pipe", VIEW.format(" WHERE id > 5"), "would be computed anew by `to_kept`"),
        ("kept.datasource", KEPT.replace("MergeTree", "ReplacingMergeTree") + PROTECTED, "would merge rows"),
        (
            "sales.datasource",
            FIRST["sales.datasource"] + FORWARD + "ENGINE_TTL at + INTERVAL 1 DAY\n",
            "changes together with its rows",
        ),
        (
            "sales.datasource",
            FIRST["sales.datasource"].replace("ENGINE MergeTree", "ENGINE Null").replace("ENGINE_SORTING_KEY id\n", "")
            + FORWARD,
            "changes together with its rows",
        ),
    ],
)
def test_what_others_may_ask_for_is_refused_too(file: str, text: str, said: str) -> None:
    sizes = {"sales": Size(1000, 10**6, 1), "kept": Size(1000, 10**6, 1)}
    errors = planned(FIRST, {**FIRST, file: text}, sizes, True).errors
    assert any(said in each.message for each in errors if each.code == "deletion-protected"), errors
    open_files = {path: each.replace(PROTECTED, "") for path, each in FIRST.items()}
    assert planned(open_files, {**open_files, file: text.replace(PROTECTED, "")}, sizes, True).errors == ()


def test_a_conversion_that_gives_defaults_fails_for_rows_that_do_not_fit() -> None:
    narrow = FIRST["sales.datasource"].replace("`text` String", "`text` Int8")
    forward = f"{narrow}FORWARD_QUERY >\n    SELECT * REPLACE (toInt8OrZero(text) AS text)\n"
    made = planned(FIRST, {**FIRST, "sales.datasource": forward}, {"sales": Size(1000, 10**6, 1)}, False)
    assert {check.kind for step in made.checks for check in step.checks} == {"fails"}
