"""Compares the connections that data sources and sinks name with the .connection files of the project.

In: resources and connections. Out: warnings. Invariant: a name without a file is no error, since in the format
connections may be kept outside of the project; but then no row comes or goes, and the warning says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Union

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import DataSource
from penstock.model.external_tables import NamedConnection
from penstock.model.pipe import Exported, Pipe, TopicTarget
from penstock.model.quick_dataclass import dataclass


def check_connections(
    resources: Iterable[Union[DataSource, Pipe]], connections: Mapping[str, NamedConnection]
) -> Iterator[Problem]:
    """A warning for each connection that is named and cannot be used."""
    for each in resources:
        if isinstance(each, DataSource) and each.kafka is not None:
            named = _Named(each.kafka.connection, ("kafka",), each.kafka.location)
            yield from _check(named, "no rows are read from Kafka", connections)
        if isinstance(each, DataSource) and each.files is not None:
            named = _Named(each.files.connection, ("s3", "file"), each.files.location)
            yield from _check(named, "no files are taken", connections)
        if isinstance(each, Pipe) and each.exported is not None and isinstance(each.exported.kind, Exported):
            kind = each.exported.kind
            if kind.target is not None:
                kinds = ("kafka",) if isinstance(kind.target, TopicTarget) else ("s3", "file")
                named = _Named(kind.connection, kinds, kind.location)
                yield from _check(named, f"the sink `{each.name}` does not run", connections)


def with_connections(
    resource: Union[DataSource, Pipe], connections: Mapping[str, NamedConnection]
) -> Union[DataSource, Pipe]:
    """The resource with what the connection says that it names, so that a change of it is a change of the resource."""
    if isinstance(resource, DataSource):
        kafka, files = resource.kafka, resource.files
        if kafka is not None:
            kafka = replace(kafka, reached_by=_options(kafka.connection, connections))
        if files is not None:
            files = replace(files, reached_by=_options(files.connection, connections))
        return replace(resource, kafka=kafka, files=files) if kafka is not None or files is not None else resource
    node = resource.exported
    if node is None or not isinstance(node.kind, Exported):
        return resource
    kind = replace(node.kind, reached_by=_options(node.kind.connection, connections))
    nodes = tuple(replace(each, kind=kind) if each is node else each for each in resource.nodes)
    return replace(resource, nodes=nodes)


def _options(name: str, connections: Mapping[str, NamedConnection]) -> tuple[tuple[str, str], ...]:
    found = connections.get(name)
    return (("TYPE", found.kind), *sorted(found.options)) if found is not None else ()


@dataclass(frozen=True, slots=True)
class _Named:
    """A name of a connection in a datafile, and the types that it may have there."""

    name: str
    kinds: tuple[str, ...]
    location: Location


def _check(named: _Named, effect: str, connections: Mapping[str, NamedConnection]) -> Iterator[Problem]:
    found = connections.get(named.name)
    if found is None:
        fitting = [name for name, each in connections.items() if each.kind in named.kinds]
        hint = did_you_mean(named.name, fitting) or f"make {named.name}.connection, of TYPE {' or '.join(named.kinds)}"
        message = f"{effect}: there is no connection `{named.name}`"
        yield Problem("unknown-connection", message, named.location, hint, "warning")
    elif found.kind not in named.kinds:
        message = f"{effect}: the connection `{named.name}` is of type {found.kind}"
        hint = f"name one of TYPE {' or '.join(named.kinds)}"
        yield Problem("unknown-connection", message, named.location, hint, "warning")
