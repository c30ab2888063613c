"""The topics that data sources read: one reading for each, as the running versions say.

In: the datafiles of the running versions. Out: readings. Invariants: a stream has one reading, however many versions
land its batches, and the live version says how; a data source that cannot be read is shown with the reason.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from penstock.deploy.connections.client_settings import check_installed, client_settings
from penstock.deploy.connections.connection_values import ConnectionValues, fill_secrets
from penstock.deploy.connections.registered_schemas import RegisteredSchemas, UnreadableMessage
from penstock.deploy.ingest.topics.message_lines import message_reader
from penstock.deploy.ingest.topics.topic_reading import TopicParts, TopicReading, TopicSource
from penstock.deploy.ingest.topics.topic_status import ReadingStatus, TopicStatus
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_deployments import DeploymentBoard, landed_sources
from penstock.errors import InvalidRequest, NotFound, PenstockError, did_you_mean
from penstock.model.datasource import DataSource
from penstock.model.deployment import Deployment
from penstock.model.json_path import path_of_key
from penstock.parse.project_loader import LoadedProject

LOOK_SECONDS = 1.0
log = logging.getLogger("penstock.deploy")


class TopicIngestion(PeriodicTask):
    """Looks once a second at what the running versions read."""

    def __init__(self, board: DeploymentBoard, projects: ProjectCache, parts: TopicParts, secrets: Mapping[str, str]):
        super().__init__("topics", LOOK_SECONDS)
        self._board, self._projects, self._parts, self._secrets = board, projects, parts, secrets
        self._readings: dict[str, TopicReading] = {}
        self._refused: dict[str, TopicStatus] = {}
        """By stream, the data sources whose topic cannot be read."""
        self._seen: tuple[tuple[int, str], ...] = ()
        self._guard = threading.Lock()

    def stop(self) -> None:
        super().stop()
        readings = tuple(self._readings.values())
        for reading in readings:
            reading.end()
        for reading in readings:
            reading.join()

    def run_once(self) -> None:
        """Start and end readings, if the running versions are others than before."""
        seen = tuple((each.id, each.state) for each in self._board.running.complete)
        if seen == self._seen and not any(each.has_ended for each in self._readings.values()):
            return
        wanted, refused = self._find_wanted()
        over = {at: each for at, each in self._readings.items() if wanted.get(at) != each.wanted or each.has_ended}
        for reading in over.values():
            reading.end()
        for stream, reading in over.items():
            reading.join()  # a call of the brokers may take seconds: nobody waits for it who asks for a status
            with self._guard:
                del self._readings[stream]
        for stream, topic in wanted.items():
            if stream not in self._readings and not self._stop.is_set():
                with self._guard:
                    self._readings[stream] = TopicReading(topic, self._parts)
        with self._guard:
            self._refused, self._seen = refused, seen

    def statuses(self) -> tuple[TopicStatus, ...]:
        """How each topic is read, by data source."""
        with self._guard:
            found = [*self._refused.values()]
            for each in self._readings.values():
                found.append(TopicStatus(each.wanted.datasource, each.wanted.topic, each.status, dict(each.lag)))
        return tuple(sorted(found, key=lambda each: each.datasource))

    def skip_missing(self, name: str) -> Mapping[int, tuple[int, int]]:
        """Go on with a topic that has lost messages, from the first one that it has. Raises NotFound, Conflict."""
        with self._guard:
            found = {each.wanted.datasource: each for each in self._readings.values()}
        if name not in found:
            raise NotFound(f"`{name}` reads no topic", hint=did_you_mean(name, found))
        return found[name].skip_missing()

    def _find_wanted(self) -> tuple[dict[str, TopicSource], dict[str, TopicStatus]]:
        """By stream, what is to be read, and what cannot be."""
        wanted: dict[str, TopicSource] = {}
        refused: dict[str, TopicStatus] = {}
        for deployment in self._board.running.complete:
            try:
                loaded = self._projects.load(deployment)
            except PenstockError as error:
                log.warning("the topics of deployment %d are not read: %s", deployment.id, error.message)
                continue
            for source, stream in landed_sources(loaded, deployment):
                if source.kafka is None or stream in wanted or stream in refused:
                    continue
                try:
                    wanted[stream] = self._wanted(loaded, deployment, source)
                except PenstockError as error:
                    status = ReadingStatus("waiting", error.message)
                    refused[stream] = TopicStatus(source.name, source.kafka.topic, status, {})
                    log.warning("`%s` reads no topic: %s", source.name, error.message)
        return wanted, refused

    def _wanted(self, loaded: LoadedProject, deployment: Deployment, source: DataSource) -> TopicSource:
        kafka, landing = source.kafka, deployment.manifest.landing(source.name)
        assert kafka is not None, "it has a topic"
        assert landing is not None, "every data source has a landing"
        check_installed()
        paths = {column.name: column.path for column in landing.columns}
        if paths.get("__offset") != path_of_key("__offset"):
            hint = "deploy it with a change of its columns, or under another name"
            raise InvalidRequest("it was deployed by a release that read no topics", hint=hint)
        connection = loaded.connections.get(kafka.connection)
        if connection is None or connection.kind != "kafka":
            raise InvalidRequest(f"there is no connection `{kafka.connection}` of TYPE kafka")
        values = ConnectionValues(connection, self._secrets)
        registry = values.text("KAFKA_SCHEMA_REGISTRY_URL")
        try:
            messages = message_reader(
                (kafka.key_format, kafka.value_format), RegisteredSchemas(registry) if registry else None
            )
        except UnreadableMessage as error:
            raise InvalidRequest(str(error)) from None
        topic, group = (fill_secrets(each, self._secrets) for each in (kafka.topic, kafka.group))
        formats = (kafka.key_format, kafka.value_format, registry)
        return TopicSource(
            source.name, landing.stream, topic, group, kafka.reset, client_settings(values), formats, messages
        )
