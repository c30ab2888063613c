"""What the user says of a store's views for a migration: the file STORE/ID.json in the folder of migrations.

In: the folder and the name of the store. Out: `ViewChoices`, or located problems. Invariant: without a file nothing is
chosen; the views that the command line names are chosen too.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InvalidProject, Location, Problem, did_you_mean
from penstock.postgres.migration.json_places import JsonPlaces
from penstock.postgres.translation.clickhouse.draft import ViewChoices

_KEYS = ("follow", "views")


@dataclass(frozen=True, slots=True)
class StoreViews:
    """The files of one store."""

    folder: Path
    store: str
    named: Collection[str] = ()
    """The views that the command line names."""

    def of(self, migration: str) -> ViewChoices:
        """The choices for a migration. Raises InvalidProject."""
        path = self.folder / self.store / f"{migration}.json"
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ViewChoices(frozenset(self.named))
        except (OSError, UnicodeDecodeError) as error:
            raise _invalid(f"the file cannot be read: {error}", Location(str(path))) from error
        return self._parsed(text, f"{self.folder.name}/{self.store}/{migration}.json")

    def _parsed(self, text: str, file: str) -> ViewChoices:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            place = Location(file, getattr(error, "lineno", 1), getattr(error, "colno", 1))
            raise _invalid(f"this is no JSON: {error}", place) from None
        places = JsonPlaces(file, text)
        if not isinstance(document, dict):
            raise _invalid("this must be an object with follow or views", places.at())
        unknown = next((each for each in document if each not in _KEYS), None)
        if unknown is not None:
            raise _invalid(f"`{unknown}` is unknown here", places.at(unknown), did_you_mean(unknown, _KEYS))
        follow, views = document.get("follow", []), document.get("views", {})
        if not isinstance(follow, list) or not all(isinstance(each, str) for each in follow):
            raise _invalid("`follow` must be a list of names of views", places.at("follow"))
        if not isinstance(views, dict) or not all(isinstance(each, str) for each in views.values()):
            raise _invalid("`views` must be queries by the names of views", places.at("views"))
        return ViewChoices(frozenset({*follow, *self.named}), views)


def _invalid(message: str, place: Location, hint: str | None = None) -> InvalidProject:
    hint = hint or 'such as {"follow": ["by_title"], "views": {"by_day": "SELECT …"}}'
    return InvalidProject("the choices of a store have a problem", [Problem("invalid-migration", message, place, hint)])
