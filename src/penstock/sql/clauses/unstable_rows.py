"""Whether Spark SQL may give other rows when it is read a second time.

In: Spark SQL. Out: the first word in it that makes its rows uncertain (a LIMIT, a random number), outside of literals
and quoted names.
"""

from __future__ import annotations

import re

_NONDETERMINISTIC = re.compile(
    r"""'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`|\b(LIMIT|OFFSET|row_number|lag|lead|n?tile|\w+_value|first(?=\()|last(?=\()"""
    r"""|\w*rand\w*|uuid|shuffle|monotonically_increasing_id)\b""",
    re.DOTALL | re.IGNORECASE,
)


def find_unstable_word(sql: str) -> str | None:
    """The word; None if the rows are the same each time."""
    found = (match.group(1) for match in _NONDETERMINISTIC.finditer(sql))
    return next((word for word in found if word), None)
