"""Problems that only show when all files of a project are read: names, renames, targets.

In: the resources, in the order of their files. Out: problems. Invariant: a name means one resource.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Union

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import SERVICE_PREFIX, DataSource
from penstock.model.pipe import Copied, Materialized, Pipe

_QUARANTINE = "_quarantine"


def check_project(resources: Sequence[Union[DataSource, Pipe]], datasources: Collection[str]) -> Iterator[Problem]:
    """All problems that concern several resources. `datasources` are the names of all data source files."""
    yield from _check_names(resources)
    yield from _check_renames(resources)
    for resource in resources:
        if isinstance(resource, Pipe):
            yield from _check_targets(resource, datasources)
    yield from _check_replaced_targets(resources)
    yield from _check_groups(resources)


def _check_names(resources: Sequence[Union[DataSource, Pipe]]) -> Iterator[Problem]:
    first: dict[str, Union[DataSource, Pipe]] = {}
    sources = {each.name for each in resources if isinstance(each, DataSource)}
    for each in resources:
        earlier = first.setdefault(each.name, each)
        if earlier is not each:
            message = f"a second resource `{each.name}`"
            hint = f"the first is {earlier.location.file}"
            yield Problem("duplicate-name", message, each.location, hint)
        base = each.name.removesuffix(_QUARANTINE)
        if base != each.name and base in sources:
            message = f"`{each.name}` is the name of the quarantine of `{base}`"
            yield Problem("reserved-name", message, each.location, "choose another name")
        if each.name.startswith(SERVICE_PREFIX):
            message = f"names that begin with `{SERVICE_PREFIX}` are those of the server's own records"
            yield Problem("reserved-name", message, each.location, "choose another name")


def _check_renames(resources: Sequence[Union[DataSource, Pipe]]) -> Iterator[Problem]:
    sources = [each for each in resources if isinstance(each, DataSource)]
    names = {each.name for each in sources}
    taken: dict[str, DataSource] = {}
    for each in sources:
        old = each.renamed_from
        if old is None or old == each.name:
            continue
        if old in names:
            hint = f"remove RENAMED_FROM, or remove the data source `{old}`"
            yield Problem("invalid-rename", f"`{old}` is still a data source", each.location, hint)
        elif old in taken:
            message = f"`{taken[old].name}` and `{each.name}` are both RENAMED_FROM `{old}`"
            yield Problem("invalid-rename", message, each.location, "remove RENAMED_FROM from one of them")
        taken.setdefault(old, each)


def _check_targets(pipe: Pipe, datasources: Collection[str]) -> Iterator[Problem]:
    for node in pipe.nodes:
        if isinstance(node.kind, (Copied, Materialized)) and node.kind.datasource not in datasources:
            yield missing_target(node.kind, datasources)


def missing_target(kind: Copied | Materialized, datasources: Collection[str]) -> Problem:
    """The problem of a node whose target is none of the data sources."""
    hint = did_you_mean(kind.datasource, datasources)
    return Problem("unknown-datasource", f"there is no data source `{kind.datasource}`", kind.location, hint)


def _check_replaced_targets(resources: Sequence[Union[DataSource, Pipe]]) -> Iterator[Problem]:
    """Problems of copies that replace rows which nothing can replace at one place of a stream."""
    pipes = [each for each in resources if isinstance(each, Pipe)]
    views = [(node.kind, pipe.name) for pipe in pipes for node in pipe.nodes if isinstance(node.kind, Materialized)]
    writers = {kind.datasource: name for kind, name in views}
    empty = {each.name for each in resources if isinstance(each, DataSource) and each.engine.name == "Null"}
    for copies in (pipe.copies for pipe in pipes):
        if copies is None or copies.mode != "replace":
            continue
        if copies.datasource in writers:
            view = writers[copies.datasource]
            message = f"COPY_MODE replace cannot replace rows that the materialized view `{view}` writes"
            hint = "copy into a data source of its own, or append"
            yield Problem("invalid-replacement", message, copies.location, hint)
        elif copies.datasource in empty:
            message = f"`{copies.datasource}` is of engine Null: it keeps no row that COPY_MODE replace could replace"
            yield Problem("invalid-replacement", message, copies.location, "append, which feeds the views below")


def _check_groups(resources: Sequence[Union[DataSource, Pipe]]) -> Iterator[Problem]:
    """A warning for data sources that read one topic in one group: a later one begins where an earlier one has got."""
    first: dict[tuple[str, str, str], str] = {}
    for each in resources:
        kafka = each.kafka if isinstance(each, DataSource) else None
        if kafka is None:
            continue
        earlier = first.setdefault((kafka.connection, kafka.topic, kafka.group), each.name)
        if earlier != each.name:
            message = f"`{earlier}` and `{each.name}` read the topic {kafka.topic} in one group"
            hint = "give each a KAFKA_GROUP_ID of its own: one that is new begins where the other has got to"
            yield Problem("shared-group", message, kafka.location, hint, "warning")
