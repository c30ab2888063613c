"""The parsed projects of deployments, each parsed once.

In: a saved deployment, whose files never change. Out: its `LoadedProject`, and the parameters of its endpoints.
Invariant: at most MOST_PROJECTS are kept, the most recently used ones; thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from penstock.model.deployment import Deployment
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.template.declared_parameters import DeclaredParameter, parameters_of

MOST_PROJECTS = 8
EndpointParameters: TypeAlias = Mapping[str, Sequence[DeclaredParameter]]
"""What the templates of each endpoint declare, by its name."""


class ProjectCache:
    """Projects by the id of their deployment."""

    def __init__(self) -> None:
        self._loaded: dict[int, LoadedProject] = {}
        self._parameters: dict[int, EndpointParameters] = {}
        self._guard = threading.Lock()

    def load(self, deployment: Deployment) -> LoadedProject:
        """The project of a saved deployment. Raises PenstockError if its files cannot be read."""
        with self._guard:
            found = self._loaded.pop(deployment.id, None)
        loaded = found if found is not None else load_files(deployment.files)
        with self._guard:
            self._loaded[deployment.id] = loaded
            while len(self._loaded) > MOST_PROJECTS:
                forgotten = next(iter(self._loaded))
                del self._loaded[forgotten]
                self._parameters.pop(forgotten, None)
        return loaded

    def endpoint_parameters(self, deployment: Deployment) -> EndpointParameters:
        """The parameters of each endpoint of a saved deployment; its templates are read once. Raises PenstockError if
        its files cannot be read."""
        project = self.load(deployment).project
        with self._guard:
            found = self._parameters.get(deployment.id)
        if found is None:
            found = {each.name: parameters_of(project, each) for each in project.pipes if each.endpoint is not None}
            with self._guard:
                if deployment.id in self._loaded:
                    self._parameters[deployment.id] = found
        return found
