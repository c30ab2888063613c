"""What `penstock dev` says: text for people, or one JSON document a line.

In: plans, deployments and errors. Out: standard output. Invariant: a line of JSON is one document and nothing else is
printed beside them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from penstock.cli.commands.dev.folder_plan import FolderPlan
from penstock.cli.commands.dev.terminal import BottomLine
from penstock.cli.errors import report
from penstock.cli.json_documents import Json
from penstock.cli.output import console
from penstock.cli.plans.plan_output import print_plan
from penstock.errors import PenstockError
from penstock.redaction import CONTROL

MOST_FILES = 3


class DevPage(Protocol):
    """Where everything is said."""

    def plan(self, saved: Sequence[str], found: FolderPlan) -> None: ...

    def error(self, error: PenstockError) -> None: ...

    def made(self, made: Json, text: str) -> None: ...

    def note(self, text: str) -> None: ...


class TextPage:
    """Text, above the line at the bottom."""

    def __init__(self, bottom: BottomLine):
        self._bottom = bottom

    def plan(self, saved: Sequence[str], found: FolderPlan) -> None:
        """A plan under the time and the files that were saved."""
        with self._bottom.hidden():
            page = console()
            page.print(f"\n{datetime.now():%H:%M:%S} {_saved_text(saved)}{_against_text(found)}", markup=False)
            if found.error is not None:
                report(found.error)
            elif found.plan is None:
                page.print("the project has no problem", markup=False)
            else:
                print_plan(found.plan)

    def error(self, error: PenstockError) -> None:
        with self._bottom.hidden():
            report(error)

    def made(self, made: Json, text: str) -> None:
        with self._bottom.hidden():
            console().print(text, markup=False)

    def note(self, text: str) -> None:
        with self._bottom.hidden():
            console().print(text, style="dim", markup=False)


class JsonPage:
    """One document a line."""

    def plan(self, saved: Sequence[str], found: FolderPlan) -> None:
        """A plan, or the problems for which there is none."""
        head = {"event": "plan" if found.error is None else "problems", "saved": list(saved)}
        server = {"against": found.against, "deployment": found.deployment, "no_server": found.absence or None}
        body = {"plan": found.plan} if found.error is None else found.error.as_json()
        _print_line({**head, **server, **body})

    def error(self, error: PenstockError) -> None:
        _print_line({"event": "error", **error.as_json()})

    def made(self, made: Json, text: str) -> None:
        _print_line({"event": "made", "message": text, "made": made})

    def note(self, text: str) -> None:
        _print_line({"event": "note", "message": text})


def _print_line(document: Json) -> None:
    text = json.dumps(document, ensure_ascii=False)
    sys.stdout.write(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def _saved_text(saved: Sequence[str]) -> str:
    if not saved:
        return ""
    more = len(saved) - MOST_FILES
    others = f" and {more:,} more" if more > 0 else ""
    return f"{', '.join(saved[:MOST_FILES])}{others}: "


def _against_text(found: FolderPlan) -> str:
    if found.against == "live":
        return (
            f"the plan against deployment {found.deployment}, which is live" if found.deployment else "the first plan"
        )
    absence = f" ({found.absence})" if found.absence else ""
    if found.error is not None:
        return f"problems{absence}"
    last = "the plan against the version that loaded before" if found.against == "last" else "the first version"
    return f"{last}{absence}"
