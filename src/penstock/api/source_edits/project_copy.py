"""A copy of a project's folder with other texts for some of its files, to be read once.

In: the folder and the other texts. Out: the project as read. Invariant: nothing of the folder is written; large and
hidden things of it are links, so that what the Python of the project reads is where it was.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.parse.project_files import VIRTUAL_ENVIRONMENT

_LINKED = ("node_modules", "__pycache__", "site-packages")
_COPIED = (".py", ".datasource", ".pipe", ".connection", ".toml")


def read_with(folder: Path, contents: Mapping[str, bytes]) -> SourceProject:
    """The project of a folder with other contents of these files."""
    with tempfile.TemporaryDirectory(prefix="penstock-edit-") as scratch:
        copy = Path(scratch).resolve() / "project"
        _copy(folder, copy)
        for path, content in contents.items():
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            (copy / path).write_bytes(content)
        return load_source_folder(copy)


def _copy(folder: Path, to: Path) -> None:
    to.mkdir()
    with os.scandir(folder) as entries:
        for each in entries:
            target = to / each.name
            if each.is_dir() and not each.is_symlink() and not _is_linked(Path(each.path)):
                _copy(Path(each.path), target)
            elif each.is_file() and each.name.endswith(_COPIED):
                shutil.copyfile(each.path, target)
            elif each.is_dir() or each.is_file():
                target.symlink_to(Path(each.path).resolve())


def _is_linked(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _LINKED or (folder / VIRTUAL_ENVIRONMENT).exists()
