"""Hypothesis strategies for small projects and for edits to them, as the files a user would write.

A `Draft` is a landing data source `events`, views over it and views over those; `edits` draws a draft with a few
changes. Every drawn draft parses and compiles, so laws of the planner can be tested on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from penstock.model.project import Project
from penstock.parse.project_loader import load_files

TYPES = {
    "UInt8": "UInt32",
    "UInt16": "Int64",
    "Int32": "Int64",
    "Float32": "Float64",
    "String": "LowCardinality(String)",
    "DateTime": "DateTime64(3)",
    "Date": "Date32",
}
"""Types of columns, and a wider one of each."""
COPIED = ("UInt8", "UInt16", "UInt32", "Int32", "Int64", "String")
"""Types whose values are the same text in every type that an edit can make of them."""
NAMES = ("c{}", "c-{}", "@c{}", "C{}", "ç{}")
"""Forms of names: plain ones, and some that a text search does not see whole or that have another case."""


@dataclass(frozen=True)
class DraftColumn:
    """`path` is the JSON path below `$.`; `former` a name that RENAMED_FROM gives; `copied` the path of another column
    whose value, as text, is the DEFAULT."""

    name: str
    type: str
    path: str
    default: str | None = None
    former: str | None = None
    copied: str | None = None

    @property
    def quoted(self) -> str:
        return f"`{self.name}`"

    def text(self, columns: Sequence[DraftColumn]) -> str:
        other = next((each for each in columns if each.path == self.copied), None)
        given = f"toString({other.quoted})" if other is not None else self.default
        default = f" DEFAULT {given}" if given else ""
        former = f" RENAMED_FROM `{self.former}`" if self.former else ""
        return f"`{self.name}` {self.type} `json:$.{self.path}`{default}{former}"


@dataclass(frozen=True)
class DraftView:
    """Counts the rows of each value of a column; `rolled` adds a view over this one."""

    column: str
    condition: str | None = None
    rolled: bool = False


@dataclass(frozen=True)
class Draft:
    """A project before it is text. `taken` are the columns of the version before: a new one that
    had the name of one that goes would be the same column with another type."""

    columns: tuple[DraftColumn, ...]
    sorting: str
    views: tuple[DraftView, ...] = ()
    forward: str | None = None
    description: str = ""
    taken: frozenset[str] = frozenset()

    def column(self, name: str) -> DraftColumn:
        return next(column for column in self.columns if column.name == name)

    @property
    def files(self) -> dict[str, str]:
        """The files of the project by path."""
        found = {"events.datasource": self._events()}
        for number, view in enumerate(self.views):
            found |= self._view(number, view)
        return found

    @property
    def project(self) -> Project:
        loaded = load_files(self.files)
        assert loaded.problems == (), [str(problem) for problem in loaded.problems]
        return loaded.project

    def _events(self) -> str:
        columns = ",\n    ".join(column.text(self.columns) for column in self.columns)
        forward = f"\nFORWARD_QUERY >\n    {self.forward}\n" if self.forward else ""
        described = f"DESCRIPTION {self.description}\n" if self.description else ""
        return f"{described}SCHEMA >\n    {columns}\n\nENGINE MergeTree\nENGINE_SORTING_KEY `{self.sorting}`\n{forward}"

    def _view(self, number: int, view: DraftView) -> dict[str, str]:
        of, condition = self.column(view.column).type, f" WHERE {view.condition}" if view.condition else ""
        select = f"SELECT `{view.column}` AS key, countState() AS n FROM events{condition} GROUP BY key"
        found = _target(f"by_{number}", of, select)
        if view.rolled:
            found |= _target(f"over_{number}", of, f"SELECT key, countMergeState(n) AS n FROM by_{number} GROUP BY key")
        return found


def _target(name: str, of: str, select: str) -> dict[str, str]:
    schema = f"SCHEMA >\n    `key` {of},\n    `n` AggregateFunction(count)\n"
    return {
        f"{name}.datasource": f"{schema}\nENGINE AggregatingMergeTree\nENGINE_SORTING_KEY key\n",
        f"{name}_mv.pipe": f"NODE counted\nSQL >\n    {select}\n\nTYPE materialized\nDATASOURCE {name}\n",
    }


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A project of one to four columns and up to three views."""
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    forms = draw(st.lists(st.sampled_from(NAMES), min_size=len(types), max_size=len(types)))
    names_and_types = enumerate(zip(forms, types, strict=True))
    columns = tuple(DraftColumn(form.format(number), of, f"p{number}") for number, (form, of) in names_and_types)
    names = st.sampled_from([column.name for column in columns])
    views = draw(st.lists(st.builds(DraftView, names, st.none(), st.booleans()), max_size=3))
    return Draft(columns, draw(names), tuple(views))


@st.composite
def edits(draw: st.DrawFn, draft: Draft) -> Draft:
    """The draft after one to three changes, or after one that needs a forward query."""
    taken = frozenset(column.name for column in draft.columns)
    columns = tuple(replace(each, former=None) for each in draft.columns)
    draft = replace(draft, forward=None, columns=columns, taken=taken)
    if draw(st.integers(0, 4)) == 0:
        return draw(_retype(draft))
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=3, unique=True)):
        draft = draw(edit(draft))
    return draft


@st.composite
def _add(draw: st.DrawFn, draft: Draft) -> Draft:
    name = _free(draft)
    of = draw(st.sampled_from(["Nullable(Int32)", "UInt8", "String"]))
    default = draw(st.sampled_from([None, "7"])) if of == "UInt8" else None
    others = [each.path for each in draft.columns if each.type in COPIED and each.copied is None]
    copied = draw(st.sampled_from([None, *others])) if of == "String" else None
    return replace(draft, columns=(*draft.columns, DraftColumn(name, of, name, default, None, copied)))


@st.composite
def _drop(draw: st.DrawFn, draft: Draft) -> Draft:
    copied = {column.copied for column in draft.columns}
    read = {view.column for view in draft.views} | {draft.sorting}
    read |= {column.name for column in draft.columns if column.path in copied}
    droppable = [column for column in draft.columns if column.name not in read]
    gone = draw(st.sampled_from(droppable)) if droppable else None
    return replace(draft, columns=tuple(column for column in draft.columns if column != gone))


@st.composite
def _rename(draw: st.DrawFn, draft: Draft) -> Draft:
    old, new = draw(_column(draft)), _free(draft)
    return _with(draft, old, replace(old, name=new, former=old.former or old.name))


@st.composite
def _widen(draw: st.DrawFn, draft: Draft) -> Draft:
    old = draw(_column(draft))
    return _with(draft, old, replace(old, type=TYPES.get(old.type, old.type)))


@st.composite
def _retype(draw: st.DrawFn, draft: Draft) -> Draft:
    """A lossy change of type, with its forward query."""
    old = draw(_column(draft))
    if old.type not in TYPES:
        return draft
    draft = _with(draft, old, replace(old, type="String" if old.type != "String" else "UInt32", default=None))
    convert = "toString" if old.type != "String" else "toUInt32OrZero"
    return replace(draft, forward=f"SELECT * REPLACE ({convert}({old.quoted}) AS {old.quoted})")


@st.composite
def _sort(draw: st.DrawFn, draft: Draft) -> Draft:
    keys = [column.name for column in draft.columns if not column.type.startswith("Nullable")]
    return replace(draft, sorting=draw(st.sampled_from(keys)))


@st.composite
def _view(draw: st.DrawFn, draft: Draft) -> Draft:
    if draft.views and draw(st.booleans()):
        changed = draw(st.integers(0, len(draft.views) - 1))
        views = list(draft.views)
        views[changed] = replace(views[changed], condition=f"`{views[changed].column}` = `{views[changed].column}`")
        return replace(draft, views=tuple(views))
    keys = [column.name for column in draft.columns if not column.type.startswith("Nullable")]
    return replace(draft, views=(*draft.views, DraftView(draw(st.sampled_from(keys)), None, draw(st.booleans()))))


@st.composite
def _remove_views(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, views=draft.views[: draw(st.integers(0, len(draft.views)))])


@st.composite
def _describe(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, description=draw(st.sampled_from(["one", "two"])))


EDITS = (_add, _drop, _rename, _widen, _sort, _view, _remove_views, _describe)


def _column(draft: Draft) -> st.SearchStrategy[DraftColumn]:
    return st.sampled_from(draft.columns)


def _free(draft: Draft) -> str:
    """A name, and a path, that no column has or had, in any form."""
    used = draft.taken | {name for column in draft.columns for name in (column.name, column.path, column.former)}
    free = (n for n in range(100) if not used & {f"p{n}", *(form.format(n) for form in NAMES)})
    return f"c{next(free)}"


def _with(draft: Draft, old: DraftColumn, new: DraftColumn) -> Draft:
    """One column replaced, under its new name wherever it is used."""
    return replace(
        draft,
        columns=tuple(new if column == old else column for column in draft.columns),
        sorting=new.name if draft.sorting == old.name else draft.sorting,
        views=tuple(
            replace(view, column=new.name, condition=None) if view.column == old.name else view for view in draft.views
        ),
    )
