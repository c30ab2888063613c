"""The client whose calls are awaited.

In: rows, SQL and endpoints. Out: results, rows, models and tables. Invariants: what blocks (reading rows, packing,
Arrow) runs in threads, so the event loop goes on; the batches under way at once are bounded; else as `sync_client`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import httpx
import pyarrow as pa
from pydantic import BaseModel

from penstock.api.objects.row_insertion import InsertOptions, InsertResult, RowTarget
from penstock.client.answers.answer_rows import batch_reader, read_rows, read_table
from penstock.client.answers.arrow_stream import ArrowStream
from penstock.client.answers.row_values import Row
from penstock.client.answers.tables import SparkSession, to_pandas, to_spark
from penstock.client.client_core import ClientCore
from penstock.client.http_answers import ClientOptions, connection_errors, refuse_failure, require_open
from penstock.client.insertion import Insertion, interrupted_rows
from penstock.client.requests import EndpointQuery, NamedEndpoint, Request, query_request
from penstock.client.retries import Deadline, async_retry_loop
from penstock.client.rows.row_batches import RowBatch
from penstock.client.sync_client import Deployment, Found, Model, Parameters, Source

if TYPE_CHECKING:
    from pandas import DataFrame  # noqa: TID251 only the name


class AsyncClient:
    """`Client` for asyncio: the same methods, awaited. Rows may also come from an asynchronous iterator."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        project: str | Path | None = None,
        options: ClientOptions | None = None,
    ):
        self._core = ClientCore.of(url, token, project, options)
        connection = self._core.connection
        self.url = connection.url
        self._http = httpx.AsyncClient(
            base_url=connection.url, headers=connection.headers, verify=connection.verify, trust_env=False
        )
        self._sends = asyncio.Semaphore(self._core.options.sends_at_once)
        self._is_checked = False

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def insert(
        self,
        target: str | RowTarget,
        rows: object,
        options: InsertOptions | None = None,
        *,
        model: type[BaseModel] | None = None,
    ) -> InsertResult:
        """As `Client.insert`."""
        insertion = self._core.insertion(target, options, model)
        with insertion.reporting():
            async for batch in _batches(insertion, rows):
                request = await asyncio.to_thread(insertion.request, batch)
                async with self._sends:
                    answer = await self._send(request)
                insertion.confirm(*answer)
            return insertion.finish()

    @overload
    async def query(
        self, source: Source, parameters: Parameters = None, *, model: type[Model], deployment: Deployment = None
    ) -> list[Model]: ...
    @overload
    async def query(
        self, source: Source, parameters: Parameters = None, *, model: None = None, deployment: Deployment = None
    ) -> list[Row]: ...
    async def query(
        self,
        source: Source,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> list[Any]:
        """The rows of a query as dicts, or as models. `{name}` in SQL stands for the parameter of that name."""
        request = query_request(source, parameters, deployment)
        return await self._read(request, lambda stream: list(read_rows(stream, model)))

    @overload
    def stream(
        self, source: Source, parameters: Parameters = None, *, model: type[Model], deployment: Deployment = None
    ) -> AsyncIterator[Model]: ...
    @overload
    def stream(
        self, source: Source, parameters: Parameters = None, *, model: None = None, deployment: Deployment = None
    ) -> AsyncIterator[Row]: ...
    async def stream(
        self,
        source: Source,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> AsyncIterator[Any]:
        """As `query`, with the rows as they arrive; the query is sent when the first is asked for."""
        response = await self._open(query_request(source, parameters, deployment))
        try:
            stream = await asyncio.to_thread(ArrowStream, self._pull(response))
            read = batch_reader(stream.schema, model)
            while (batch := await asyncio.to_thread(stream.next_batch)) is not None:
                for row in read(batch):
                    yield row
        finally:
            await response.aclose()

    async def query_arrow(
        self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None
    ) -> pa.Table:
        """The rows of a query as a table of Arrow."""
        return await self._read(query_request(source, parameters, deployment), read_table)

    async def stream_arrow(
        self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None
    ) -> AsyncIterator[pa.RecordBatch]:
        """The rows of a query as Arrow's record batches, as they arrive."""
        response = await self._open(query_request(source, parameters, deployment))
        try:
            stream = await asyncio.to_thread(ArrowStream, self._pull(response))
            while (batch := await asyncio.to_thread(stream.next_batch)) is not None:
                yield batch
        finally:
            await response.aclose()

    async def query_pandas(
        self, source: Source, parameters: Parameters = None, *, deployment: Deployment = None
    ) -> DataFrame:
        """The rows of a query as a DataFrame of pandas."""
        return await asyncio.to_thread(to_pandas, await self.query_arrow(source, parameters, deployment=deployment))

    async def query_spark(
        self,
        source: Source,
        session: SparkSession,
        parameters: Parameters = None,
        *,
        deployment: Deployment = None,
    ) -> Any:
        """The rows of a query as a DataFrame of the caller's session of Spark."""
        return await asyncio.to_thread(
            to_spark, await self.query_arrow(source, parameters, deployment=deployment), session
        )

    @overload
    async def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: type[Model],
        deployment: Deployment = None,
    ) -> list[Model]: ...
    @overload
    async def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: None = None,
        deployment: Deployment = None,
    ) -> list[Row]: ...
    async def endpoint(
        self,
        endpoint: str | NamedEndpoint,
        parameters: Parameters = None,
        *,
        model: type[BaseModel] | None = None,
        deployment: Deployment = None,
    ) -> list[Any]:
        """The rows of an endpoint, by its name or its `Api`. Every other form of them: ask an `EndpointQuery`."""
        request = query_request(EndpointQuery(endpoint, parameters), None, deployment)
        return await self._read(request, lambda stream: list(read_rows(stream, model)))

    async def _send(self, request: Request) -> tuple[int, bytes]:
        loop = async_retry_loop(self._core.options.retry_seconds)
        return await loop(self._send_once, request, self._core.deadline())

    async def _send_once(self, request: Request, deadline: Deadline) -> tuple[int, bytes]:
        await self._check_project()
        with deadline.attempt():
            with connection_errors(self.url):
                answer = await self._http.request(**self._core.sent(request, deadline))
            refuse_failure(answer, request, answer.content)
        return answer.status_code, answer.content

    async def _read(self, request: Request, read: Callable[[ArrowStream], Found]) -> Found:
        """The whole answer; one that breaks off is asked for again."""

        async def read_once(deadline: Deadline) -> Found:
            response = await self._open_once(request, deadline)
            try:
                pull = self._pull(response)
                return await asyncio.to_thread(lambda: read(ArrowStream(pull)))
            finally:
                await response.aclose()

        return await async_retry_loop(self._core.options.retry_seconds)(read_once, self._core.deadline())

    async def _open(self, request: Request) -> httpx.Response:
        """An answer of success whose body is still to come."""
        loop = async_retry_loop(self._core.options.retry_seconds)
        return await loop(self._open_once, request, self._core.deadline())

    async def _open_once(self, request: Request, deadline: Deadline) -> httpx.Response:
        await self._check_project()
        with connection_errors(self.url):
            sent = self._http.build_request(**self._core.sent(request, deadline))
            answer = await self._http.send(sent, stream=True)
            if not answer.is_success:
                await answer.aread()
                await answer.aclose()
                refuse_failure(answer, request, answer.content)
        return answer

    def _pull(self, response: httpx.Response) -> Callable[[], bytes]:
        """What a thread gets the next bytes with, which the event loop reads meanwhile."""
        loop, pieces = asyncio.get_running_loop(), response.aiter_bytes()

        async def next_piece() -> bytes:
            with connection_errors(self.url):
                async for piece in pieces:
                    if piece:
                        return piece
            return b""

        return lambda: asyncio.run_coroutine_threadsafe(next_piece(), loop).result()

    async def _check_project(self) -> None:
        """Raises ClientError if the client was closed, or if the address was found by a project's files and another
        project's server is there."""
        require_open(self._http)
        if not self._is_checked:
            await asyncio.to_thread(self._core.connection.check_project)
            self._is_checked = True


async def _batches(insertion: Insertion, rows: object) -> AsyncIterator[RowBatch]:
    if isinstance(rows, AsyncIterable):
        async for batch in _awaited_batches(insertion, rows):
            yield batch
        return
    found = await asyncio.to_thread(insertion.batches, rows)
    while (made := await asyncio.to_thread(next, found, None)) is not None:
        yield made


async def _awaited_batches(insertion: Insertion, rows: AsyncIterable[object]) -> AsyncIterator[RowBatch]:
    found = aiter(rows)
    while True:
        try:
            row = await anext(found)
        except StopAsyncIteration:
            break
        except Exception as error:
            raise interrupted_rows(error) from error
        done = insertion.add(row)
        if done is not None:
            yield done
    last = insertion.finish_batches()
    if last is not None:
        yield last
