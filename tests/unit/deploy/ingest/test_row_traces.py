"""Copies take rows of a data source to places where deleting them does not reach."""

from __future__ import annotations

from penstock.deploy.ingest.row_traces import CopiedRows, find_copied_rows
from penstock.parse.project_loader import load_files

SOURCE = "SCHEMA >\n    `page` String\nENGINE MergeTree\n"


def copy(sql: str, target: str, mode: str = "append") -> str:
    return f"NODE n\nSQL {sql}\nTYPE copy\nTARGET_DATASOURCE {target}\nCOPY_MODE {mode}\n"


def test_copies_are_followed_through_views_pipes_and_other_copies() -> None:
    project = load_files(
        {
            **{f"{name}.datasource": SOURCE for name in ("hits", "pages", "shots", "late", "of_shots", "other", "own")},
            "to_pages.pipe": "NODE n\nSQL SELECT page FROM hits\nTYPE materialized\nDATASOURCE pages\n",
            "top.pipe": "NODE n\nSQL SELECT page FROM pages LIMIT 9\nTYPE endpoint\n",
            "snap.pipe": copy("SELECT page FROM top", "shots"),
            "to_late.pipe": "NODE n\nSQL SELECT page FROM shots\nTYPE materialized\nDATASOURCE late\n",
            "again.pipe": copy("SELECT page FROM late", "of_shots", "replace"),
            "aside.pipe": copy("SELECT page FROM other", "own"),
        }
    ).project
    found = (CopiedRows("of_shots", "again", "replace"), CopiedRows("shots", "snap", "append"))
    assert find_copied_rows(project, "hits") == found
    assert find_copied_rows(project, "of_shots") == ()
