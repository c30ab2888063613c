"""Manifests as JSON text, the form in which the state store keeps them.

In: a `Manifest`, or its text. Out: the text, or the manifest. Invariant: what is read back equals what was written; a
field that a later version adds has a default, so older texts stay readable.
"""

from __future__ import annotations

from cattrs.preconf.orjson import OrjsonConverter, make_converter
from cattrs.strategies import configure_tagged_union

from penstock.model.manifest import Flow, Manifest
from penstock.model.merge_rule import Merge, Replacing
from penstock.model.types import Type
from penstock.parse.column_types import parse_type


def manifest_converter() -> OrjsonConverter:
    """A converter for the parts of manifests: a column type is written in its ClickHouse spelling, which `parse_type`
    reads back, and each class of a union with its name in `kind`."""
    converter = make_converter()
    converter.register_unstructure_hook_func(lambda hint: hint == Type, str)
    converter.register_structure_hook_func(lambda hint: hint == Type, lambda text, _: parse_type(text))
    configure_tagged_union(Flow, converter, tag_name="kind")
    # A rule without a kind was written by a version that only knew Replacing.
    configure_tagged_union(Merge, converter, tag_name="kind", default=Replacing)
    converter.register_unstructure_hook_func(
        lambda hint: hint == _MAYBE_MERGE,
        lambda rule: None if rule is None else converter.unstructure(rule, unstructure_as=Merge),
    )
    converter.register_structure_hook_func(
        lambda hint: hint == _MAYBE_MERGE,
        lambda rule, _: None if rule is None else converter.structure(rule, Merge),  # type: ignore[arg-type]
    )
    return converter


_MAYBE_MERGE = Merge | None
_converter = manifest_converter()


def manifest_to_json(manifest: Manifest) -> str:
    """The manifest as JSON text."""
    return _converter.dumps(manifest).decode()


def manifest_from_json(text: str) -> Manifest:
    """The inverse of `manifest_to_json`."""
    return _converter.loads(text, Manifest)
