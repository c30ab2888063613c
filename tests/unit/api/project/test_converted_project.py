"""Datafiles become Python and come back: every resource is the same, and what Python cannot say stays a datafile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock
from penstock.api.project.converted_project import convert_to_python
from penstock.api.project.python_form import is_same
from penstock.api.project.source_project import load_source_folder
from penstock.parse.project_loader import load_files, load_folder
from project_strategies import drafts, edits

EXAMPLES = Path(penstock.__file__).parent / "examples"
ODD = {
    "class.datasource": "DESCRIPTION >\n    Two\n    lines: 'x'\nTAGS a, b\nTOKEN t READ\n"
    "SCHEMA >\n    `id` UInt64 `json:$.i`,\n"
    "    `at` DateTime64(3) `json:$.at` DEFAULT now64(3) CODEC(ZSTD(1)),\n    `n` Nullable(Int32) `json:$.n`,\n"
    "    `e` Enum8('it\\'s' = 1) `json:$.e`\nENGINE ReplacingMergeTree\nENGINE_VER at\n"
    "ENGINE_SORTING_KEY id, toDate(at)\n"
    "ENGINE_PARTITION_KEY toYYYYMM(at)\nENGINE_TTL toDate(at) + INTERVAL 1 DAY\nBACKFILL skip\n"
    "LIFE_CYCLE deletion_protected\n",
    "shadow.datasource": "SCHEMA >\n    `_id` String,\n    `model_config` String\n",
    "into.pipe": "NODE n\nSQL >\n    SELECT _id, model_config FROM shadow\nTYPE materialized\nDATASOURCE shadow_copy\n",
    "shadow_copy.datasource": "SCHEMA >\n    `_id` String,\n    `model_config` String\n",
    "take.pipe": "NODE n\nSQL >\n    SELECT 1 AS id\nTYPE copy\nTARGET_DATASOURCE class\nCOPY_SCHEDULE 0 * * * *\n",
    "disk.connection": "TYPE file\n",
    "write.pipe": "DESCRIPTION >\n    D.\nNODE n\nSQL >\n    SELECT id, at FROM class\nTYPE sink\n"
    "EXPORT_CONNECTION_NAME disk\nEXPORT_BUCKET_URI file:///x\nEXPORT_FILE_TEMPLATE {id}/{at, '%Y'}\n"
    "EXPORT_STRATEGY @truncate\nEXPORT_SCHEDULE 0 * * * *\n",
    "former.pipe": "NODE n\nSQL >\n    SELECT id FROM class\nTYPE sink\nEXPORT_SERVICE file\n"
    "EXPORT_CONNECTION_NAME disk\nEXPORT_BUCKET_URI file:///y\nEXPORT_FILE_TEMPLATE {id}\n",
    "top.pipe": "TOKEN t READ\nNODE a\nSQL >\n    %\n    SELECT id\n    FROM class WHERE id > {{Int64(x, 1)}}\nNODE b\n"
    "SQL >\n    SELECT * FROM a\nTYPE endpoint\n",
    "nodes.pipe": "NODE a\nDESCRIPTION >\n    The first.\n\nSQL >\n    SELECT id\n    FROM class\nNODE b\n"
    "SQL >\n    SELECT * FROM a\n",
    "view.pipe": "DESCRIPTION >\n    A view.\nNODE n\nSQL >\n    SELECT id, 'a\\\\b' AS s FROM class\n",
}


def check_round_trip(files: dict[str, str], folder: Path) -> dict[str, str]:
    """Convert files, read the result, and compare every resource; the result is the files in Python."""
    made = convert_to_python(files)
    for path, text in made.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    read = load_source_folder(folder)
    before, back = load_files(files).project, read.loaded.project
    assert not read.loaded.errors
    assert back.names == before.names
    assert all(is_same(back.datasource(each.name), each) for each in before.datasources)
    assert all(is_same(back.pipe(each.name), each) for each in before.pipes)
    return made


@pytest.mark.parametrize(("name", "datafiles"), [("flights", 0), ("minimal", 0), ("web-analytics", 0)])
def test_examples_come_back(name: str, datafiles: int, tmp_path: Path) -> None:
    made = check_round_trip(dict(load_folder(EXAMPLES / name).files), tmp_path)
    assert sum(path.endswith((".datasource", ".pipe")) for path in made) == datafiles


def test_what_python_cannot_say_stays_a_datafile(tmp_path: Path) -> None:
    assert not load_files(ODD).errors
    made = check_round_trip(ODD, tmp_path)
    kept = ["disk.connection", "former.pipe", "into.pipe", "shadow.datasource", "shadow_copy.datasource"]
    assert sorted(made) == ["app/main.py", *kept]


def test_the_module_is_the_one_that_the_settings_name(tmp_path: Path) -> None:
    made = check_round_trip(
        {"penstock.toml": '[python]\nmodule = "a.b"\n', "t.datasource": "SCHEMA >\n    id String\n"}, tmp_path
    )
    assert sorted(made) == ["a/b.py", "penstock.toml"]


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_generated_projects_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    draft = data.draw(edits(data.draw(drafts())))
    check_round_trip(dict(draft.files), tmp_path_factory.mktemp("python"))
