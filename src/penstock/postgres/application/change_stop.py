"""Where consumers stop: the change of a table that a store carries out in the phase `at_lsn`.

In: forms of rows. Out: whether rows go on, wait, or come too late. Invariant: rows of a form behind the change wait
until the store has carried it out, and rows of a form before it are never stored after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Passage = Literal["goes", "waits", "late"]


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Where rows of one form stand in the log."""

    first: int
    """None of them was written before this LSN."""
    commits_from: int
    """None of them was committed before this LSN."""
    committed: int | None
    """All of them were committed by this LSN; None: not known."""


@dataclass(frozen=True, slots=True)
class ChangeStop:
    """The stop of one migration before one store."""

    store: str
    migration: str
    before: frozenset[str]
    """The forms of rows that the store takes until the change only."""
    after: frozenset[str]
    """The forms of rows that it takes from then on."""
    is_sure: bool
    """Whether no row behind the change can have passed: it was announced in time, and its forms tell."""
    is_done: bool = False
    """Whether the store has carried the change out."""
    reached: frozenset[str] = frozenset()
    """The consumers that stand at it, as CAPTURE/CONSUMER."""
    behind: int | None = None
    """An LSN from which on all rows are from behind the change, where a consumer found one: a later change may give
    rows a form again that they had before this one."""
    seen: int | None = None
    """An LSN at which Postgres was seen to have the change: rows that are committed from then on are from behind it, as
    Postgres changes no table that an open transaction has rows of."""
    announced: int | None = None
    """An LSN at which Postgres did not have the change: for forms that are known as those behind it only later."""
    since: Mapping[str, int] = field(default_factory=dict)
    """For forms behind the change an LSN at which Postgres did not have it: rows that were committed before that are
    from before the change. They had the form before an earlier change took it, and this one gives it back."""

    def passage(self, form: str, places: RowPlaces) -> Passage:
        """What becomes of rows of a form."""
        if not self.is_done:
            return "waits" if form in self.after and not self.is_behind_rows(form, places) else "goes"
        if self._is_behind(places):
            return "goes"
        return "late" if form in self.before and form not in self.after - self.before else "goes"

    def _is_behind(self, places: RowPlaces) -> bool:
        written = self.behind is not None and places.first >= self.behind
        return written or (self.seen is not None and places.commits_from >= self.seen)

    def is_behind_rows(self, form: str, places: RowPlaces) -> bool:
        """Whether rows of a form are known to be from before the change, and so from before every later one."""
        since = self.since.get(form, self.announced)
        return since is not None and places.committed is not None and places.committed < since


def stop_of(stops: Iterable[ChangeStop], form: str, places: RowPlaces) -> ChangeStop | None:
    """What keeps rows of a form from a store: the first change that is to be carried out before them;
    or the last one that was, if they come too late for it. The stops are in the order of their migrations."""
    concerned = [each for each in stops if form in each.after or form in each.before]
    for each in concerned:
        if each.passage(form, places) == "waits":
            return each
        if each.is_behind_rows(form, places):
            break
    done = [each for each in concerned if each.is_done]
    return done[-1] if done and done[-1].passage(form, places) == "late" else None
