"""docs/python-reference.md is what the docstrings say, and its examples are one sound project."""

from __future__ import annotations

from doctest import DocTest, DocTestRunner
from pathlib import Path

from scripts.python_docs import PAGE, PREAMBLE, page, public_names

from penstock.api.objects.declarations import DECLARED
from penstock.api.project.source_project import load_source_folder
from penstock.plan.project_check import check_loaded

CONNECTION = """TYPE s3
S3_REGION eu-central-1
S3_ACCESS_KEY {{ tb_secret("S3_KEY") }}
S3_SECRET {{ tb_secret("S3_SECRET") }}
"""


def test_the_page_is_what_the_docstrings_say() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "`python scripts/python_docs.py` writes it anew"


def test_every_public_name_is_explained_and_has_an_example() -> None:
    assert [each.name for each in public_names() if not each.text or not each.examples] == []


def test_the_examples_give_what_they_say() -> None:
    declared = list(DECLARED)
    try:
        names: dict[str, object] = {}
        exec(PREAMBLE, names)  # the lines at the head of the page
        for each in public_names():
            test = DocTest(list(each.examples), names, each.name, None, 0, None)
            assert DocTestRunner().run(test).failed == 0, each.name
    finally:
        DECLARED[:] = declared


def test_the_examples_are_a_project(tmp_path: Path) -> None:
    lines = [example.source for each in public_names() for example in each.examples]
    (tmp_path / "app").mkdir()
    (tmp_path / "app/main.py").write_text(PREAMBLE + "\n".join(lines), encoding="utf-8")
    (tmp_path / "penstock.toml").touch()
    (tmp_path / "lake.connection").write_text(CONNECTION, encoding="utf-8")
    read = load_source_folder(tmp_path)
    found = [*read.loaded.problems, *check_loaded(read.loaded).problems]
    assert {each.message for each in found} == {"INDEXES have no effect here: tables have statistics of their own"}
