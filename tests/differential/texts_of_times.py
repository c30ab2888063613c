"""Texts that are times, nearly times, or none, in the many formats that ClickHouse reads.

In: how many, and a seed. Out: texts. Invariant: the same seed gives the same texts.
"""

from __future__ import annotations

import random

_WORDS = ("Jan", "feb", "MAR", "April", "may", "Sept", "September", "Dec", "Monday", "tue", "Wed,", "Thu")
_YEARS = (
    "2020",
    "2024",
    "1999",
    "1970",
    "1969",
    "2105",
    "2106",
    "2107",
    "1900",
    "1899",
    "2299",
    "2300",
    "9999",
    "0001",
)
_ENDS = (
    "Z",
    "+03:00",
    "-0330",
    "+3",
    " UTC",
    " MSK",
    " MSD+1",
    " PM",
    " am",
    " EST",
    " ",
    "+1:30",
    ".5",
    "X",
    "é",
    " +130",
)
_ODD = "0123456789 -:/.,TZAMpm+"


def time_texts(count: int, seed: int) -> list[str]:
    """So many texts."""
    source = random.Random(seed)
    return [_text(source) for _ in range(count)]


def _text(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.1:
        digits = "".join(source.choices("0123456789", k=source.randint(0, 21)))
        return digits + source.choice(["", "", ".", ".5", ".123456789", ".1234567891", "Z", " "])
    if kind < 0.2:
        number = source.randint(0, 10 ** source.randint(1, 19))
        return f"{source.choice(['-', '+', '', ' '])}{number}{source.choice(['', '.25'])}"
    if kind < 0.3:
        return f"{_clock(source)}{_end(source)} {_date(source)}"
    gap = source.choice([*[" "] * 6, "T", "T", "t", "", ", ", "  ", "-"])
    text = _date(source) + ("" if kind < 0.4 else gap + _clock(source)) + _end(source)
    return _spoiled(source, text) if source.random() < 0.25 else text


def _spoiled(source: random.Random, text: str) -> str:
    """The text with one character more, or one less."""
    place = source.randint(0, len(text))
    return text[:place] + source.choice(["", *_ODD, " ", "\ufeff"]) + text[place + source.randint(0, 1) :]


def _date(source: random.Random) -> str:
    divider = source.choice("-/. -/-:,_")
    year, month, day = _year(source), _two_digits(source, 12), _two_digits(source, 28)
    word = source.choice(_WORDS)
    forms = (
        *[divider.join([year, month, day])] * 4,
        divider.join([day, month, year]),
        divider.join([day, month, year[2:]]),
        f"{year}{month}{day}",
        source.choice([" ", "-", "", ", "]).join([day, word, year]),
        f"{word} {day}{source.choice([' ', ', '])}{year}",
        f"{year}{divider}{month}",
        year,
        f"{year}{divider}{word}{divider}{day}",
    )
    return source.choice(forms)


def _clock(source: random.Random) -> str:
    hour, minute, second = _two_digits(source, 23), _two_digits(source, 59), _two_digits(source, 59)
    forms = (*[f"{hour}:{minute}:{second}"] * 3, f"{hour}:{minute}", hour, f"{hour}{minute}{second}")
    fraction = "." + "".join(source.choices("0123456789", k=source.randint(0, 11))) if source.random() < 0.3 else ""
    return source.choice(forms) + fraction


def _end(source: random.Random) -> str:
    return source.choice(_ENDS) if source.random() < 0.6 else ""


def _year(source: random.Random) -> str:
    return source.choice([*_YEARS, str(source.randint(1900, 2299)), f"{source.randint(1, 9999):04}"])


def _two_digits(source: random.Random, most: int) -> str:
    """Mostly a number from 1 to `most`, sometimes a greater one, or one digit."""
    if source.random() < 0.8:
        return f"{source.randint(1, most):02}"
    return source.choice(
        ["00", f"{source.randint(0, 31):02}", f"{source.randint(0, 99):02}", str(source.randint(0, 9))]
    )
