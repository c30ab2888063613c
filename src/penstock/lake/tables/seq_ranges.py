"""The range of `_seq` in each data file.

In: data files of a snapshot. Out: the least and the greatest `_seq` of each. Invariant: a range is that of the rows,
whether or not Iceberg kept bounds: it keeps none of columns after the hundredth unless a table property says so, and
`_seq` is the last column. Rows that were written from outside have no `_seq`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.model.manifest import SEQ
from penstock.sql.spark_text import string_literal

MOST_KNOWN = 200_000
FILES_A_QUERY = 1_000


class SeqRange(NamedTuple):
    """The least and the greatest `_seq` of the rows of a data file; -1 for a file whose rows have none."""

    low: int
    high: int


NO_SEQ = SeqRange(-1, -1)
_known: OrderedDict[str, SeqRange] = OrderedDict()
_guard = threading.Lock()


def read_seq_ranges(lake: Lake, table: str, snapshot: int, paths: Collection[str]) -> Mapping[str, SeqRange]:
    """The ranges of these data files of a snapshot, read from their rows. Files never change, so each is read once."""
    with _guard:
        found = {path: _known[path] for path in paths if path in _known}
    for lot in _lots([path for path in paths if path not in found]):
        chosen = ", ".join(map(string_literal, lot))
        rows = lake.bulk.sql(
            f"SELECT _file, min({SEQ}), max({SEQ}) FROM {qualified_table(table)} VERSION AS OF {snapshot}"
            f" WHERE _file IN ({chosen}) GROUP BY _file"
        ).collect()
        read = dict.fromkeys(lot, NO_SEQ) | {path: SeqRange(low, high) for path, low, high in rows if high is not None}
        found |= read
        with _guard:
            _known.update(read)
            while len(_known) > MOST_KNOWN:
                _known.popitem(last=False)
    return found


def _lots(paths: Collection[str]) -> Iterator[list[str]]:
    rest = iter(paths)
    while lot := list(islice(rest, FILES_A_QUERY)):
        yield lot
