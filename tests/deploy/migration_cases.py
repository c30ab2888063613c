"""Golden cases of the planner as cases to run, side by side in one deployment, and rows for them.

In: the names of golden cases (golden_cases.py). Out: a `Case` for each, with resource names of its own; numbered rows;
a thread that posts them. A row is valid in both versions of every case, and means the same whether it arrives before
the deployment or after it; rows that only a forward query can convert (numbers below `FIRST`) are posted before.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from deploy.conftest import Running
from golden_cases import FOLDER, plan_case, read_case
from penstock.errors import NotFound

ROWS, FIRST = 12, 6
"""Rows in a batch; those with a smaller number come before every deployment."""


ABSENT = object()
"""The value of a field that a row does not have."""


@dataclass
class Case:
    """One folder. `sent` are the batches that were acknowledged, by data source."""

    folder: str
    prefix: str
    before: dict[str, str]
    after: dict[str, str]
    strategies: dict[str, str]
    sent: dict[str, list[list[dict[str, object]]]] = field(default_factory=dict)
    posts: int = 0


def load(folder: str) -> Case:
    """A golden folder with its data sources and pipes under a prefix of its own."""
    prefix = f"c{folder[:2]}{''.join(word[0] for word in folder[3:].split('_'))}_"
    case = read_case(FOLDER / folder)
    names = {PurePosixPath(path).stem for path in (*case.before, *case.after) if path.endswith(".datasource")}
    planned = [each for each in plan_case(FOLDER / folder).resources if each.kind == "datasource"]
    return Case(
        folder,
        prefix,
        _renamed(case.before, names, prefix),
        _renamed(case.after, names, prefix),
        {prefix + each.name: each.strategy for each in planned},
    )


def _renamed(files: Mapping[str, str], names: set[str], prefix: str) -> dict[str, str]:
    word = re.compile(rf"\b({'|'.join(sorted(names))})\b")
    renamed = {}
    for path, text in files.items():
        place = PurePosixPath(path)
        name = place.name if place.suffix == ".toml" else prefix + place.name
        renamed[f"{prefix}/{place.parent}/{name}"] = word.sub(lambda found: prefix + found[1], text)
    return renamed


def together(cases: list[Case], side: str) -> dict[str, str]:
    """The files of all cases as one project; what they say of strategies in one `penstock.toml`."""
    files: dict[str, str] = {}
    wishes = []
    for case in cases:
        for path, text in getattr(case, side).items():
            if path.endswith(".toml"):
                wishes += text.splitlines()[1:]
            else:
                files[path] = text
    return files | ({"penstock.toml": "\n".join(["[deploy.strategy]", *wishes])} if wishes else {})


def row(number: int, folder: str) -> dict[str, object]:
    """A row that every landing schema of the folders takes."""
    session = f"00000000-0000-0000-0000-{number % 5:012}"
    path = f"/{number % 3}"
    values: dict[str, object] = {
        "timestamp": f"2024-01-{1 + number % 4:02} {number % 24:02}:{number % 60:02}:00",
        "session_id": session,
        "action": ("page_hit", "page_view", "click", "scroll")[number % 4],
        "version": str(number % 7),
        "payload": json.dumps({"pathname": path}),
        "pathname": path,
        "product": f"p{number % 3}",
        "amount": number * 0.25,
        "id": number % 1000,
        "count": number,
        "value": number * 0.5,
        "price": number * 0.25,
        "at": f"2024-02-01 00:{number % 60:02}:00",
        "code": f"c{number % 900 + 100}",
        "place": f"place {number % 3}",
        "unit": "kg",
        "state": ("on", "off")[number % 2],
        "x": number % 1000,
        "user": f"User {number % 5}",
        "url": f"/{number % 4}",
        "country": ("Chile", "China")[number % 2],
        "seen": number,
        "words": ["a", "b", "c", "a"][: number % 5],
    }
    if folder[:2] in ("46", "47", "48", "50", "51", "52", "53"):
        values |= _trip(number)
    if folder[:2] in ("43", "44", "54"):
        values |= _sale(number)
    values |= SPECIAL[folder](number) if folder in SPECIAL else {}
    return {name: value for name, value in values.items() if value is not ABSENT}


def _trip(number: int) -> dict[str, object]:
    """What else a row has for the base `trips`."""
    return {
        "day": ("2024-02-28", "2149-06-06", "1970-01-01")[number % 3],
        "place": {"lat": number + 0.5, "lon": -number - 0.25, "alt": 0.0},
        "stops": [{"a": number % 9, "b": number % 7}],
        "name": f"Name {number % 3}",
        "city": f"City {number % 4}",
    }


def _sale(number: int) -> dict[str, object]:
    """What else a row has for the base `sales`: the numbers of place 1 are not in the lower half of the sample."""
    return {"amount": number % 3, "region": f"r{number % 2}", "number": number + (number % 3 == 1) * 2**63}


def _of_any_type(number: int) -> dict[str, object]:
    """A value for each added column; in every second row the columns with a DEFAULT are left out."""
    given: dict[str, object] = {"ratio": number * 0.5, "rate": -number * 0.25, "tax": number * 0.25, "shown": True}
    given |= {"language": ("de", "fr")[number % 2], "born": "2023-05-06", "opened": "2024-02-03 04:05:06"}
    given |= {"fine": "2024-02-03 04:05:06.789", "values": [number * 0.5, 0.25]}
    return {
        **(given if number % 2 else {}),
        "fee": number * 0.25,
        "paid": number % 3 == 0,
        "currency": ("EUR", "USD")[number % 2],
        "first": f"2024-02-03 04:05:{number % 60:02}",
        "finest": "2024-02-03 04:05:06.123456789",
        "counts": {"a": number, "b": 1},
        "pair": [number * 0.5, f"p{number % 3}"],
    }


def _of_the_edges(number: int) -> dict[str, object]:
    """Values for which functions that may fail do."""
    return {
        "url": ("/1", "https://www.a.b:80/c/d?e=1", "", "\u00e9" * 40)[number % 4],
        "user": f"u{number % 3}\U0001f600{number}",
        "timestamp": ("2024-02-29 23:59:59", "1970-01-01 00:00:00", "2106-02-07 06:28:15")[number % 3],
        "count": (0, 2**32 - 1, number)[number % 3],
        "change": (-(2**31), 2**31 - 1, 0, -number)[number % 4],
        "large": (0, 2**64 - 1, number)[number % 3],
        "tags": ["a", "b", ""][: number % 4],
        "price": (-0.05, 1e15, number * 0.25)[number % 3],
        "fee": (99_999_999.25, -99_999_999.25, 0)[number % 3],
        "day": ("2024-02-29", "1970-01-01", "2149-06-06")[number % 3],
    }


def _flight(number: int) -> dict[str, object]:
    """Values at the ends of the ranges of narrower types, and no NULL."""
    return {
        "count": (0, 2**16 - 1, number)[number % 3],
        "day": ("2024-02-29", "1970-01-01", "2149-06-06")[number % 3],
        "seen": (0, 255, number % 100)[number % 3],
    }


SPECIAL: Mapping[str, Callable[[int], dict[str, object]]] = {
    "08_from_nullable_with_default": lambda number: {"payload": None} if number % 3 else {},
    "08_from_nullable_by_forward_query": lambda number: {"version": None} if number < FIRST else {},
    "09_retype_or_default": lambda number: {"session_id": f"none {number}"} if number < FIRST else {},
    "09_retype_to_date": lambda number: {"x": f"2024-03-{1 + number % 28:02}"},
    "09_retype_to_array": lambda number: {"x": f"a,b{number}", "xs": ["a", f"b{number}"]},
    "50_a_default_over_another_default": lambda number: {"name": ABSENT} if number % 4 == 3 else {},
    "50_a_default_over_another_path": lambda number: {"time": f"2024-03-{1 + number % 28:02} 12:00:00"},
    "50_a_default_over_another_zone": lambda number: {"at": 1_706_745_600 + number * 1800},
    "75_aggregates_of_an_added_column": lambda number: {"bot": number % 3, "notes": ["x"][: number % 2]},
    "75_aggregates_that_depend_on_the_rows": lambda number: {"bot": number % 3, "notes": ["x"][: number % 2]},
    "77_values_of_any_type_before_a_cut": _of_any_type,
    "60_a_column_added_throughout": lambda number: {"bot": number % 3},
    "64_numbers_widened_below_their_values": lambda number: {"count": number if number % 2 else 65_535 - number},
    "71_numbers_of_64_bits": lambda number: {"count": number if number % 2 else 2**32 - 1 - number},
    "72_rows_of_other_tables": lambda number: {"amount": number % 10 * 2.5},
    "78_decimals_widened_below_their_values": lambda number: {
        "price": (number % 9 - 2) * 12_345_678.25,
        "fee": None if number % 3 else -number * 0.25,
    },
    "80_functions_that_cannot_fail": _of_the_edges,
    "82_defaults_of_stored_columns": lambda number: (
        {"name": f"n{number}", "twice": number, "hour": 1} if number % 2 else {"name": ABSENT}
    ),
    "87_types_that_hold_what_is_stored": _flight,
    "88_views_over_columns_without_null": _flight,
    "16_landing_type_that_one_view_reads": lambda number: {"action": ("page_hit", "click", "scroll")[number % 3]},
}
"""What is different in the rows of some folders."""
FIXED = {
    **dict.fromkeys(
        ("43_natural_join_a_common_column", "44_the_sampling_key", "54_from_null_with_another_query"), "places"
    ),
    **dict.fromkeys(
        (
            "74_array_joins_of_other_rows",
            "74_array_joins_written_otherwise",
            "74_finer_times_beside_array_join",
            "75_aggregates_of_an_added_column",
            "75_aggregates_that_depend_on_the_rows",
        ),
        "places",
    ),
    "66_nullable_with_a_value_in_its_place": "plans",
    "72_rows_of_other_tables": "plans",
    **dict.fromkeys(
        (
            "60_a_column_added_throughout",
            "62_queries_written_otherwise",
            "63_functions_of_stored_columns",
            "77_values_of_any_type_before_a_cut",
        ),
        "plans",
    ),
}
"""Data sources that have all their rows before the others get any, as views join what there is at that moment."""


def batch(case: Case, number: int) -> list[dict[str, object]]:
    """The rows that each landing table of the case gets with its batch of this number, from 0."""
    return [row(each, case.folder) for each in range(number * ROWS, (number + 1) * ROWS)]


class Posting:
    """Posts batches to every data source that takes rows, one after the other, until told to stop."""

    def __init__(self, running: Running, cases: list[Case], pause: float):
        self._running, self._cases, self._pause = running, cases, pause
        self._stop, self._turn = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run)
        self.failure: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()
        assert self.failure is None, self.failure

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is posted meanwhile, and every version has every row."""
        with self._turn:
            self._running.catch_up(120)
            yield

    def round(self) -> None:
        """A batch for each case."""
        for case in self._cases:
            with self._turn:
                self.post(case)

    def post(self, case: Case) -> None:
        """One batch to each landing table of a case; to one that live does not have, none."""
        fixed = FIXED.get(case.folder)
        for name, names in sorted(landings(case).items(), key=lambda each: each[0] != f"{case.prefix}{fixed}"):
            is_fixed = name == f"{case.prefix}{fixed}"
            if is_fixed and case.posts:
                continue
            rows = batch(case, case.posts)
            if any(self._sent(each, rows) for each in names):
                case.sent.setdefault(name, []).append(rows)
            if is_fixed:
                self._running.catch_up()
        case.posts += 1

    def _sent(self, name: str, rows: list[dict[str, object]]) -> bool:
        body = "\n".join(map(json.dumps, rows)).encode()
        try:
            self._running.pipeline.ingestion.append(name, body, None)
        except NotFound:
            return False
        return True

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                for case in self._cases:
                    with self._turn:
                        self.post(case)
                    if self._stop.wait(self._pause):
                        return
        except Exception as error:  # told by `stop`
            self.failure = error


def landings(case: Case) -> dict[str, tuple[str, ...]]:
    """The data sources of live that take rows, with the names that they have or will have."""
    fed = {found for text in case.before.values() for found in re.findall(r"^DATASOURCE (\w+)", text, re.M)}
    found = {}
    for path in case.before:
        name = PurePosixPath(path).stem
        if path.endswith(".datasource") and name not in fed:
            later = [
                PurePosixPath(other).stem
                for other, text in case.after.items()
                if re.search(rf"^RENAMED_FROM {name}$", text, re.M)
            ]
            found[name] = (name, *later)
    return found
