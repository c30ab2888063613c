"""Converts the files of a project from the format's former version to today's.

In: the texts of its files by path, `.incl` files among them. Out: the texts that change, what still needs a person,
and the data sources whose files have to be made. Invariants: lines that need no change stay as they are, with their
comments; a project that is written in today's format does not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from posixpath import basename, dirname, splitext

from penstock.errors import Problem
from penstock.model.quick_dataclass import dataclass
from penstock.parse.classic.directives import IGNORED_ANYWHERE, KEY_DIRECTIVES, SETTINGS, SOURCES
from penstock.parse.classic.includes import IncludeFiles, expand_includes
from penstock.parse.datafile import Entry, parse_datafile, split_directive, split_lines, split_words
from penstock.parse.datasource import DATASOURCE_KEYWORDS, OTHER_DATASOURCE_KEYWORDS
from penstock.parse.engine import ENGINE_KEYWORDS
from penstock.parse.pipe import OTHER_PIPE_KEYWORDS, PIPE_KEYWORDS

DATASOURCE, PIPE = ".datasource", ".pipe"
_DATASOURCE_WORDS = frozenset((*DATASOURCE_KEYWORDS, *OTHER_DATASOURCE_KEYWORDS))
_PIPE_WORDS = frozenset((*PIPE_KEYWORDS, *OTHER_PIPE_KEYWORDS))
_ENDPOINT_FOLDER = "endpoints"
_NODE_DIRECTIVES = ("SQL", "TYPE")
_VERSIONED = re.compile(r"\b(\w+?)__v\d+\b")


@dataclass(frozen=True, slots=True)
class MissingTarget:
    """A data source that only the ENGINE lines of a materialized node describe."""

    name: str
    path: str
    """Where its file belongs."""
    pipe: str
    """The path of the pipe."""
    node: str
    engine: tuple[str, ...]
    """The ENGINE lines."""


@dataclass(frozen=True, slots=True)
class ConvertedFiles:
    """What becomes of the files of a project."""

    files: Mapping[str, str]
    """All datafiles, converted."""
    missing: tuple[MissingTarget, ...]
    problems: tuple[Problem, ...]
    """What a person has to decide, and notes (warnings) on what was left out."""


@dataclass(slots=True)
class _NodeEngine:
    """The ENGINE lines of one node of a pipe."""

    pipe: str
    node: str
    target: str
    lines: list[str] = field(default_factory=list)


def convert_files(texts: Mapping[str, str], variables: Mapping[str, str] | None = None) -> ConvertedFiles:
    """Convert the datafiles among the texts. `variables` are those of the environment, for the names of includes."""
    includes = IncludeFiles(texts, variables or {})
    problems: list[Problem] = []
    engines: list[_NodeEngine] = []
    names = {splitext(basename(path))[0] for path in texts if path.endswith((DATASOURCE, PIPE))}
    files: dict[str, str] = {}
    for path in sorted(texts):
        if path.endswith((DATASOURCE, PIPE)):
            text = expand_includes(path, includes, _words_of(path), problems)
            editor = _FileEditor(path, text, problems)
            files[path] = editor.datasource() if path.endswith(DATASOURCE) else editor.pipe(engines, names)
    missing = tuple(_move_engines(files, engines, problems))
    return ConvertedFiles(files, missing, tuple(problems))


def _words_of(path: str) -> frozenset[str]:
    return _DATASOURCE_WORDS if path.endswith(DATASOURCE) else _PIPE_WORDS


class _FileEditor:
    """Edits the lines of one file."""

    def __init__(self, path: str, text: str, problems: list[Problem]):
        self._path = path
        self._text = text
        self._problems = problems
        self._lines: list[str | None] = [*split_lines(text)]
        self._entries = parse_datafile(text, path, _words_of(path), []).entries
        self._changed = False

    def datasource(self) -> str:
        """The text of a data source."""
        written = {entry.keyword for entry in self._entries}
        for entry in self._entries:
            if entry.keyword in IGNORED_ANYWHERE:
                self._remove(entry)
            elif entry.keyword in SOURCES:
                self._remove(entry)
                message = f"{entry.keyword} {entry.value.text[:60]} is left out: rows are appended, not fetched"
                self._note(message, entry)
            elif entry.keyword in (*KEY_DIRECTIVES, SETTINGS):
                self._rename_engine_option(entry, written)
        return self._result()

    def pipe(self, engines: list[_NodeEngine], names: set[str]) -> str:
        """The text of a pipe; the ENGINE lines of its nodes are added to `engines`."""
        if self._moves_versions(names):
            return self._text
        self._name_first_node()
        node = ""
        for entry in self._entries:
            if entry.keyword == "NODE":
                node = next((word.text for word in split_words(entry.value)), "")
            elif entry.keyword in IGNORED_ANYWHERE:
                self._remove(entry)
            elif entry.keyword in ENGINE_KEYWORDS:
                self._take_engine(entry, node, engines)
            elif entry.keyword in ("SQL", "DATASOURCE", "TARGET_DATASOURCE"):
                self._strip_versions(entry, names)
        self._publish_last_node()
        return self._result()

    def _moves_versions(self, names: set[str]) -> bool:
        """Whether the pipe fills one version of a data source from another, which deployments do now."""
        found: dict[str, dict[str, Entry]] = {}
        for entry in self._entries:
            if entry.keyword in ("SQL", "DATASOURCE", "TARGET_DATASOURCE"):
                for name in _VERSIONED.finditer(entry.value.text):
                    if name[0] not in names and name[1] in names:
                        found.setdefault(name[1], {}).setdefault(name[0], entry)
        moved = next(((name, each) for name, each in found.items() if len(each) > 1), None)
        if moved is None:
            return False
        message = f"the pipe moves rows from one version of `{moved[0]}` to another: a deployment does that by itself"
        place = next(iter(moved[1].values())).location
        self._problems.append(Problem("classic-format", message, place, "remove the file"))
        return True

    def _result(self) -> str:
        if not self._changed:
            return self._text
        kept = [line for line in self._lines if line is not None]
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")
        return f"{text}\n" if text else ""

    def _note(self, message: str, entry: Entry) -> None:
        self._problems.append(Problem("classic-format", message, entry.location, level="warning"))

    def _span(self, entry: Entry) -> range:
        """The numbers of the entry's lines, from 0."""
        first = entry.location.line - 1
        if not entry.is_block or not entry.value.text:
            return range(first, first + 1)
        return range(first, entry.value.location.line + entry.value.text.count("\n"))

    def _remove(self, entry: Entry) -> None:
        self._changed = True
        for at in self._span(entry):
            self._lines[at] = None

    def _rewrite(self, at: int, line: str) -> None:
        self._changed |= self._lines[at] != line
        self._lines[at] = line

    def _rename_engine_option(self, entry: Entry, written: set[str]) -> None:
        keyword = f"ENGINE_{entry.keyword}"
        if keyword in written or not entry.value.text:
            self._remove(entry)
            return
        at = entry.location.line - 1
        line = self._lines[at] or ""
        self._rewrite(at, re.sub(re.escape(entry.keyword), keyword, line, count=1, flags=re.IGNORECASE))

    def _take_engine(self, entry: Entry, node: str, engines: list[_NodeEngine]) -> None:
        found = next((each for each in engines if (each.pipe, each.node) == (self._path, node)), None)
        if found is None:
            found = _NodeEngine(self._path, node, self._target_of(entry))
            engines.append(found)
        found.lines += [line.strip() for at in self._span(entry) if (line := self._lines[at]) is not None]
        self._remove(entry)

    def _target_of(self, entry: Entry) -> str:
        """The DATASOURCE of the node that an entry belongs to."""
        at = self._entries.index(entry)
        start = max((i for i in range(at) if self._entries[i].keyword == "NODE"), default=0)
        end = next((i for i in range(at, len(self._entries)) if self._entries[i].keyword == "NODE"), len(self._entries))
        inside = (each for each in self._entries[start:end] if each.keyword == "DATASOURCE")
        return next((each.value.text.strip("`\"' ") for each in inside), "")

    def _name_first_node(self) -> None:
        """Classic pipes may begin with SQL: its node gets a name."""
        first = next((each for each in self._entries if each.keyword in ("NODE", *_NODE_DIRECTIVES)), None)
        if first is None or first.keyword == "NODE":
            return
        at = first.location.line - 1
        self._changed = True
        self._lines[at] = f"NODE {splitext(basename(self._path))[0]}_node\n{self._lines[at]}"

    def _strip_versions(self, entry: Entry, names: set[str]) -> None:
        """`name__v1` is `name` where no resource has the longer name."""

        def current(found: re.Match[str]) -> str:
            return found[1] if found[0] not in names and found[1] in names else found[0]

        for at in self._span(entry):
            line = self._lines[at]
            if line is not None:
                self._rewrite(at, _VERSIONED.sub(current, line))

    def _publish_last_node(self) -> None:
        """In the classic format the last node of a published pipe is an endpoint without saying so."""
        kinds = [each for each in self._entries if each.keyword == "TYPE"]
        sql = [each for each in self._entries if each.keyword == "SQL"]
        has_token = any(each.keyword == "TOKEN" for each in self._entries)
        if kinds or not sql or not (has_token or _ENDPOINT_FOLDER in dirname(self._path).split("/")):
            return
        self._changed = True
        last = self._span(sql[-1])[-1]
        self._lines[last] = f"{self._lines[last]}\n\nTYPE endpoint"


def _move_engines(
    files: dict[str, str], engines: Sequence[_NodeEngine], problems: list[Problem]
) -> Iterator[MissingTarget]:
    """Put the ENGINE lines of nodes into the files of their targets; those without a file are the result."""
    paths = {splitext(basename(path))[0]: path for path in files if path.endswith(DATASOURCE)}
    for each in engines:
        if not each.target:
            continue
        path = paths.get(each.target)
        if path is None:
            yield MissingTarget(each.target, _new_path(each.target, files), each.pipe, each.node, tuple(each.lines))
            continue
        entries = parse_datafile(files[path], path, _words_of(path), []).entries
        own = next((entry for entry in entries if entry.keyword == "ENGINE"), None)
        if own is None:
            files[path] = "\n".join([files[path].rstrip("\n"), "", *each.lines, ""])
        elif own.value.text.lower() not in _engine_names(each.lines):
            message = f"`{each.target}` keeps the ENGINE of its file; {each.pipe} said {each.lines[0]}"
            problems.append(Problem("classic-format", message, own.location, level="warning"))


def _engine_names(lines: Iterable[str]) -> set[str]:
    """The engines that lines name, in lower case."""
    found = (split_directive(line) for line in lines)
    return {each.value.strip("\"'").lower() for each in found if each.keyword == "ENGINE"}


def _new_path(name: str, files: Iterable[str]) -> str:
    """Where the file of a new data source belongs: where most others are."""
    folders = Counter(dirname(path) for path in files if path.endswith(DATASOURCE))
    folder = folders.most_common(1)[0][0] if folders else "datasources"
    return f"{folder}/{name}{DATASOURCE}" if folder else f"{name}{DATASOURCE}"
