"""Writes several files of a folder so that all are the new ones, or none is.

In: a folder and the new contents by relative path. Out: the files. Invariant: until their list is on disk each file is
the old one; from then on a killed run is finished by the next one, which knows by the list what the files were. A
file that somebody changed in between is never written over.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from penstock.errors import Conflict, Failed

LIST_FILE = ".penstock-edits.json"
_SUFFIX = ".penstock-new"


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write all files. Raises Failed if the disk takes none of them; then nothing is changed."""
    if not contents:
        return
    made: list[Path] = []
    try:
        for path, content in sorted(contents.items()):
            target = (folder / path).resolve()
            made.append(_beside(target))
            _write(made[-1], content)
            shutil.copymode(target, made[-1])
            _sync_folder(target.parent)
        listed = {path: [_digest((folder / path).read_bytes()), _digest(each)] for path, each in contents.items()}
        made.append(folder / f"{LIST_FILE}{_SUFFIX}")
        _write(made[-1], json.dumps(listed).encode())
        os.replace(made[-1], folder / LIST_FILE)
        _sync_folder(folder)
    except OSError as error:
        for each in made:
            with suppress(OSError):
                each.unlink()
        raise Failed(f"the files cannot be written, and are as they were: {error.strerror or error}") from error
    finish_files(folder)


def refuse_unfinished_files(folder: Path) -> None:
    """Raises Conflict where a run that was killed has written some of its files, and not yet the others."""
    if (folder / LIST_FILE).exists():
        raise Conflict(
            "edits of the project's files were begun and not finished: some files are new, and others as before",
            hint="`penstock migrations translate --to penstock` finishes them",
        )


def finish_files(folder: Path) -> tuple[str, ...]:
    """Finish what a killed run had listed; the files. Raises Conflict for one that was changed since, and Failed."""
    listed = folder / LIST_FILE
    try:
        files: dict[str, list[str]] = json.loads(listed.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise Failed(f"{listed} cannot be read: {error}", hint="it lists edits of files; remove it") from error
    for path, (before, after) in files.items():
        _refuse_changed(folder, path, before, after)
    try:
        for path in files:
            target = (folder / path).resolve()
            with suppress(FileNotFoundError):  # it has its name already
                os.replace(_beside(target), target)
            _sync_folder(target.parent)
        listed.unlink()
    except OSError as error:
        hint = "the next `penstock migrations translate` finishes it"
        raise Failed(f"not all files have their new text: {error.strerror or error}", hint=hint) from error
    return tuple(files)


def _refuse_changed(folder: Path, path: str, before: str, after: str) -> None:
    """Raises Conflict unless a file is the new one, or is as it was and has its new text beside it."""
    target = (folder / path).resolve()
    there = _content(target)
    if there is not None and _digest(there) == after:
        return
    text = _content(_beside(target))
    if there is None:
        what = f"{path} is gone, and edits of it were begun and not finished"
    elif _digest(there) != before:
        what = f"{path} was changed after edits of it were begun and not finished"
    elif text is None or _digest(text) != after:
        what = f"{path} is as it was before edits that were begun and not finished, and its new text is gone"
    else:
        return
    raise Conflict(what, hint=f"remove {LIST_FILE}, look at what git says, and translate again")


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _beside(target: Path) -> Path:
    return target.with_name(f".{target.name}{_SUFFIX}")


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """The lake has this function too; but commands run without the lake, which is part of the server."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
