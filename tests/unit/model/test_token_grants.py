"""TOKEN lines as scopes."""

from __future__ import annotations

from penstock.model.project import collect_grants
from penstock.parse.project_loader import load_files

FILES = {
    "events.datasource": 'TOKEN tracker APPEND\nTOKEN "board" READ\nSCHEMA >\n    `id` UInt64 `json:$.id`\n',
    "top.pipe": "TOKEN board READ\nNODE top\nSQL >\n    SELECT count() AS rows FROM events\nTYPE endpoint\n",
}


def test_each_line_is_a_scope_of_its_resource() -> None:
    project = load_files(FILES).project
    assert collect_grants(project) == {"tracker": ("append:events",), "board": ("read:events", "read:top")}


def test_a_project_without_token_lines_grants_nothing() -> None:
    without = {
        path: "\n".join(line for line in text.split("\n") if "TOKEN" not in line) for path, text in FILES.items()
    }
    assert collect_grants(load_files(without).project) == {}
