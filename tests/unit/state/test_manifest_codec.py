from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.manifest import (
    Accepts,
    Before,
    Binding,
    BoundColumn,
    Copy,
    Field,
    Landing,
    LandingColumn,
    Manifest,
    Source,
    Table,
    Transform,
    View,
)
from penstock.model.types import Type
from penstock.parse.column_types import parse_type
from penstock.state.manifest_codec import manifest_from_json, manifest_to_json

TYPES = (
    "UInt16",
    "Nullable(Float64)",
    "LowCardinality(Nullable(String))",
    "DateTime64(3, 'Europe/Madrid')",
    "Enum8('a\\'b' = -1, 'c' = 2)",
    "Array(Tuple(x UInt8, y Array(Nullable(String))))",
    "Map(String, Decimal(38, 9))",
    "AggregateFunction(quantiles(0.5, 0.9), Float64)",
    "SimpleAggregateFunction(any, Nullable(DateTime))",
)

types: st.SearchStrategy[Type] = st.sampled_from(TYPES).map(parse_type)
names = st.text(max_size=6)
maybe_names = st.none() | names
small = st.integers(min_value=0, max_value=2**62)


def tuples(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, max_size=2).map(tuple)


transforms = st.builds(Transform, st.sampled_from(["identity", "years", "months", "days", "hours"]), names)
tables = st.builds(
    Table, names, tuples(st.builds(Field, names, types)), tuples(transforms), tuples(transforms), st.booleans()
)
befores = st.none() | st.builds(Before, names, st.none() | small)
bound = st.builds(BoundColumn, names, types, names, befores)
accepts = st.builds(Accepts, names, st.none() | small)
bindings = st.builds(Binding, names, names, tuples(bound), tuples(accepts))
starts = st.sampled_from(["beginning", "placed"])
columns = st.builds(LandingColumn, names, names, types, maybe_names, maybe_names)
sources = st.builds(Source, names, bindings)
pairs = tuples(st.tuples(names, names))
flows = st.one_of(
    st.builds(Landing, names, names, names, tuples(columns), starts),
    st.builds(View, names, names, names, names, names, sources, tuples(names), tuples(sources), starts),
    st.builds(Copy, names, bindings, names, pairs, pairs),
)
manifests = st.builds(Manifest, tuples(tables), tuples(bindings), tuples(bindings), tuples(flows))


@given(manifests)
def test_what_is_read_back_equals_what_was_written(manifest: Manifest) -> None:
    assert manifest_from_json(manifest_to_json(manifest)) == manifest


def test_types_are_kept_as_their_text_and_flows_with_their_kind() -> None:
    landing = Landing("d", "d", "v1", (LandingColumn("a", "a", parse_type("UInt8"), "$.a"),))
    document = json.loads(manifest_to_json(Manifest(flows=(landing,))))
    assert document["flows"][0]["kind"] == "Landing"
    assert document["flows"][0]["columns"][0]["type"] == "UInt8"


def test_a_text_of_an_older_version_reads_with_defaults() -> None:
    assert manifest_from_json('{"tables": [{"id": "a", "fields": []}]}') == Manifest(tables=(Table("a", ()),))
