"""The application: transactions at a steady rate on projects, issues, labels and notes.

In: a DSN, and which release of the application runs. Out: how many transactions were committed, and how many failed.
Invariant: each release writes only columns that it knows; what it writes is chosen by a seed.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg2

PROJECTS, LABELS, ISSUES = 20, 40, 300
LARGE_NOTE = 6_000
"""Characters that hardly compress: Postgres stores them apart, and does not log them again where they stay."""


@dataclass(frozen=True, slots=True)
class ApplicationVersion:
    """What a release of the application knows of the schema."""

    name: str
    knows_severity: bool = False
    second_body: bool = False
    """Whether it writes notes.body_next, too."""
    knows_legacy: bool = True


RELEASES = (
    ApplicationVersion("1"),
    ApplicationVersion("2", knows_severity=True, second_body=True),
    ApplicationVersion("3", knows_severity=True, knows_legacy=False),
)


class Application(threading.Thread):
    """`release` may be exchanged while it runs."""

    def __init__(self, dsn: str, rate: float):
        super().__init__(name="application", daemon=True)
        self._dsn, self._rate = dsn, rate
        self._random = random.Random(20261126)
        self._next_id = 1
        self._halt = threading.Event()
        self.release = RELEASES[0]
        self.committed = 0
        self.failures: list[str] = []

    def stop(self) -> None:
        """End behind the transaction that is under way."""
        self._halt.set()
        self.join()

    def run(self) -> None:
        connection = psycopg2.connect(self._dsn)
        began, number = time.monotonic(), 0
        while not self._halt.wait(max(0.0, began + number / self._rate - time.monotonic())):
            number += 1
            try:
                with connection, connection.cursor() as cursor:
                    self._transact(cursor)
                self.committed += 1
            except psycopg2.Error as error:
                self.failures.append(" ".join(str(error).split()))
        connection.close()

    def fill(self) -> None:
        """The rows that are there before anything is captured."""
        with psycopg2.connect(self._dsn) as connection, connection.cursor() as cursor:
            run = cursor.execute
            run("INSERT INTO projects SELECT n, 'project ' || n FROM generate_series(1, %s) n", (PROJECTS,))
            run(
                "INSERT INTO labels SELECT n, 1 + n %% %s, 'label ' || n FROM generate_series(1, %s) n",
                (PROJECTS, LABELS),
            )
            for _ in range(ISSUES):
                self._open_issue(cursor)
        connection.close()

    def _transact(self, cursor: Any) -> None:
        """One to three changes."""
        kinds: tuple[tuple[int, Callable[[Any], None]], ...] = (
            (30, self._open_issue),
            (20, self._add_note),
            (20, self._change_issue),
            (10, self._change_note),
            (10, self._label),
            (5, self._delete_issue),
            (5, self._star),
        )
        weights = [weight for weight, _ in kinds]
        for _, change in self._random.choices(kinds, weights, k=self._random.randint(1, 3)):
            change(cursor)

    def _open_issue(self, cursor: Any) -> None:
        values: dict[str, object] = {
            "id": self._id(),
            "project_id": self._random.randint(1, PROJECTS),
            "title": f'it\'s \\ "{self._random.randrange(10_000)}"\n\täöü',
            "state": self._state(),
            "weight": self._weight(),
            "due": f"2027-{self._random.randint(1, 12):02}-{self._random.randint(1, 28):02}",
            "updated_at": "now",
        }
        if self.release.knows_severity:
            values["severity"] = self._random.randint(1, 5)
        if self.release.knows_legacy:
            values["legacy_ref"] = f"OLD-{values['id']}"
        _insert(cursor, "issues", values)
        self._add_note(cursor)

    def _add_note(self, cursor: Any) -> None:
        cursor.execute("SELECT id FROM issues ORDER BY random() LIMIT 1")
        found = cursor.fetchone()
        if found is not None:
            values = {"id": self._id(), "issue_id": found[0], "created_at": "now", **self._bodies()}
            _insert(cursor, "notes", values)

    def _change_issue(self, cursor: Any) -> None:
        severity = ", severity = 1 + severity %% 5" if self.release.knows_severity else ""
        where = "WHERE id = (SELECT id FROM issues ORDER BY random() LIMIT 1)"
        text = f"UPDATE issues SET state = %s, weight = %s, updated_at = now(){severity} {where}"
        cursor.execute(text, (self._state(), self._weight()))

    def _change_note(self, cursor: Any) -> None:
        """Half of the time the bodies stay as they are."""
        where = "WHERE id = (SELECT id FROM notes ORDER BY random() LIMIT 1)"
        bodies = self._bodies() if self._random.random() < 0.5 else {}
        assigned = "".join(f", {name} = %s" for name in bodies)
        cursor.execute(f"UPDATE notes SET internal = NOT internal{assigned} {where}", tuple(bodies.values()))

    def _label(self, cursor: Any) -> None:
        """Give an issue a label, or exchange one: a change of a key of two columns."""
        if self._random.random() < 0.7:
            cursor.execute(
                "INSERT INTO issue_labels SELECT i.id, l.id FROM issues i, labels l ORDER BY random() LIMIT 1 "
                "ON CONFLICT DO NOTHING"
            )
            return
        free = "NOT EXISTS (SELECT 1 FROM issue_labels o WHERE o.issue_id = t.issue_id AND o.label_id = %s)"
        one = f"SELECT issue_id, label_id FROM issue_labels t WHERE {free} ORDER BY random() LIMIT 1"
        to = self._random.randint(1, LABELS)
        cursor.execute(f"UPDATE issue_labels SET label_id = %s WHERE (issue_id, label_id) IN ({one})", (to, to))

    def _delete_issue(self, cursor: Any) -> None:
        """Its notes and labels go with it."""
        cursor.execute("DELETE FROM issues WHERE id = (SELECT id FROM issues ORDER BY random() LIMIT 1)")

    def _star(self, cursor: Any) -> None:
        cursor.execute("UPDATE projects SET stars = stars + 1 WHERE id = %s", (self._random.randint(1, PROJECTS),))

    def _bodies(self) -> dict[str, object]:
        size = LARGE_NOTE if self._random.random() < 0.1 else 40
        body = "".join(self._random.choices("abcdefghijklmnopqrstuvwxyz0123456789 *_", k=size))
        return {"body": body, "body_next": f"md: {body}"} if self.release.second_body else {"body": body}

    def _state(self) -> str:
        return self._random.choice(
            ("opened", "closed", "locked") if self.release.knows_severity else ("opened", "closed")
        )

    def _weight(self) -> int | None:
        """A release that knows the wider type writes wider numbers."""
        if self._random.random() < 0.2:
            return None
        return self._random.randrange(2**40 if self.release.knows_severity else 2**20)

    def _id(self) -> int:
        self._next_id += 1
        return self._next_id


def _insert(cursor: Any, table: str, values: dict[str, object]) -> None:
    names, places = ", ".join(values), ", ".join(["%s"] * len(values))
    cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({places})", tuple(values.values()))
