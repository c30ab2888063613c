"""Files that are written together: a run that ends anywhere leaves all old ones, or what the next run finishes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.api.source_edits.file_changes import LIST_FILE, finish_files, refuse_unfinished_files, write_files
from penstock.cli.main import run
from penstock.errors import Conflict, Failed

OLD = {"a.py": b"old a\r\n", "app/b.py": b"old b", "c.pipe": b"old c"}
NEW = {path: content.replace(b"old", b"new") for path, content in OLD.items()}
CALLS = ("fsync", "replace", "unlink")


class Killed(BaseException):
    """The process ends here; nothing of it runs any more."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, content in OLD.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(content)
    (tmp_path / "a.py").chmod(0o640)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def failing(monkeypatch: pytest.MonkeyPatch, at: int, error: BaseException) -> Callable[[], int]:
    """Let the call of this number fail that reaches the disk; the number of calls so far."""
    count = 0

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == at or (count > at and isinstance(error, Killed)):
                raise error
            return real(*arguments, **options)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return lambda: count


def test_all_are_written_with_their_modes(folder: Path) -> None:
    write_files(folder, NEW)
    assert contents(folder) == NEW
    refuse_unfinished_files(folder)
    assert (folder / "a.py").stat().st_mode & 0o777 == 0o640


def test_a_kill_at_each_call_leaves_old_files_or_what_the_next_run_finishes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    for at in range(1, 100):
        with monkeypatch.context() as patch:
            calls = failing(patch, at, Killed())
            with suppress(Killed):
                write_files(folder, NEW)
            if calls() < at:
                break
        before = {path: each for path, each in contents(folder).items() if path in OLD}
        finish_files(folder)
        after = contents(folder)
        assert {path: after[path] for path in OLD} in (OLD, NEW)
        assert LIST_FILE not in after
        seen.add("old" if after["a.py"] == OLD["a.py"] else "finished" if before != NEW else "new")
        for path, content in OLD.items():
            (folder / path).write_bytes(content)
    assert seen >= {"old", "finished"}
    assert at > 8, "the calls were reached"


def test_a_full_disk_changes_nothing_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        failing(patch, 3, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(Failed, match="are as they were: No space left"):
            write_files(folder, NEW)
    assert contents(folder) == OLD


@pytest.fixture
def half_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder after a kill: a.py is new, the others are not."""
    real = os.replace

    def replace(source: str | Path, target: str | Path) -> None:
        if Path(target).name == "b.py":
            raise Killed
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            write_files(folder, NEW)
    assert (folder / "a.py").read_bytes() == NEW["a.py"]
    return folder


def test_a_file_that_was_changed_since_is_not_written_over(half_written: Path) -> None:
    (half_written / "c.pipe").write_bytes(b"mine")
    with pytest.raises(Conflict, match=r"c\.pipe was changed"):
        finish_files(half_written)
    assert contents(half_written)["c.pipe"] == b"mine"
    with pytest.raises(Conflict, match="begun and not finished"):
        refuse_unfinished_files(half_written)
    (half_written / "c.pipe").write_bytes(OLD["c.pipe"])
    assert set(finish_files(half_written)) == {*NEW}
    assert contents(half_written) == NEW


def put_back(folder: Path) -> None:
    """As `git checkout` does."""
    (folder / "a.py").write_bytes(OLD["a.py"])


def clean(folder: Path) -> None:
    """As `git clean` does, but for the list."""
    for each in folder.rglob("*.penstock-new"):
        each.unlink()


def cut_off(folder: Path) -> None:
    (folder / ".c.pipe.penstock-new").write_bytes(b"new")


def remove(folder: Path) -> None:
    (folder / "c.pipe").unlink()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put_back, r"a\.py is as it was .* its new text is gone"),
        (clean, r"app/b\.py is as it was .* its new text is gone"),
        (cut_off, r"c\.pipe is as it was .* its new text is gone"),
        (remove, r"c\.pipe is gone"),
    ],
)
def test_files_that_cannot_be_finished_stay_half_written_and_say_so(
    half_written: Path, change: Callable[[Path], None], reason: str
) -> None:
    change(half_written)
    before = contents(half_written)
    with pytest.raises(Conflict, match=reason):
        finish_files(half_written)
    assert contents(half_written) == before
    with pytest.raises(Conflict, match="begun and not finished"):
        refuse_unfinished_files(half_written)


@pytest.mark.parametrize("command", [("deploy", "--check"), ("check",)])
def test_a_folder_with_unfinished_edits_is_neither_deployed_nor_sound(
    command: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "penstock.toml").write_text("")
    (folder / LIST_FILE).write_text("{}")
    monkeypatch.chdir(folder)
    assert run([*command]) != 0
    assert "begun and not finished" in " ".join(capsys.readouterr().err.split())
