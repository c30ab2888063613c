"""Random changes of random projects on real tables.

Each version has the rows it would have if it had been built from scratch over the same rows, and a staging version
never changes live.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from deploy.conftest import Running
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import InvalidProject
from project_strategies import Draft, DraftColumn, drafts, edits

EXAMPLES = int(os.environ.get("PENSTOCK_LAWS", "5"))
"""Each takes some 20 seconds; `PENSTOCK_LAWS=100 pytest tests/deploy/test_random_changes.py` looks further."""
LAWS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),  # to shrink would take hours; what fails is printed as files
    suppress_health_check=list(HealthCheck),
)
NUMBERS = itertools.count()
Row = Mapping[str, object]

VALUES: Mapping[str, st.SearchStrategy[object]] = {
    "Float32": st.sampled_from([0.5, 1.5, 2.25]),
    "String": st.sampled_from(["1", "2", "30"]),
    "DateTime": st.sampled_from(["2024-01-01 10:00:00", "2024-02-29 23:59:59"]),
    "Date": st.sampled_from(["2024-01-01", "2024-02-29"]),
}
"""Values that are the same text in every type that an edit can make of their column."""


@st.composite
def steps(draw: st.DrawFn) -> tuple[Draft, Draft, tuple[list[Row], ...]]:
    """A project, its next version, and rows for three moments."""
    before = draw(drafts())
    after = draw(edits(before))
    first, later = rows_for(before.columns), rows_for((*after.columns, *before.columns))
    return before, after, tuple(draw(st.lists(row, min_size=1, max_size=6)) for row in (first, later, later))


def rows_for(columns: Sequence[DraftColumn]) -> st.SearchStrategy[Row]:
    """Rows with a field for each column: one without is refused, unless there is a DEFAULT."""
    return st.fixed_dictionaries({each.path: VALUES.get(each.type, st.integers(0, 100)) for each in columns})


def named(draft: Draft, prefix: str) -> dict[str, str | None]:
    """The files with resources of names of their own."""
    word = re.compile(r"\b(events|by_\d|over_\d)(_mv)?\b")
    return {
        f"{prefix}/{word.sub(lambda found: f'{prefix}_{found[0]}', path)}": word.sub(
            lambda found: f"{prefix}_{found[0]}", text
        )
        for path, text in draft.files.items()
    }


def value(draft: Draft, column: DraftColumn, row: Row) -> str:
    """What a row has in a column: its field, else the DEFAULT, else the type's zero or NULL."""
    copied = next((each for each in draft.columns if each.path == column.copied), None)
    if column.path not in row and copied is not None:
        return value(draft, copied, row)
    return str(row.get(column.path, column.default or zero(column.type)))


def zero(of: str) -> str:
    """Of the types that a column can get which is added, and then edited once more."""
    if of.startswith("Nullable"):
        return "None"
    return "" if "String" in of else "0"


def truth(draft: Draft, rows: Sequence[Row], columns: Sequence[str] | None = None) -> dict[str, object]:
    """Every table of a project over the rows, computed here."""
    shown = [column for column in draft.columns if columns is None or column.name in columns]
    found: dict[str, object] = {"events": Counter(tuple(value(draft, column, row) for column in shown) for row in rows)}
    for number, view in enumerate(draft.views):
        of = Counter(value(draft, draft.column(view.column), row) for row in rows)
        found |= {f"by_{number}": of} | ({f"over_{number}": of} if view.rolled else {})
    return found


def tables(
    running: Running, draft: Draft, prefix: str, version: str, columns: Sequence[str] | None = None
) -> dict[str, object]:
    """The same as the pipeline has it, aggregate states finalized."""
    shown = [column.quoted for column in draft.columns if columns is None or column.name in columns]
    rows = running.ask(f"SELECT {', '.join(shown)} FROM {prefix}_events", version)
    found: dict[str, object] = {"events": Counter(tuple(map(str, row)) for row in rows)}
    for number, view in enumerate(draft.views):
        for name in (f"by_{number}", *([f"over_{number}"] if view.rolled else [])):
            counted = running.ask(f"SELECT key, countMerge(n) FROM {prefix}_{name} GROUP BY key", version)
            found[name] = Counter({str(key): int(n) for key, n in counted})  # type: ignore[call-overload]
    return found


def shown_files(before: Draft, after: Draft) -> str:
    """A failing pair as the files of a golden folder."""
    parts = [
        f"--- {folder}/{path}\n{text}"
        for folder, d in (("before", before), ("after", after))
        for path, text in d.files.items()
    ]
    return "\n".join(parts)


@pytest.mark.slow
@LAWS
@given(steps())
def test_a_version_has_what_it_would_have_from_scratch(
    running: Running, made: tuple[Draft, Draft, tuple[list[Row], ...]]
) -> None:
    before, after, rows = made
    note(shown_files(before, after))
    prefix = f"law{next(NUMBERS)}"
    events = f"{prefix}_events"
    assert running.deploy(named(before, prefix), destructive=True).state == "live"
    running.post(events, rows[0])
    gone = dict.fromkeys(named(before, prefix).keys() - named(after, prefix).keys())
    staged = running.deploy({**gone, **named(after, prefix)}, promote=False, destructive=True)
    seen = [*rows[0]]
    if staged.id:
        assert staged.state == "ready", staged.error
        assert moved_no_more_than_a_rebuild(staged.plan, len(rows[0]), len(after.views))
        running.post(events, rows[1])
        seen += rows[1]
        assert tables(running, before, prefix, "live") == truth(before, seen)
        assert tables(running, after, prefix, "staging") == truth(after, seen)
        running.promote()
        again = running.pipeline.deployer.deploy(running.files, DeployOptions(True, True, True, None))
        assert again.plan["changes"] == []
        running.post(events, rows[2])
        seen += rows[2]
        assert tables(running, after, prefix, "live") == truth(after, seen)
        running.rollback()
        assert tables(running, before, prefix, "live") == truth(before, seen)
        running.promote()
    back(running, before, after, prefix, seen)
    running.deploy({path: None for path in running.files if path.startswith(f"{prefix}/")}, destructive=True)


def back(running: Running, before: Draft, after: Draft, prefix: str, seen: Sequence[Row]) -> None:
    """The first version again: its answers, for all that was not destroyed on the way."""
    gone = dict.fromkeys(named(after, prefix).keys() - named(before, prefix).keys())
    try:
        returned = running.deploy({**gone, **named(before, prefix)}, destructive=True)
    except InvalidProject as error:
        refused = {problem.code for problem in error.problems if problem.level == "error"}
        if refused == {"needs-forward-query"}:
            return
        raise
    if returned.id:
        assert returned.state == "live", returned.error
    kept = [column.name for column in before.columns if column in after.columns]
    if len(kept) == len(before.columns):
        assert tables(running, before, prefix, "live") == truth(before, seen)
    elif kept:
        assert tables(running, before, prefix, "live", kept)["events"] == truth(before, seen, kept)["events"]


def moved_no_more_than_a_rebuild(plan: Mapping[str, object], rows: int, views: int) -> bool:
    """A rebuild copies the landing table and reads it, or what is above, for every view."""
    for each in plan["resources"]:  # type: ignore[attr-defined]
        if each["strategy"] in ("none", "in_place", "reuse", "bridge", "drop"):
            assert each["rows"] == 0
    return int(plan["rows_moved"]) <= rows * (1 + 2 * views)  # type: ignore[call-overload]
