from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from penstock.cli.commands.project_tests.former_version import former_version
from penstock.errors import InvalidRequest, NotFound


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.email=a@example.com", "-c", "user.name=a")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that is a folder of its repository; its latest version is not committed."""
    folder = tmp_path / "repository/pipeline"
    folder.mkdir(parents=True)
    (tmp_path / "repository/README.md").write_text("of the repository")
    (folder / "t.datasource").write_text("SCHEMA >\n    a Int8\n")
    git(folder.parent, "init", "-q", "-b", "main")
    git(folder, "add", "-A", ":/")
    git(folder, "commit", "-q", "-m", "first")
    git(folder, "tag", "v1")
    (folder / "t.datasource").write_text("SCHEMA >\n    a Int64\n")
    return folder


@pytest.mark.parametrize("ref", ["HEAD", "main", "v1", "v1^{commit}"])
def test_the_project_of_a_commit_without_a_change_of_the_working_tree(project: Path, ref: str) -> None:
    with former_version(project, ref) as folder:
        assert [path.name for path in folder.iterdir()] == ["t.datasource"]
        assert "Int8" in (folder / "t.datasource").read_text()
        assert "Int64" in (project / "t.datasource").read_text()
    assert not folder.exists()


def test_a_folder_is_a_version(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "t.datasource").write_text("SCHEMA >\n    a Int16\n")
    with former_version(project, str(other)) as folder:
        assert folder == other
    assert other.exists()


@pytest.mark.parametrize("ref", ["v2", "--output=x", "", "HEAD:pipeline"])
def test_what_is_no_version_is_refused(project: Path, ref: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.parent.parent)
    with pytest.raises(NotFound), former_version(project, ref):
        pass
    assert not (project / "x").exists()


def test_a_commit_without_the_project_is_refused(project: Path) -> None:
    new = project.parent / "new"
    new.mkdir()
    (new / "t.datasource").write_text("SCHEMA >\n    a Int8\n")
    with pytest.raises(NotFound, match="the project is not in `v1`"), former_version(new, "v1"):
        pass


def test_links_within_the_project_are_kept(project: Path) -> None:
    (project / "fixtures").mkdir()
    (project / "fixtures/t.ndjson").symlink_to("../rows.ndjson")
    (project / "rows.ndjson").write_text('{"a": 1}\n')
    (project / "NOTES.md").symlink_to("../README.md")
    git(project, "add", "-A", ":/")
    git(project, "commit", "-q", "-m", "links")
    with former_version(project, "HEAD") as folder:
        assert (folder / "fixtures/t.ndjson").read_text() == '{"a": 1}\n'
        assert not (folder / "NOTES.md").is_symlink()


@pytest.mark.parametrize("target", ["../../shared/u.datasource", "/etc/u.datasource", "none.datasource"])
def test_a_link_out_of_the_project_is_named(project: Path, target: str) -> None:
    (project / "u.datasource").symlink_to(target)
    git(project, "add", "-A", ":/")
    git(project, "commit", "-q", "-m", "link")
    with pytest.raises(InvalidRequest) as raised, former_version(project, "HEAD"):
        pass
    assert raised.value.message == f"`u.datasource` in `HEAD` is a link to `{target}`, out of the project's folder"


def test_a_project_in_no_repository_can_only_have_a_folder(tmp_path: Path) -> None:
    (tmp_path / "t.datasource").write_text("SCHEMA >\n    a Int8\n")
    with pytest.raises(NotFound, match="no commit `v1` and no folder"), former_version(tmp_path, "v1"):
        pass
