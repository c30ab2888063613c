"""Put texts in the place of a query's placeholders.

In: SQL and a text for each placeholder. Out: SQL. Called by lake and spark_dialect. Invariant: what stands
in quotes is never touched: a literal or an alias that looks like a placeholder stays what it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_WORD = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`]|``)*`|\w+""", re.DOTALL)


def put_in(sql: str, texts: Mapping[str, str]) -> str:
    """`sql` with each word (or whole name in backquotes) that is a key replaced by its text, in one pass."""
    return _WORD.sub(lambda found: texts.get(found.group(), found.group()), sql)
