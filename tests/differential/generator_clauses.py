"""Random SELECTs that vary their clauses: joins with USING over keys of different types, WITH FILL.

In: a source of choices. Out: the text of a query, which gives the same rows in whatever order its sources are read.
"""

from __future__ import annotations

from random import Random

JOINS = ("INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "ANY LEFT JOIN")
KEYS = ("id", "u8", "i8", "i32", "ni", "lc", "s", "ns", "d", "b", "dec", "u16")
FILLS = (
    ("id", ""),
    ("id", "FROM 0 TO 9"),
    ("u8 % 10", "STEP 2"),
    ("id * 2", "TO 15 STEP 3"),
    ("toStartOfMonth(d)", "FROM toDate('2023-10-01') TO toDate('2024-09-01') STEP INTERVAL 1 MONTH"),
    ("toStartOfDay(t)", "FROM toDateTime('2024-07-10 00:00:00') TO toDateTime('2024-07-22 00:00:00') STEP 172800"),
)


def using(random: Random) -> str:
    """A join of two SELECTs by a column of the same name, of types that may differ."""
    left, right = random.choice(KEYS), random.choice(KEYS)
    kind = random.choice(JOINS[:-1])
    shown = "k, x.k, v" if "SEMI" in kind or "ANTI" in kind else "k, x.k, y.k, v, w"
    sides = ((left, "v"), (right, "w"))
    one, other = (f"(SELECT {key} AS k, {random.choice(KEYS)} AS {name} FROM t)" for key, name in sides)
    return f"SELECT {random.choice((shown, '*'))} FROM {one} AS x {kind} {other} AS y USING (k)"


def filled(random: Random) -> str:
    key, bounds = random.choice(FILLS)
    other = random.choice([each for each in KEYS if each != key])  # of the key itself ClickHouse makes the key
    down = f"SELECT {key} AS k, max({other}) AS v FROM t GROUP BY k ORDER BY k DESC WITH FILL"
    up = f"SELECT {key} AS k, max({other}) AS v FROM t GROUP BY k ORDER BY k WITH FILL {bounds}"
    ending = random.choice(("", " INTERPOLATE (v)", " LIMIT 5"))
    return (down if random.random() < 0.2 and key == "id" else up) + ending
