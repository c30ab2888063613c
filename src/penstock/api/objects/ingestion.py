"""How rows get in: `Stream`, `IngestApi`, `DeadLetterQueue`, and `IngestPipeline`, which makes all of them and a table.

In: a Pydantic model, a name and options. Out: names for what every data source has: rows are sent to it by its name
(docs/events.md), and those that do not fit go to its quarantine. Invariant: nothing is made beside data sources and
views; a stream that has not got the name of its table is a data source that keeps no rows, with a view into the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn

from penstock.api.objects.columns import columns_of
from penstock.api.objects.declarations import Modelled, RowModel
from penstock.api.objects.engines import NullEngine
from penstock.api.objects.option_values import member_of, require_flags, require_kind, require_mapping
from penstock.api.objects.row_insertion import InsertResult, Rows, insert_rows
from penstock.api.objects.tables import LifeCycle, OlapConfig, OlapTable
from penstock.api.objects.views import MaterializedView, MaterializedViewOptions

QUARANTINE = "_quarantine"
"""What the name of a data source's quarantine ends with."""


class DeadLetterQueue(Modelled[RowModel]):
    """The quarantine of the stream that it is given to: rows that do not fit. `f"{queue}"` is its name in SQL, which
    raises TypeError as long as it belongs to no stream. It belongs to one, and has its model.

    >>> rejected = DeadLetterQueue[Event]("rejected")
    >>> clicks = Stream[Event]("clicks", StreamConfig(default_dead_letter_queue=rejected))
    >>> f"SELECT count() FROM {rejected}"
    'SELECT count() FROM clicks_quarantine'
    >>> count = View("rejected_clicks", f"SELECT count() AS n FROM {rejected}")
    """

    has_file: ClassVar[bool] = False
    rejected_by: OlapTable[Any] | None = None

    def belong_to(self, stream: Modelled[Any], table: OlapTable[Any]) -> None:
        """Be the quarantine of a stream, whose rows arrive in the table. Raises TypeError for a second stream, and for
        one of another model."""
        of = f"{type(stream).__name__} {stream.name!r}"
        if self.rejected_by not in (None, table):
            raise TypeError(
                f"DeadLetterQueue {self.name!r} has the rejected rows of {self.rejected_by.ref!r} already: "
                f"give {of} a queue of its own"
            )
        if self.row_model is not stream.row_model:
            raise TypeError(f"DeadLetterQueue {self.name!r} must have the model of {of}: {stream.row_model.__name__}")
        self.rejected_by = table

    @property
    def ref(self) -> str:
        if self.rejected_by is None:
            raise TypeError(
                f"DeadLetterQueue {self.name!r} belongs to no stream yet: give it to one before SQL reads it"
            )
        return f"{self.rejected_by.ref}{QUARANTINE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamConfig:
    """The options of a stream. `parallelism` and `retention_period` are refused.

    >>> config = StreamConfig(destination=events)
    """

    destination: OlapTable[Any] | None = None
    """The table that keeps the rows; without one, only views read them."""
    version: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    default_dead_letter_queue: DeadLetterQueue[Any] | None = None
    parallelism: int | None = None
    retention_period: int | None = None
    life_cycle: LifeCycle | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "life_cycle", member_of(LifeCycle, "life_cycle", self.life_cycle))
        require_kind("destination", self.destination, OlapTable)
        require_kind("default_dead_letter_queue", self.default_dead_letter_queue, DeadLetterQueue)
        require_mapping("metadata", self.metadata)


class Stream(Modelled[RowModel]):
    """Rows on their way. They are sent by the stream's name, and SQL reads those that arrive.

    With a destination of its own name it is that table; else it is a data source that keeps no rows, with a view into
    the destination if there is one. Raises TypeError for options that would be without effect, and for a destination
    that has other columns than the model.

    >>> raw = Stream[Event]("raw_events", StreamConfig(destination=events))
    >>> raw.ref
    'raw_events'
    """

    has_file: ClassVar[bool] = False

    def __init__(self, name: str, config: StreamConfig | None = None):
        config = config or StreamConfig()
        if not isinstance(config, StreamConfig):
            raise TypeError(f"the config of Stream {name!r} must be a StreamConfig, not {type(config).__name__}")
        _refuse(f"Stream {name!r}", parallelism=config.parallelism, retention_period=config.retention_period)
        super().__init__(name)
        self.config = config
        self.table = self._find_table()
        """The data source in which the rows arrive."""
        if config.default_dead_letter_queue is not None:
            config.default_dead_letter_queue.belong_to(self, self.table)

    @property
    def ref(self) -> str:
        return self.table.ref

    def _find_table(self) -> OlapTable[Any]:
        """The destination, if it has the stream's name; else a data source of its own, with a view into it."""
        config, target = self.config, self.config.destination
        life_cycle = config.life_cycle
        if target is not None:
            self._check_model(target)
        own = OlapConfig(engine=NullEngine(), version=config.version, metadata=config.metadata, life_cycle=life_cycle)
        if target is not None and target.name == self.name and target.config.version == config.version:
            if life_cycle not in (None, target.config.life_cycle):
                raise TypeError(f"Stream {self.name!r} is the table {target.ref!r}: give the life_cycle to the table")
            return target
        made = OlapTable[self.row_model](self.name, own)  # type: ignore[name-defined]
        if target is not None:
            columns = ", ".join(f"`{each}`" for each in target.row_model.model_fields)
            options = MaterializedViewOptions(
                materialized_view_name=f"{made.ref}_to_{target.ref}",
                select_tables=[made],
                select_statement=f"SELECT {columns} FROM {made}",
            )
            MaterializedView[target.row_model](options, target_table=target)  # type: ignore[name-defined]
        return made

    def _check_model(self, target: OlapTable[Any]) -> None:
        """Raises TypeError unless the model has the columns of the destination: a value of another is lost."""
        mine, theirs = (
            {each.field: each.text for each in columns_of(model)} for model in (self.row_model, target.row_model)
        )
        differing = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
        if self.row_model is not target.row_model and differing:
            raise TypeError(
                f"Stream {self.name!r} must have the model of its destination, {target.row_model.__name__}: "
                f"`{differing[0]}` differs in {self.row_model.__name__}"
            )

    def send(self, values: Rows[RowModel] | RowModel) -> InsertResult:
        """Store one row or several, as `OlapTable.insert` does."""
        return insert_rows(self, values, None)

    def add_transform(
        self, destination: object, transformation: Callable[..., object], config: object = None
    ) -> NoReturn:
        """Refused: rows are changed by SQL."""
        raise TypeError(f"Stream {self.name!r}: functions of Python over rows are not in this version; {_IN_SQL}")

    def add_consumer(self, consumer: Callable[..., object], config: object = None) -> NoReturn:
        """Refused: rows are read by SQL."""
        raise TypeError(f"Stream {self.name!r}: functions of Python over rows are not in this version; {_IN_SQL}")


_IN_SQL = "write a MaterializedView that reads the stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestConfig:
    """The options of an ingest endpoint. `path` is refused: rows are posted by the name of the stream.

    >>> orders, bad = Stream[Event]("orders"), DeadLetterQueue[Event]("bad_orders")
    >>> config = IngestConfig(destination=orders, dead_letter_queue=bad)
    """

    destination: Stream[Any]
    dead_letter_queue: DeadLetterQueue[Any] | None = None
    version: str | None = None
    path: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.destination, Stream):
            raise TypeError(f"destination must be a Stream, not {self.destination!r}")
        require_kind("dead_letter_queue", self.dead_letter_queue, DeadLetterQueue)
        require_mapping("metadata", self.metadata)


class IngestApi(Modelled[RowModel]):
    """Where rows are posted: `POST /v0/events?name=NAME`, by the name and version of the stream, of which it has the
    model. Raises TypeError for another name or model.

    >>> taps = IngestApi[Event]("taps", IngestConfig(destination=Stream[Event]("taps")))
    >>> taps.ref
    'taps'
    """

    has_file: ClassVar[bool] = False

    def __init__(self, name: str, config: IngestConfig):
        if not isinstance(config, IngestConfig):
            raise TypeError(f"the config of IngestApi {name!r} must be an IngestConfig, not {type(config).__name__}")
        _refuse(f"IngestApi {name!r}", path=config.path)
        stream = config.destination
        if (name, config.version) != (stream.name, stream.config.version):
            raise TypeError(
                f"IngestApi {name!r}: rows are posted by the name and version of the stream, {stream.ref!r}"
            )
        if self.row_model is not stream.row_model:
            raise TypeError(f"IngestApi {name!r} must have the model of its stream: {stream.row_model.__name__}")
        super().__init__(name)
        self.config = config
        if config.dead_letter_queue is not None:
            config.dead_letter_queue.belong_to(self, stream.table)

    @property
    def ref(self) -> str:
        return self.config.destination.ref


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestPipelineConfig:
    """What a pipeline makes. Without a table (`table=False`) it keeps no rows, and views read those that arrive.

    >>> config = IngestPipelineConfig(table=OlapConfig(order_by_fields=["page"]), version="1")
    """

    table: bool | OlapConfig = True
    stream: bool | StreamConfig = True
    ingest_api: bool | IngestConfig = True
    dead_letter_queue: bool | StreamConfig = True
    version: str | None = None
    path: str | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    life_cycle: LifeCycle | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "life_cycle", member_of(LifeCycle, "life_cycle", self.life_cycle))
        if not isinstance(self.table, OlapConfig):
            require_flags(table=self.table)
            return
        for option in ("version", "life_cycle", "metadata"):
            mine, of_table = getattr(self, option), getattr(self.table, option)
            if mine and of_table and mine != of_table:
                raise TypeError(f"{option} is given twice: {mine!r}, and {of_table!r} in table=OlapConfig(…); keep one")


class IngestPipeline(Modelled[RowModel]):
    """A table, the stream into it, the place where rows are posted, and the quarantine, all of one name. Raises
    TypeError for options that would be without effect.

    >>> whole = IngestPipeline[Event]("whole", IngestPipelineConfig(version="1"))
    >>> f"{whole.get_table()} {whole.get_dead_letter_queue()}"
    'whole_1 whole_1_quarantine'
    """

    has_file: ClassVar[bool] = False

    def __init__(self, name: str, config: IngestPipelineConfig | None = None):
        config = config or IngestPipelineConfig()
        if not isinstance(config, IngestPipelineConfig):
            raise TypeError(
                f"the config of IngestPipeline {name!r} must be an IngestPipelineConfig, not {type(config).__name__}"
            )
        for option in ("stream", "ingest_api", "dead_letter_queue"):
            if not isinstance(getattr(config, option), bool):
                raise TypeError(f"IngestPipeline {name!r}: {option}= is True or False; make it an object of its own")
        _refuse(f"IngestPipeline {name!r}", path=config.path)
        super().__init__(name)
        model, self.config = self.row_model, config
        given = config.table if isinstance(config.table, OlapConfig) else OlapConfig()
        version, life_cycle = given.version or config.version, given.life_cycle or config.life_cycle
        given = replace(given, metadata=given.metadata or config.metadata)
        self.table: OlapTable[Any] | None = None
        if config.table:
            self.table = OlapTable[model](name, replace(given, version=version, life_cycle=life_cycle))  # type: ignore[valid-type]
        options = StreamConfig(destination=self.table, version=version, metadata=config.metadata, life_cycle=life_cycle)
        self.stream: Stream[Any] = Stream[model](name, options)  # type: ignore[valid-type]
        """Rows are sent by its name, also where the config says that there is none."""
        self.dead_letter_queue: DeadLetterQueue[Any] = DeadLetterQueue[model](f"{name}{QUARANTINE}")  # type: ignore[valid-type]
        self.dead_letter_queue.belong_to(self, self.stream.table)

    @property
    def ref(self) -> str:
        return self.stream.ref

    def get_table(self) -> OlapTable[Any]:
        """The table. Raises ValueError if there is none."""
        if self.table is None:
            raise ValueError(f"IngestPipeline {self.name!r} has no table")
        return self.table

    def get_stream(self) -> Stream[Any]:
        """The stream."""
        return self.stream

    def get_dead_letter_queue(self) -> DeadLetterQueue[Any]:
        """The quarantine."""
        return self.dead_letter_queue


def _refuse(of: str, **given: object) -> None:
    """Raises TypeError for an option that would be without effect."""
    for name, value in given.items():
        if value is not None:
            raise TypeError(f"{of}: {name}= is not in this version; remove it")
