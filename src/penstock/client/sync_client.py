"""The client whose calls block until they are answered.

In: rows, SQL and endpoints. Out: results, rows, models and tables. Invariants: a batch of rows is stored once, whatever
breaks; every error is a `ClientError`; several threads may use a client at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, overload

import httpx
import pyarrow as pa
from pydantic import BaseModel

from penstock.api.objects.row_insertion import InsertOptions, InsertResult, RowTarget
from penstock.client.answers.answer_rows import read_rows, read_table
from penstock.client.answers.arrow_stream import ArrowStream
from penstock.client.answers.row_values import Row
from penstock.client.answers.tables import SparkSession, to_pandas, to_spark
from penstock.client.client_core import ClientCore
from penstock.client.http_answers import ClientOptions, connection_errors, refuse_failure, require_open
from penstock.client.requests import EndpointQuery, NamedEndpoint, Request, query_request
from penstock.client.retries import Deadline, retry_loop

if TYPE_CHECKING:
    from pandas import DataFrame  # noqa: TID251 only the name

Model = TypeVar("Model", bound=BaseModel)
Found = TypeVar("Found")
Parameters: TypeAlias = Union[Mapping[str, object], BaseModel, None]
Source: TypeAlias = Union[str, EndpointQuery]
"""What can be asked: SQL, or an endpoint."""
Deployment: TypeAlias = Union[str, int, None]
"""`live`, `staging`, `previous`, or the id of a deployment; live if it is None."""


class Client:
    """Inserts rows and asks for rows.

    Without `url` and `token` it calls the server of PENSTOCK_URL with the token of PENSTOCK_TOKEN, else that of the
    project's folder: `project`, or the nearest one upwards. Every method raises ClientError.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        project: str | Path | None = None,
        options: ClientOptions | None = None,
    ):
        self._core = ClientCore.of(url, token, project, options)
        self.url = self._core.connection.url
        self._http, self._process = self._make_connections(), os.getpid()
        self._is_checked = False

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def insert(
        self,
        target: str | RowTarget,
        rows: object,
        options: InsertOptions | None = None,
        *,
        model: type[BaseModel] | None = None,
    ) -> InsertResult:
        """Store rows in a data source: by its name, or the object of a table or stream. Rows are models, dicts or
        dataclasses in a list or any iterator, or a table of Arrow, pandas or Spark. `model` checks rows for a name."""
        insertion = self._core.insertion(target, options, model)
        with insertion.reporting():
            for batch in insertion.batches(rows):
                insertion.confirm(*self._send(insertion.request(batch)))
            return insertion.finish()

    @overload
    def query(
        self, source: Source, parameters: Parameters = None, *, model: type[Model], deployment: Deployment = None
    ) -> list[Model]: ...
    @overload
    def query(
        self, source: Source, parameters: Parameters = None, *, model: None = None, deployment: Deployment = None
    ) -> list[Row]: ...
    def query(
        self,
        source: Source,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> list[Any]:
        """The rows of a query as dicts, or as models. `{name}` in SQL stands for the parameter of that name."""
        request = query_request(source, parameters, deployment)
        return self._read(request, lambda stream: list(read_rows(stream, model)))

    @overload
    def stream(
        self, source: Source, parameters: Parameters = None, *, model: type[Model], deployment: Deployment = None
    ) -> Iterator[Model]: ...
    @overload
    def stream(
        self, source: Source, parameters: Parameters = None, *, model: None = None, deployment: Deployment = None
    ) -> Iterator[Row]: ...
    def stream(
        self,
        source: Source,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> Iterator[Any]:
        """As `query`, with the rows as they arrive; the query is sent when the first is asked for."""
        request = query_request(source, parameters, deployment)
        response = self._open(request)
        try:
            yield from read_rows(self._arrow(response), model)
        finally:
            response.close()

    def query_arrow(self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None) -> pa.Table:
        """The rows of a query as a table of Arrow."""
        return self._read(query_request(source, parameters, deployment), read_table)

    def stream_arrow(
        self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a query as Arrow's record batches, as they arrive."""
        response = self._open(query_request(source, parameters, deployment))
        try:
            yield from self._arrow(response).batches()
        finally:
            response.close()

    def query_pandas(
        self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None
    ) -> DataFrame:
        """The rows of a query as a DataFrame of pandas."""
        return to_pandas(self.query_arrow(source, parameters, deployment=deployment))

    def query_spark(
        self,
        source: Source,
        session: SparkSession,
        parameters: Parameters = None,
        *,
        deployment: Deployment = None,
    ) -> Any:
        """The rows of a query as a DataFrame of the caller's session of Spark."""
        return to_spark(self.query_arrow(source, parameters, deployment=deployment), session)

    @overload
    def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: type[Model],
        deployment: Deployment = None,
    ) -> list[Model]: ...
    @overload
    def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: None = None,
        deployment: Deployment = None,
    ) -> list[Row]: ...
    def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> list[Any]:
        """The rows of an endpoint, by its name or its `Api`. Every other form of them: ask an `EndpointQuery`."""
        request = query_request(EndpointQuery(endpoint, parameters), None, deployment)
        return self._read(request, lambda stream: list(read_rows(stream, model)))

    def _send(self, request: Request) -> tuple[int, bytes]:
        """The status and body of an answer of success, after as many attempts as it takes."""
        return retry_loop(self._core.options.retry_seconds)(self._send_once, request, self._core.deadline())

    def _send_once(self, request: Request, deadline: Deadline) -> tuple[int, bytes]:
        self._check_project()
        with deadline.attempt():
            with connection_errors(self.url):
                answer = self._connections().request(**self._core.sent(request, deadline))
            refuse_failure(answer, request, answer.content)
        return answer.status_code, answer.content

    def _read(self, request: Request, read: Callable[[ArrowStream], Found]) -> Found:
        """The whole answer; one that breaks off is asked for again."""

        def read_once(deadline: Deadline) -> Found:
            response = self._open_once(request, deadline)
            try:
                return read(self._arrow(response))
            finally:
                response.close()

        return retry_loop(self._core.options.retry_seconds)(read_once, self._core.deadline())

    def _open(self, request: Request) -> httpx.Response:
        """An answer of success whose body is still to come."""
        return retry_loop(self._core.options.retry_seconds)(self._open_once, request, self._core.deadline())

    def _open_once(self, request: Request, deadline: Deadline) -> httpx.Response:
        self._check_project()
        connections = self._connections()
        with connection_errors(self.url):
            answer = connections.send(connections.build_request(**self._core.sent(request, deadline)), stream=True)
            if not answer.is_success:
                answer.read()
                answer.close()
                refuse_failure(answer, request, answer.content)
        return answer

    def _arrow(self, response: httpx.Response) -> ArrowStream:
        pieces = (piece for piece in response.iter_bytes() if piece)

        def pull() -> bytes:
            with connection_errors(self.url):
                return next(pieces, b"")

        return ArrowStream(pull)

    def _connections(self) -> httpx.Client:
        """Those of this process: one that was forked makes its own, as the parent's answers come over the others.
        Raises ClientError if they were closed."""
        require_open(self._http)
        if self._process != os.getpid():
            self._http, self._process = self._make_connections(), os.getpid()
        return self._http

    def _make_connections(self) -> httpx.Client:
        to = self._core.connection
        return httpx.Client(base_url=to.url, headers=to.headers, verify=to.verify, trust_env=False)

    def _check_project(self) -> None:
        """Raises ClientError if the address was found by a project's files and another project's server is there."""
        if not self._is_checked:
            self._core.connection.check_project()
            self._is_checked = True
