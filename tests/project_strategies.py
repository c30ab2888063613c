"""Hypothesis strategies for small projects and for edits to them, as the files a user would write.

A `Draft` is a landing data source `events`, views over it and views over those, and a dimension `dim` that views
join or sample; `edits` draws a draft with a few changes. Every drawn draft parses and compiles, so laws of the planner
can be tested on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from hypothesis import strategies as st

from penstock.model.project import Project
from penstock.parse.project_loader import load_files

PLACE = "Tuple(lat Float64, lon Float64)"
TYPES = {
    PLACE: "Tuple(lon Float64, alt Float32, lat Float64)",
    "UInt8": "UInt32",
    "UInt16": "Int64",
    "UInt32": "UInt64",
    "Int32": "Int64",
    "Float32": "Float64",
    "String": "LowCardinality(String)",
    "DateTime": "DateTime64(3)",
    "Date": "Date32",
}
"""Types of columns, and a wider one of each."""
KINDS = ("counted", "spark", "natural", "sampled")
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

    @property
    def is_tuple(self) -> bool:
        return self.type.startswith("Tuple")

    @property
    def is_key(self) -> bool:
        """Whether rows can be sorted by it."""
        return not self.is_tuple and not self.type.startswith("Nullable")

    @property
    def key(self) -> str:
        """What a view counts by."""
        return f"{self.quoted}.lat" if self.is_tuple else self.quoted

    @property
    def key_text(self) -> str:
        return f"toString({self.key})"

    def text(self, columns: Sequence[DraftColumn]) -> str:
        other = next((each for each in columns if each.path == self.copied), None)
        given = f"toString({other.quoted})" if other is not None else self.default
        default = f" DEFAULT {given}" if given else ""
        former = f" RENAMED_FROM `{self.former}`" if self.former else ""
        return f"`{self.name}` {self.type} `json:$.{self.path}`{default}{former}"


@dataclass(frozen=True)
class DraftView:
    """Counts the rows of each value of a column (of a tuple, of its `lat`); `rolled` adds a view over this one.

    Those of another kind have a row for each: "spark" in that dialect, where the column's name has another case;
    "natural" with the label of each row of `dim` that a natural join finds; "sampled" if `dim` has the value in a half
    of its rows.
    """

    column: str
    condition: str | None = None
    rolled: bool = False
    kind: Literal["counted", "spark", "natural", "sampled"] = "counted"
    label: str = "0"
    """What makes the names of its pipe and its target its own."""
    pipe: str = "mv"
    """The end of the name of its pipe."""
    is_split: bool = False
    """Two pipes write its rows, each a part of them."""

    @property
    def target(self) -> str:
        return f"by_{self.label}"

    @property
    def roll(self) -> str:
        """The target of the view over this one."""
        return f"over_{self.label}"


@dataclass(frozen=True)
class DraftDimension:
    """The data source `dim`: its first column has the name of one of `events`; the `second`, if there is one, too."""

    first: DraftColumn
    sampling: Literal["k", "other"] = "k"
    second: DraftColumn | None = None

    @property
    def text(self) -> str:
        shared = [f"{each.quoted} {each.type} `json:$.{each.path}`" for each in (self.first, self.second) if each]
        own = ["label String `json:$.label`", "k UInt64 `json:$.k`", "other UInt64 `json:$.other`"]
        key = f"ENGINE_SORTING_KEY {self.sampling}\nENGINE_SAMPLING_KEY {self.sampling}\n"
        return f"SCHEMA >\n    {', '.join([*shared, *own])}\n\nENGINE MergeTree\n{key}"


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
    renamed: frozenset[tuple[str, str | None]] = frozenset()
    """Names and former names in the version before: the same RENAMED_FROM again would be left over from it."""
    engine: Literal["MergeTree", "Null"] = "MergeTree"
    dim: DraftDimension | None = None

    def column(self, name: str) -> DraftColumn:
        return next(column for column in self.columns if column.name == name)

    @property
    def files(self) -> dict[str, str]:
        """The files of the project by path."""
        found = {"events.datasource": self._events()}
        found |= {"dim.datasource": self.dim.text} if self.dim else {}
        for view in self.views:
            found |= self._view(view)
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
        key = f"ENGINE_SORTING_KEY `{self.sorting}`\n" if self.engine != "Null" else ""
        return f"{described}SCHEMA >\n    {columns}\n\nENGINE {self.engine}\n{key}{forward}"

    def _view(self, view: DraftView) -> dict[str, str]:
        column = self.column(view.column)
        of = "Float64" if column.is_tuple else column.type
        schema, engine = f"`key` {of},\n    `n` AggregateFunction(count)", "AggregatingMergeTree"
        if view.kind != "counted":
            schema, engine = "key String,\n    n Int64", "MergeTree"
        dialect = "clickhouse" if view.kind in ("counted", "sampled") else "spark"
        found = _target(view.target, schema, engine)
        for number, part in enumerate(self._parts(view)):
            end = f"{view.pipe}{number + 1 if number else ''}"
            found |= _pipe(f"{view.target}_{end}", self._select(view, part), view.target, dialect)
        if view.rolled:
            select = f"SELECT key, countMergeState(n) AS n FROM {view.target} GROUP BY key"
            found |= _target(view.roll, schema, engine)
            found |= _pipe(f"{view.roll}_mv", select, view.roll, "clickhouse")
        return found

    def _parts(self, view: DraftView) -> tuple[str, ...]:
        """The WHERE of each pipe of a view."""
        conditions = [view.condition] if view.condition else []
        text = self.column(view.column).key_text if view.kind == "counted" else f"CAST(`{view.column}` AS STRING)"
        parts = [[*conditions, f"{text} {sign} '1'"] for sign in ("=", "!=")] if view.is_split else [conditions]
        return tuple(f" WHERE {' AND '.join(part)}" if part else "" for part in parts)

    def _select(self, view: DraftView, condition: str) -> str:
        name = view.column
        match view.kind:
            case "counted":
                key = self.column(name).key
                return f"SELECT {key} AS key, countState() AS n FROM events{condition} GROUP BY key"
            case "natural":
                return f"SELECT label AS key, CAST(1 AS BIGINT) AS n FROM events NATURAL JOIN dim{condition}"
            case "sampled":
                assert self.dim is not None
                chosen = f"(SELECT toString({self.dim.first.quoted}) FROM dim SAMPLE 1/2)"
                below = f"SELECT toString(`{name}`) AS x FROM events WHERE toString(`{name}`) IN {chosen}"
                below += f" AND {view.condition}" if view.condition else ""
                return f"SELECT x AS key, toInt64(1) AS n FROM ({below})"
            case _:
                other = "".join(each.swapcase() if each.isascii() else each for each in name)
                return f"SELECT CAST(`{other}` AS STRING) AS key, CAST(1 AS BIGINT) AS n FROM events{condition}"


def _target(name: str, columns: str, engine: str) -> dict[str, str]:
    return {f"{name}.datasource": f"SCHEMA >\n    {columns}\n\nENGINE {engine}\nENGINE_SORTING_KEY key\n"}


def _pipe(name: str, select: str, target: str, dialect: str) -> dict[str, str]:
    text = f"DIALECT {dialect}\n\nNODE chosen\nSQL >\n    {select}\n\nTYPE materialized\nDATASOURCE {target}\n"
    return {f"{name}.pipe": text}


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    """A project of one to four columns and up to three views; the first column is no tuple."""
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=4))
    types[0] = types[0] if types[0] != PLACE else "String"
    forms = draw(st.lists(st.sampled_from(NAMES), min_size=len(types), max_size=len(types)))
    names_and_types = enumerate(zip(forms, types, strict=True))
    columns = tuple(DraftColumn(form.format(number), of, f"p{number}") for number, (form, of) in names_and_types)
    sorting = draw(st.sampled_from([column.name for column in columns if column.is_key]))
    draft = Draft(columns, sorting, engine=draw(st.sampled_from(("MergeTree",) * 4 + ("Null",))))
    if draw(st.booleans()):
        draft = replace(draft, dim=DraftDimension(replace(columns[0], path="c")))
    for _ in range(draw(st.integers(0, 3))):
        draft = replace(draft, views=(*draft.views, draw(_new_view(draft))))
    return draft


@st.composite
def _new_view(draw: st.DrawFn, draft: Draft) -> DraftView:
    kinds = KINDS if draft.dim is not None else KINDS[:2]
    kind = draw(st.sampled_from(("counted", *kinds)))
    keys = [each.name for each in draft.columns if each.is_key or (each.is_tuple and kind == "counted")]
    used = {each.label[0] for each in draft.views}
    label = next(str(number) for number in range(10) if str(number) not in used)
    return DraftView(draw(st.sampled_from(keys)), None, kind == "counted" and draw(st.booleans()), kind, label)


@st.composite
def edits(draw: st.DrawFn, draft: Draft) -> Draft:
    """The draft after one to three changes, or after one that needs a forward query."""
    taken = frozenset(column.name for column in draft.columns)
    columns = tuple(replace(each, former=None) for each in draft.columns)
    renamed = frozenset((column.name, column.former) for column in draft.columns)
    draft = replace(draft, forward=None, columns=columns, taken=taken, renamed=renamed)
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
    read |= {each.name for each in (draft.dim.first, draft.dim.second) if each} if draft.dim else set()
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
    if old.type not in TYPES or old.is_tuple or draft.engine == "Null":
        return draft
    draft = _with(draft, old, replace(old, type="String" if old.type != "String" else "UInt32", default=None))
    convert = "toString" if old.type != "String" else "toUInt32OrZero"
    return replace(draft, forward=f"SELECT * REPLACE ({convert}({old.quoted}) AS {old.quoted})")


@st.composite
def _swap(draw: st.DrawFn, draft: Draft) -> Draft:
    """Two columns exchange their names; the views follow."""
    movable = [column for column in draft.columns if column.former is None and column.name in draft.taken]
    if len(movable) < 2:
        return draft
    one, other = draw(st.permutations(movable))[:2]
    if {(one.name, other.name), (other.name, one.name)} & draft.renamed:
        return draft
    new = {one.name: replace(one, name=other.name, former=one.name)}
    new[other.name] = replace(other, name=one.name, former=other.name)
    columns = tuple(new.get(column.name, column) for column in draft.columns)
    views = tuple(
        replace(view, column=new[view.column].name, condition=None) if view.column in new else view
        for view in draft.views
    )
    sorting = new[draft.sorting].name if draft.sorting in new else draft.sorting
    return replace(draft, columns=columns, views=views, sorting=sorting)


@st.composite
def _sort(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, sorting=draw(st.sampled_from([column.name for column in draft.columns if column.is_key])))


@st.composite
def _view(draw: st.DrawFn, draft: Draft) -> Draft:
    if draft.views and draw(st.booleans()):
        changed = draw(st.integers(0, len(draft.views) - 1))
        views = list(draft.views)
        value = draft.column(views[changed].column).key
        views[changed] = replace(views[changed], condition=f"{value} = {value}")
        return replace(draft, views=tuple(views))
    return replace(draft, views=(*draft.views, draw(_new_view(draft))))


@st.composite
def _dim(draw: st.DrawFn, draft: Draft) -> Draft:
    """Another sampling key, or a second column that `events` has too."""
    if draft.dim is None:
        return draft
    shared = [each for each in draft.columns if each.type in COPIED and each.name != draft.dim.first.name]
    if draft.dim.second is None and shared and draw(st.booleans()):
        return replace(draft, dim=replace(draft.dim, second=replace(draw(st.sampled_from(shared)), path="s")))
    return replace(draft, dim=replace(draft.dim, sampling=draw(st.sampled_from(("k", "other")))))


@st.composite
def _engine(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, engine="MergeTree" if draft.engine == "Null" else "Null") if draw(st.booleans()) else draft


@st.composite
def _remove_views(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, views=draft.views[: draw(st.integers(0, len(draft.views)))])


@st.composite
def _describe(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, description=draw(st.sampled_from(["one", "two"])))


@st.composite
def _name_anew(draw: st.DrawFn, draft: Draft) -> Draft:
    """A view's pipe, or its target, gets another name, without RENAMED_FROM."""
    if not draft.views:
        return draft
    old = draw(st.sampled_from(draft.views))
    label = old.label.removesuffix("r") if old.label.endswith("r") else f"{old.label}r"
    renamed = (
        replace(old, pipe="mw" if old.pipe == "mv" else "mv") if draw(st.booleans()) else replace(old, label=label)
    )
    return replace(draft, views=tuple(renamed if each == old else each for each in draft.views))


@st.composite
def _exchange(draw: st.DrawFn, draft: Draft) -> Draft:
    """Two views exchange their targets."""
    if len(draft.views) < 2:
        return draft
    one, other = draw(st.permutations(draft.views))[:2]
    types = [draft.column(each.column).type if each.kind == "counted" else "rows" for each in (one, other)]
    if types[0] != types[1]:
        return draft
    new = {one: replace(one, label=other.label), other: replace(other, label=one.label)}
    return replace(draft, views=tuple(new.get(each, each) for each in draft.views))


@st.composite
def _split(draw: st.DrawFn, draft: Draft) -> Draft:
    """A view becomes two, or two become one again."""
    kinds = [each for each in draft.views if each.kind in ("counted", "spark")]
    old = draw(st.sampled_from(kinds)) if kinds else None
    return replace(
        draft, views=tuple(replace(each, is_split=not each.is_split) if each == old else each for each in draft.views)
    )


EDITS = (
    *(_add, _drop, _rename, _swap, _widen, _sort, _view, _remove_views, _describe, _dim, _engine),
    *(_name_anew, _exchange, _split),
)


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
