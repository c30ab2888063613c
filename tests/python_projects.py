"""Python projects of tests: their files written into a folder and read as the commands read it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.errors import Problem

HEAD = """\
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, Literal, Optional
from uuid import UUID
from pydantic import BaseModel, Field
from penstock import *
"""
"""The imports of every module; the first line after them is line 9."""


def write_project(folder: Path, main: str, **more: str) -> Path:
    """A project with `app/main.py` and further files, by the path with __ for / and no ending."""
    files = {
        "app/main.py": HEAD + dedent(main),
        **{f"{name.replace('__', '/')}.py": text for name, text in more.items()},
    }
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "penstock.toml").touch()
    return folder


def read_project(folder: Path, main: str, **more: str) -> SourceProject:
    return load_source_folder(write_project(folder, main, **more))


def problems_of(read: SourceProject) -> list[Problem]:
    """All problems, with their places in Python."""
    return list(read.places.problems(read.loaded.problems))


def shown(read: SourceProject) -> list[str]:
    """All problems as people see them, without the hints."""
    return [f"{each.location}: {each.message}" for each in problems_of(read)]
