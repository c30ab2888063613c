"""The files of a project as they are deployed for its tests: nothing starts by itself, and nothing leads outside.

In: datafiles by path. Out: the same files without schedules, topics and imports. Invariants: every line stays in its
place, so that problems name the user's lines; what runs on demand can still be run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_SCHEDULE = re.compile(r"(?im)^([ \t]*)(COPY_SCHEDULE|EXPORT_SCHEDULE)\b[^\n]*$")
_SOURCE_OUTSIDE = re.compile(r"(?im)^[ \t]*(KAFKA|IMPORT)_[A-Z_]+\b[^\n]*$")


def seal_files(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a throw-away environment."""
    return {path: _seal(path, text) for path, text in files.items()}


def _seal(path: str, text: str) -> str:
    if path.endswith(".pipe"):
        return _SCHEDULE.sub(r"\1\2 @on-demand", text)
    if path.endswith(".datasource"):
        return _SOURCE_OUTSIDE.sub("", text)
    return text
