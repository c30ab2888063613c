"""The directives that data sources and pipes share, and the rules for their values.

In: entries of a datafile. Out: parts of a resource. Invariant: of two directives of the same name the last one counts,
as for the format's own parser, and the first one is a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timezone

from cronsim import CronSim, CronSimError

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import ON_DEMAND, Text, Token
from penstock.parse.datafile import Entry, split_items, split_words
from penstock.parse.sql_syntax.source_text import NAME
from penstock.template.parser import is_template, read_template
from penstock.template.rendering import location_in


def unique_directives(entries: Iterable[Entry], problems: list[Problem]) -> dict[str, Entry]:
    """The entries by keyword, each keyword once."""
    found: dict[str, Entry] = {}
    for entry in entries:
        first = found.get(entry.keyword)
        if first is not None:
            message = f"a second {entry.keyword}: the one in line {first.location.line} has no effect"
            problems.append(
                Problem("duplicate-directive", message, entry.location, "remove one of them", level="warning")
            )
        found[entry.keyword] = entry
    return found


_ANY_TIME = datetime(2000, 1, 1, tzinfo=timezone.utc)


def parse_schedule(entry: Entry | None, problems: list[Problem]) -> str | None:
    """The schedule of a copy or a sink: five fields of cron, in UTC; None if it only runs on demand."""
    written = strip_quotes(entry.value) if entry is not None else ""
    if entry is None or written.lower() in ("", ON_DEMAND):
        return None
    try:
        next(CronSim(written, _ANY_TIME))
    except (CronSimError, StopIteration):
        message = f"`{written[:60]}` is not a schedule"
        hint = f"write {ON_DEMAND}, or minute, hour, day, month and weekday as cron has them, in UTC: `0 * * * *`"
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
        return None
    return written


def strip_quotes(text: Text) -> str:
    """A value without quotes and spaces around it."""
    return text.text.strip().strip("\"'").strip()


def parse_token(entry: Entry, scopes: Collection[str], problems: list[Problem]) -> Token | None:
    """The value of a TOKEN: `name SCOPE`."""
    found = list(split_words(entry.value))
    if len(found) != 2:
        message = f"expected `name {' or '.join(scopes)}`, found `{entry.value.text[:60]}`"
        problems.append(Problem("invalid-token", message, entry.value.location))
        return None
    name, scope = found
    if scope.text.upper() not in scopes:
        hint = did_you_mean(scope.text, scopes)
        problems.append(Problem("invalid-token", f"unknown scope `{scope.text}`", scope.location, hint))
        return None
    return Token(name.text, scope.text.upper())


def parse_tokens(entries: Iterable[Entry], scopes: Collection[str], problems: list[Problem]) -> tuple[Token, ...]:
    """Every TOKEN among the entries."""
    found = (parse_token(entry, scopes, problems) for entry in entries if entry.keyword == "TOKEN")
    return tuple(dict.fromkeys(token for token in found if token is not None))


def parse_items(entry: Entry | None) -> tuple[str, ...]:
    """The comma- or line-separated items of a value, each once."""
    return tuple(dict.fromkeys(item.text for item in split_items(entry.value))) if entry else ()


def parse_text(entry: Entry | None) -> str:
    """The value of a directive as text."""
    return entry.value.text.strip() if entry else ""


def parse_name(text: Text, what: str, problems: list[Problem]) -> str | None:
    """A value that must be a name."""
    name = text.text.strip("`\"'")
    if NAME.fullmatch(name):
        return name
    problems.append(invalid_name(name, what, text.location))
    return None


def invalid_name(name: str, what: str, location: Location) -> Problem:
    """The problem of a value that is not a valid name."""
    hint = "a letter or _, then letters, digits and _"
    return Problem("invalid-name", f"`{name[:60]}` cannot be the name of {what}", location, hint)


def parse_target(
    kind: str, keyword: str, written: Entry, directives: Mapping[str, Entry], problems: list[Problem]
) -> tuple[str, Location] | None:
    """The data source that the rows of a node go to, and its place. `written` is the value of the node's TYPE, `kind`
    the type it names."""
    target = directives.get(keyword)
    if target is None or not target.value.text:
        place = target.location if target else written.location
        hint = f"write `{keyword} name`, the data source that its rows go to"
        problems.append(Problem("missing-directive", f"a {kind} node needs a {keyword}", place, hint))
        return None
    name = parse_name(target.value, "a data source", problems)
    return (name, target.value.location) if name else None


def template_problems(text: Text) -> list[Problem]:
    """Problems of a template that show before it is rendered."""
    if not is_template(text.text):
        return []
    return [fault.problem(location_in(text, fault.offset)) for fault in read_template(text.text).faults]


def template_problem(location: Location) -> Problem:
    """The problem of a value in a data source that is written as a template, which is not supported there."""
    hint = "templates are for the SQL of pipes; secrets belong to connections, which are not in this version"
    return Problem("unsupported-template", "this directive cannot hold a template", location, hint)
