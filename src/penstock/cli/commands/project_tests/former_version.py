"""A former version of a project: that of a commit of Git, or of another folder.

In: the project's folder, and the name of a commit or folder. Out: a folder with the former version, for as long as a
block runs. Invariant: neither the working tree nor the index of the repository is changed.
"""

from __future__ import annotations

import io
import posixpath
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.api.project.project_module import contains_project
from penstock.cli.commands.project_tests.fixtures import ENDINGS, PACKED
from penstock.errors import InvalidRequest, NotFound
from penstock.parse.project_files import SUFFIXES

PREFIX = "penstock-former-"
SECONDS = 120.0
_OF_A_PROJECT = ("", ".py", ".toml", *SUFFIXES, *ENDINGS, *PACKED)
"""How files and folders end that a project reads."""


@contextmanager
def former_version(project: Path, ref: str) -> Iterator[Path]:
    """The folder with the former version. Raises NotFound if there is no such commit or folder, or no project in it."""
    folder = Path(ref)
    if ref and folder.is_dir() and not _names_commit(project, ref):
        _require_project(folder, ref)
        yield folder
        return
    archive = _archive(project, ref)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as scratch, tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        made = Path(scratch) / "project"
        made.mkdir()
        _unpack(packed, made, ref)
        _require_project(made, ref)
        yield made


def _unpack(packed: tarfile.TarFile, folder: Path, ref: str) -> None:
    """Raises InvalidRequest for a link to what is not among the files, if the version may lack something without it."""
    members = packed.getmembers()
    names = {each.name for each in members}
    outside = [each for each in members if each.issym() and _target_of(each) not in names]
    for each in outside:
        if posixpath.splitext(each.name)[1] in _OF_A_PROJECT:
            message = f"`{each.name}` in `{ref}` is a link to `{each.linkname}`, out of the project's folder"
            raise InvalidRequest(
                message, hint="name a folder that has the former version, such as one of `git worktree`"
            )
    kept = [each for each in members if each not in outside]
    if sys.version_info >= (3, 12):
        packed.extractall(folder, members=kept, filter="data")
    else:
        packed.extractall(folder, members=kept)


def _target_of(link: tarfile.TarInfo) -> str:
    """Where a link leads to; outside of the archive it is the name of no member."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(link.name), link.linkname))


def _archive(project: Path, ref: str) -> bytes:
    """The files of the project's folder in a commit, as a tar."""
    if not _names_commit(project, ref):
        reason = _git(project, "rev-parse", "--is-inside-work-tree").stderr.decode(errors="replace").strip()
        hint = reason or "`git log` shows the commits; a folder with a former version will do, too"
        raise NotFound(f"there is no commit `{ref}` and no folder of this name", hint=hint)
    done = _git(project, "archive", "--format=tar", ref)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise NotFound(f"the project is not in `{ref}`", hint=said[-1] if said else None)
    return done.stdout


def _names_commit(project: Path, ref: str) -> bool:
    if ref.startswith("-"):  # Git would read an option
        return False
    return _git(project, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}").returncode == 0


def _git(project: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        command = ["git", "-C", str(project), *arguments]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
    except FileNotFoundError:
        return subprocess.CompletedProcess(arguments, 127, b"", b"git is not installed; name a folder instead")
    except subprocess.TimeoutExpired:
        raise InvalidRequest(f"git took longer than {SECONDS:.0f} s") from None


def _require_project(folder: Path, ref: str) -> None:
    if not contains_project(folder):
        raise NotFound(f"there are no datafiles in `{ref}`", hint="name a commit or a folder that has the project")
