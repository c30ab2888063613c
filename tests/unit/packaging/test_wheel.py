"""The wheel holds everything a user needs, and works where there is nothing else of this folder."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from wheel_environment import ROOT, WheelEnvironment, make_environment

EXAMPLES = ("flights", "flights-v2", "minimal", "web-analytics")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    return make_environment(tmp_path_factory.mktemp("wheel"))


def test_the_wheel_holds_every_file_of_the_package(installed: WheelEnvironment) -> None:
    source = ROOT / "src"
    there = {
        path.relative_to(source).as_posix()
        for path in (source / "penstock").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(installed.wheel) as archive:
        names = set(archive.namelist())
        about = next(name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(about).decode()
    assert {name for name in names if ".dist-info/" not in name} == there
    assert {"jars/durable-files.jar", "jars/text-functions.jar"} <= {
        name.removeprefix("penstock/lake/spark/") for name in names
    }
    assert "penstock/state/migrations/env.py" in names
    assert {f"penstock/examples/{name}/penstock.toml" for name in EXAMPLES} <= names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert "Requires-Dist: pyspark" in metadata
    assert "Provides-Extra: postgres" in metadata


def test_an_empty_folder_becomes_a_sound_project(installed: WheelEnvironment, tmp_path: Path) -> None:
    where = installed.run("python", "-c", "import penstock; print(penstock.__file__)", folder=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(installed.programs.parent), "the source of the tests is not used"
    made = installed.run("penstock", "init", "shop", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    checked = installed.run("penstock", "check", "shop", "--output", "json", folder=tmp_path)
    assert json.loads(checked.stdout)["ok"], checked.stdout


def test_the_state_store_is_made_by_the_migrations_of_the_wheel(installed: WheelEnvironment, tmp_path: Path) -> None:
    script = (
        "from penstock.state.database import open_database; open_database('sqlite:///state.db').close(); print('made')"
    )
    made = installed.run("python", "-c", script, folder=tmp_path)
    assert made.stdout.strip() == "made", made.stderr
