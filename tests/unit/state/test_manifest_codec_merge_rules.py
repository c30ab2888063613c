"""A merge rule as JSON, and as an earlier version wrote it."""

from __future__ import annotations

import json

import pytest

from penstock.model.manifest import Binding, Manifest
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.state.manifest_codec import manifest_from_json, manifest_to_json

RULES = (
    None,
    Replacing(("a",), "v", None, ("p",)),
    Summing(("a",), ("b",), True),
    Aggregating((), ("b",)),
    Collapsing(("a",), "s"),
    VersionedCollapsing(("a",), "s", "v"),
)


@pytest.mark.parametrize("rule", RULES)
def test_what_is_read_back_is_what_was_written(rule: Merge | None) -> None:
    manifest = Manifest(bindings=(Binding("x", "t", (), merge=rule),))
    assert manifest_from_json(manifest_to_json(manifest)) == manifest


def test_a_rule_without_a_kind_replaces() -> None:
    written = json.loads(manifest_to_json(Manifest(bindings=(Binding("x", "t", ()),))))
    written["bindings"][0]["merge"] = {"keys": ["a"], "version": "v", "deleted": None}
    assert manifest_from_json(json.dumps(written)).bindings[0].merge == Replacing(("a",), "v")
