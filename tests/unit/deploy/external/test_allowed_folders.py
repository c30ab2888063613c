"""Folders of this machine are read and written only where the settings say so, and a plan says it before."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.deploy.external.paths.allowed_folders import AllowedFolders, folder_warnings
from penstock.model.settings import ImportSettings, Settings, SinkSettings
from penstock.parse.project_loader import load_files

CONNECTION = {"disk.connection": "TYPE file\n", "s.connection": "TYPE s3\nS3_ACCESS_KEY k\nS3_SECRET s\n"}


def test_a_link_counts_as_where_it_leads(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "inside"
    for each in (inside, outside):
        each.mkdir()
    (inside / "link").symlink_to(outside)
    allowed = AllowedFolders((str(inside),))
    assert [allowed.hold(each) for each in (inside, inside / "a" / "b", inside / "link", outside, tmp_path)] == [
        True, True, False, False, False,
    ]  # fmt: skip
    assert AllowedFolders(("/",)).hold(outside)
    assert not AllowedFolders(()).hold(inside)


def warned(settings: Settings, **resources: str) -> list[str]:
    files = {name.replace("_", "."): text for name, text in resources.items()}
    loaded = load_files(CONNECTION | files)
    assert not loaded.errors
    return [f"{each.location.file if each.location else ''}: {each}" for each in folder_warnings(loaded, settings)]


def taken(place: str, connection: str = "disk") -> str:
    return f"SCHEMA >\n    a Int8\nIMPORT_CONNECTION_NAME {connection}\nIMPORT_BUCKET_URI {place}\n"


def written(place: str, connection: str = "disk") -> str:
    directives = f"EXPORT_CONNECTION_NAME {connection}\nEXPORT_BUCKET_URI {place}\nEXPORT_FILE_TEMPLATE all\n"
    return f"NODE n\nSQL >\n    SELECT 1 AS a\nTYPE sink\n{directives}"


def test_a_folder_that_the_settings_do_not_name_is_a_warning_at_its_place() -> None:
    [imported] = warned(Settings(), x_datasource=taken("file:///data/in/*.csv"))
    assert "x.datasource" in imported
    assert "`x` takes no files" in imported
    assert "/data/in" in imported
    [exported] = warned(Settings(), x_pipe=written("file:///data/a%20b"))
    assert "x.pipe" in exported
    assert "/data/a b" in exported


@pytest.mark.parametrize(
    ("place", "is_warned"),
    [
        ("file:///data/in/*.csv", False),
        ("file:///data/in/2026/**", False),
        ("file:///data/*/x.csv", True),
        ("file:///data/in/../out/*.csv", True),
        ("file:///data/in2/", True),
    ],
)
def test_where_files_are_taken_from(place: str, is_warned: bool) -> None:
    settings = Settings(imports=ImportSettings(("/data/in",)), sinks=SinkSettings(("/data/out",)))
    assert bool(warned(settings, x_datasource=taken(place))) is is_warned


def test_what_is_no_folder_of_this_machine_is_no_warning() -> None:
    buckets = {"x_datasource": taken("s3://b/*.csv", "s"), "y_pipe": written("s3://b/out", "s")}
    assert warned(Settings(), **buckets) == []
    assert warned(Settings(), y_pipe=written('{{ tb_secret("OUT") }}')) == []
    assert warned(Settings(sinks=SinkSettings(("/data",))), y_pipe=written("file:///data/out")) == []
