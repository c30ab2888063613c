"""Texts of many shapes as times: what parseDateTimeBestEffort takes, and its US variant.

In: SQL of a text. Out: SQL of a TIMESTAMP, NULL for a text of no known shape. Called by functions.parsing.
Invariant: none of it raises. Shapes: year first or last, names of months, twelve-hour clocks, offsets from UTC,
YYYYMMDD, YYYYMMDDhhmmss, seconds, milliseconds and microseconds since 1970.
"""

from __future__ import annotations

from penstock.sql.dates import from_clock_text
from penstock.sql.let import bind
from penstock.sql.parameters import fresh

_ISO = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?)?"
_ZONE = "(Z|[+-][0-9]{2}:[0-9]{2})"
_REST = "((?:[^0-9].*)?)$"
_NAMED = (
    ("^(?:[A-Za-z]{3,9},? +)?([0-9]{1,2})[ -]([A-Za-z]{3})[a-z]*,?[ -]([0-9]{4})(.*)$", 3, 2, 1),
    ("^(?:[A-Za-z]{3},? +)?([A-Za-z]{3})[a-z]* +([0-9]{1,2}),? +([0-9]{4})(.*)$", 3, 1, 2),
)
"""Patterns with the groups of the year, the month's name and the day."""
_WHOLE = (
    "^([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})"
    "(?:[T ]+([0-9]{1,2})(?::([0-9]{1,2}))?(?::([0-9]{1,2})(?:[.]([0-9]+))?)?(?: *([AaPp][Mm]))?)?"
    " *(?:Z|UTC|GMT|([+-])([0-9]{2}):?([0-9]{2})?)?$"
)
_LARGE = "[1-3][0-9]"


def _year_first(text: str, american: str) -> str:
    """Digits without signs, and dates that end with the year, as YYYY-MM-DD."""
    steps = [
        (f"^([0-9]{{4}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1-$2-$3 $4:$5:$6$7"),
        (f"^([0-9]{{4}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1-$2-$3$4"),
        (f"^([-0-9]+)T([0-9]{{2}})([0-9]{{2}})([0-9]{{2}}){_REST}", "$1 $2:$3:$4$5"),
        *(
            [(f"^(1[3-9]|2[0-9]|3[01])[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$2-$1$4"),
             (f"^([0-9]{{1,2}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$1-$2$4")]
            if american
            else [(f"^([0-9]{{1,2}})[-/.](1[3-9]|2[0-9]|3[01])[-/.]([0-9]{{4}}){_REST}", "$3-$1-$2$4"),
                  (f"^([0-9]{{1,2}})[-/.]([0-9]{{1,2}})[-/.]([0-9]{{4}}){_REST}", "$3-$2-$1$4")]
        ),
    ]  # fmt: skip
    for pattern, shape in steps:
        text = f"regexp_replace({text}, '{pattern}', '{shape}')"
    return text


def _unnamed(text: str) -> str:
    """Dates with the name of a month as YYYY-MM-DD."""
    branches = []
    for pattern, year, month, day in _NAMED:
        parts = {n: f"regexp_extract({text}, '{pattern}', {n})" for n in (1, 2, 3, 4)}
        place = f"locate(lower({parts[month]}), 'janfebmaraprmayjunjulaugsepoctnovdec')"
        number = f"if({place} % 3 = 1, CAST({place} DIV 3 + 1 AS STRING), 'x')"
        shape = f"concat({parts[year]}, '-', {number}, '-', {parts[day]}, {parts[4]})"
        branches.append(f"WHEN {text} RLIKE '{pattern}' THEN {shape}")
    return f"CASE {' '.join(branches)} ELSE {text} END"


def _bound(sql: str, letter: str, body: str) -> str:
    """`body`, in which `@` stands for `sql`, evaluated once."""
    name = fresh(letter, body + sql)
    return bind(sql, name, body.replace("@", name))


def _loose(text: str, american: str, zone: str | None) -> str:
    parts = [f"regexp_extract(@, '{_WHOLE}', {n})" for n in range(12)]
    day = f"try_cast(concat({parts[1]}, '-', {parts[2]}, '-', {parts[3]}) AS DATE)"
    hours, minutes, seconds = (f"coalesce(try_cast({parts[n]} AS BIGINT), 0)" for n in (4, 5, 6))
    half = f"upper({parts[8]})"
    moved = f"CASE WHEN {half} = 'PM' AND {hours} < 12 THEN 12 WHEN {half} = 'AM' AND {hours} = 12 THEN -12 ELSE 0 END"
    fraction = f"coalesce(CAST(try_cast(concat('0.', left({parts[7]}, 9)) AS DECIMAL(10,9)) * 1000000 AS BIGINT), 0)"
    micros = f"(({hours} + {moved}) * 3600 + {minutes} * 60 + {seconds}) * 1000000 + {fraction}"
    wall = f"timestampadd(MICROSECOND, {micros}, CAST({day} AS TIMESTAMP))"
    ahead = f"(try_cast({parts[10]} AS BIGINT) * 3600 + coalesce(try_cast({parts[11]} AS BIGINT), 0) * 60)"
    there = f"timestampadd(SECOND, if({parts[9]} = '-', {ahead}, - {ahead}), {wall})"
    here = f"if(@ RLIKE '(Z|UTC|GMT)$', {wall}, {from_clock_text(wall, zone)})" if zone else wall
    body = f"if(@ RLIKE '{_WHOLE}', if({parts[9]} <> '', {there}, {here}), NULL)"
    return _bound(_bound(f"trim({text})", "a", _unnamed(_year_first("@", american))), "b", body)


def _numbers(text: str, fractions: str) -> str:
    """Seconds of nine or ten digits since 1970, of thirteen and sixteen with smaller units."""
    number = f"try_cast({text} AS DECIMAL(27,9))"
    powers = f"CASE WHEN length({text}) = 16 THEN 1 WHEN length({text}) = 13 THEN 1000 ELSE 1000000 END"
    exact = f"CASE WHEN {text} RLIKE '[.]' THEN 1000000 ELSE {powers} END" if fractions else powers
    return f"timestamp_micros(try_cast({number} * {exact} AS BIGINT))"


def best_effort(text: str, american: str, fractions: str, zone: str | None) -> str:
    """`american` and `fractions` are empty or not: the month before the day, seconds since 1970 with a fraction."""
    iso = f"try_cast({text} AS TIMESTAMP)"
    digits = "^([0-9]{9,10}|[0-9]{13}|[0-9]{16}" + ("|[0-9]{9,10}[.][0-9]{1,9})$" if fractions else ")$")
    loose = _loose(text, american, zone)
    return (
        f"CASE WHEN {text} RLIKE '{_ISO}$' THEN coalesce({from_clock_text(iso, zone)}, {loose}) "
        f"WHEN {text} RLIKE '{_ISO}{_ZONE}$' THEN coalesce({iso}, {loose}) "
        f"WHEN {text} RLIKE '{digits}' THEN {_numbers(text, fractions)} ELSE {loose} END"
    )
