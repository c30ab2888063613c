"""Whatever stands in a line, its neighbours are kept and the line is accepted or has reasons."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.flow.landing.row_parser import RowParser
from penstock.model import types as t
from penstock.model.manifest import Landing, LandingColumn

TYPES: tuple[t.Type, ...] = (
    t.Int(8),
    t.Int(64, signed=False),
    t.Float(32),
    t.Float(64),
    t.Decimal(10, 2),
    t.String(),
    t.Date(),
    t.DateTime(None),
    t.DateTime64(3, None),
    t.Bool(),
    t.UUID(),
    t.Array(t.Int(32)),
    t.Map(t.String(), t.Float(64)),
    t.Nullable(t.String()),
    t.Json(),
)
"""One landing of one column a type: each has its own reasons, so none hides another's fault."""
TYPERS = [
    RowParser((Landing(f"x{place}", f"x{place}", "v1", (LandingColumn("a", "a", of, "$.a"),)),))
    for place, of in enumerate(TYPES)
]
GOOD = [b'{"a": 1}', b'{"a": "1"}', b'{"a": "2020-01-01"}', b'{"a": []}', b'{"a": {}}', b'{"a": null}']
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
lines = (
    st.binary(max_size=80).map(lambda raw: raw.replace(b"\n", b""))
    | values.map(lambda value: json.dumps({"a": value}).encode())
    | st.from_regex(rb'\{"a": -?[0-9]{1,400}(\.[0-9]{1,50})?([eE][+-]?[0-9]{1,7})?\}', fullmatch=True)
)


@settings(max_examples=400, deadline=None)
@given(lines)
@example(b'{"a": 1e999999999}')
@example(b'{"a": ' + b"9" * 10_000 + b"}")
@example(b'{"a": "' + b"9" * 10_000 + b'"}')
@example(b'{"a": ' + b"[" * 100_000 + b"}")
@example(b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}")
@example(b'{"a": ' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001)
@example(b'\xef\xbb\xbf{"a": 1}')
@example(b'{"a": "\xff"}')
@example(b'{"a": "\\u0000"}')
@example(b'{"a": "\\ud800"}')
@example(b'{"a": NaN}')
@example(b'{"a": -1e400}')
@example(b'{"a": 1, "a": 2}')
@example(b"\0")
def test_any_line(line: bytes) -> None:
    for typer in TYPERS:
        before = [typer.parse(each) for each in GOOD]
        found = typer.parse(line)
        assert (found.values is None) == bool(found.rejects)
        assert all(reasons and all(reasons) for _, reasons in found.rejects)
        # Nothing of a bad line stays behind in the typer.
        assert [typer.parse(each) for each in GOOD] == before
