"""Answer SQL and endpoints from the tables of one deployment.

In: SQL or an endpoint's name, and a deployment's reference. Out: `Result`. Called by `pipeline`.
Invariant: the deployment is looked up once, before anything is read: an answer is of one version.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from penstock.deploy.core import Core
from penstock.errors import InvalidRequest, Location, NotFound, Problem, did_you_mean
from penstock.lake.query import Result, run_query
from penstock.lake.read import Latest, rejected, relation
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.deployment import Deployment
from penstock.model.engine import Engine
from penstock.model.manifest import Binding, Manifest
from penstock.model.project import Project
from penstock.parse.load import load_files
from penstock.sql.query import Query
from penstock.sql.transpile import compile_pipe, compile_sql


def sql(core: Core, text: str, ref: str) -> Result:
    """Run a SELECT over the data sources, quarantines and pipes of a deployment."""
    deployment = core.readable(ref)
    project = _project(deployment.id, _Files(deployment), deployment.manifest)
    query = compile_sql(project, Text(text, Location("query")), "clickhouse")
    return _run(core, query, deployment.manifest)


def endpoint(core: Core, name: str, parameters: Mapping[str, str], ref: str) -> Result:
    """Run an endpoint of a deployment."""
    deployment = core.readable(ref)
    project = _project(deployment.id, _Files(deployment), deployment.manifest)
    endpoints = [pipe.name for pipe in project.pipes if pipe.endpoint is not None]
    if name not in endpoints:
        raise NotFound(f"there is no endpoint `{name}`", hint=did_you_mean(name, endpoints))
    if parameters:
        unknown = sorted(parameters)[0]
        raise InvalidRequest(f"endpoint `{name}` has no parameter `{unknown}`", [Problem("unknown-parameter", f"endpoint `{name}` has no parameter `{unknown}`")])
    return _run(core, _endpoint(deployment.id, name, project), deployment.manifest)


class _Files:
    """The files of a deployment, hashed by its id: they never change."""

    def __init__(self, deployment: Deployment):
        self.id = deployment.id
        self.files = deployment.files

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Files) and other.id == self.id


@lru_cache(maxsize=32)
def _project(id: int, files: _Files, manifest: Manifest) -> Project:
    """The deployment's project with its quarantines as data sources that can be read."""
    project = load_files(files.files).project
    return Project.of((*project.datasources, *map(_as_datasource, manifest.quarantines)), project.pipes)


@lru_cache(maxsize=1024)
def _endpoint(id: int, name: str, project: Project) -> Query:
    pipe = project.pipe(name)
    assert pipe is not None, "the caller looked it up"
    return compile_pipe(project, pipe)


def _as_datasource(binding: Binding) -> DataSource:
    columns = tuple(Column(column.name, column.type) for column in binding.columns)
    return DataSource(binding.name, columns, Engine())


def _run(core: Core, query: Query, manifest: Manifest) -> Result:
    relations = {read.placeholder: _relation(manifest, read.datasource) for read in query.reads}
    return run_query(core.lake, query.sql, query.columns, relations)


def _relation(manifest: Manifest, name: str) -> str:
    binding = manifest.binding(name)
    assert binding is not None, f"{name} compiled, so the manifest binds it"
    return rejected(binding, Latest()) if binding in manifest.quarantines else relation(binding, Latest())
