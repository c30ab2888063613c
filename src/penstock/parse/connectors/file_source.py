"""Parses the IMPORT_ directives of a data source that takes files: where they are, and when they are looked for.

In: the entries of a .datasource file. Out: `FileSource`, None where too little is said to look for files. Invariant:
what cannot be read is a problem at its place; a data source whose files cannot be taken here deploys, with a warning
that says why no rows come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import AUTO, FILE_FORMATS, ON_DEMAND, ONCE, FileRowFormat, FileSource
from penstock.parse.datafile import Entry
from penstock.parse.directive_values import parse_schedule, strip_quotes

FILE_KEYWORDS = (
    "IMPORT_SERVICE",
    "IMPORT_CONNECTION_NAME",
    "IMPORT_BUCKET_URI",
    "IMPORT_SCHEDULE",
    "IMPORT_STRATEGY",
    "IMPORT_FORMAT",
    "IMPORT_FROM_TIMESTAMP",
)
_NEEDED = ("IMPORT_CONNECTION_NAME", "IMPORT_BUCKET_URI")
_ELSEWHERE = ("IMPORT_", "PG_")
"""How the directives begin that fetch rows from elsewhere; those that are not of files have a warning of their own."""
_BUCKET = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,254}|\{\{.*")
"""The name of a bucket, or a template at its beginning."""
_SERVICES = ("s3", "file")


def parse_files(entries: Sequence[Entry], problems: list[Problem]) -> FileSource | None:
    """The files of a data source, None if it has none or they cannot be looked for."""
    found = {each.keyword: each for each in entries if each.keyword in FILE_KEYWORDS}
    if not found or any(each.keyword.startswith(_ELSEWHERE) for each in entries if each.keyword not in FILE_KEYWORDS):
        return None
    texts = {each: strip_quotes(found[each].value) if each in found else "" for each in _NEEDED}
    refused = _why_not_taken(found, texts)
    if refused is not None:
        problems.append(refused)
        return None
    connection, place = (texts[each] for each in _NEEDED)
    schedule, form = _parse_schedule(found, problems), _parse_format(found.get("IMPORT_FORMAT"), problems)
    since = _parse_since(found.get("IMPORT_FROM_TIMESTAMP"), problems)
    location = found["IMPORT_CONNECTION_NAME"].value.location
    return FileSource(connection, place, schedule, form, since, location=location)


def _why_not_taken(found: Mapping[str, Entry], texts: Mapping[str, str]) -> Problem | None:
    """The warning of a data source that deploys, and takes no files."""
    service, strategy = (_word_of(found.get(each)) for each in ("IMPORT_SERVICE", "IMPORT_STRATEGY"))
    if service and service not in _SERVICES:
        message = f"no rows are fetched from {service}: its connector is not in this version"
        hint = "let a copy read it, or post the rows to the events API"
        return Problem("unsupported-directive", message, found["IMPORT_SERVICE"].location, hint, "warning")
    if strategy and strategy != "append":
        message = f"no files are taken: IMPORT_STRATEGY {strategy[:60]} is not done here, rows of files are appended"
        hint = "let a copy with COPY_MODE replace read them"
        return Problem("unsupported-directive", message, found["IMPORT_STRATEGY"].location, hint, "warning")
    missing = [keyword for keyword, text in texts.items() if not text]
    if missing:
        message = f"no files are taken: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hint = "name a .connection file and an address such as s3://bucket/folder/*.csv; rows can be posted in any case"
        return Problem("missing-directive", message, next(iter(found.values())).location, hint, "warning")
    place = texts["IMPORT_BUCKET_URI"]
    if not _is_place(place):
        message = f"no files are taken: `{place[:60]}` is no address of a bucket of S3 or of a folder"
        hint = "write IMPORT_BUCKET_URI s3://bucket/folder/*.csv, or file:///folder/*.csv for a folder of the server"
        return Problem("unsupported-directive", message, found["IMPORT_BUCKET_URI"].value.location, hint, "warning")
    return None


def _word_of(entry: Entry | None) -> str:
    return strip_quotes(entry.value).lower() if entry is not None else ""


def _is_place(text: str) -> bool:
    if text.startswith("{{"):
        return True  # a secret, which is filled in where it is known
    scheme, _, rest = text.partition("://")
    host, slash, _ = rest.partition("/")
    if scheme == "file":
        return bool(slash) and host in ("", "localhost")
    return scheme in ("s3", "s3a") and _BUCKET.fullmatch(host) is not None


def _parse_schedule(found: Mapping[str, Entry], problems: list[Problem]) -> str:
    entry = found.get("IMPORT_SCHEDULE")
    written = _word_of(entry)
    if written in (AUTO, ONCE):
        return written
    if entry is not None and written.startswith("@") and written != ON_DEMAND:
        message = f"`{written[:60]}` is not a schedule of files"
        hint = did_you_mean(written, (AUTO, ONCE, ON_DEMAND)) or f"write {AUTO}, {ONCE}, {ON_DEMAND}, or as cron has it"
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
        return ON_DEMAND
    return parse_schedule(entry, problems) or ON_DEMAND


def _parse_format(entry: Entry | None, problems: list[Problem]) -> FileRowFormat | None:
    written = _word_of(entry)
    if entry is None or not written:
        return None
    if written not in FILE_FORMATS:
        message = f"expected IMPORT_FORMAT csv, ndjson or parquet, found `{written[:60]}`"
        problems.append(Problem("invalid-value", message, entry.value.location, did_you_mean(written, FILE_FORMATS)))
        return None
    return FILE_FORMATS[written]


def _parse_since(entry: Entry | None, problems: list[Problem]) -> datetime | None:
    """The time from which files count: ISO 8601, in UTC if no zone is said."""
    written = strip_quotes(entry.value) if entry is not None else ""
    if entry is None or not written:
        return None
    try:
        # `fromisoformat` of Python 3.10 does not know `Z`.
        found = datetime.fromisoformat(f"{written[:-1]}+00:00" if written[-1:] in ("Z", "z") else written)
    except ValueError:
        message = f"`{written[:60]}` is no time"
        hint = "write it as 2026-01-31T00:00:00Z"
        problems.append(Problem("invalid-value", message, entry.value.location, hint))
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=timezone.utc)
