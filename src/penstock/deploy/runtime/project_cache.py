"""The parsed projects of deployments, each parsed once.

In: a saved deployment, whose files never change. Out: its `LoadedProject`. Invariant: at most MOST_PROJECTS are kept,
the most recently used ones; thread-safe.
"""

from __future__ import annotations

import threading

from penstock.model.deployment import Deployment
from penstock.parse.project_loader import LoadedProject, load_files

MOST_PROJECTS = 64


class ProjectCache:
    """Projects by the id of their deployment."""

    def __init__(self) -> None:
        self._loaded: dict[int, LoadedProject] = {}
        self._guard = threading.Lock()

    def load(self, deployment: Deployment) -> LoadedProject:
        """The project of a saved deployment. Raises PenstockError if its files cannot be read."""
        with self._guard:
            found = self._loaded.pop(deployment.id, None)
        loaded = found if found is not None else load_files(deployment.files)
        with self._guard:
            self._loaded[deployment.id] = loaded
            while len(self._loaded) > MOST_PROJECTS:
                self._loaded.pop(next(iter(self._loaded)))
        return loaded
