"""Endpoints: `Api[Parameters, Row](name, sql="…")`.

In: SQL, whose `{name}` stand for parameters, and a Pydantic model of these. Out: a declared endpoint. Invariant: the
values of parameters are bound as typed values and never become SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import GenericAlias
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel

from penstock.api.objects.declarations import Declared, require_text
from penstock.api.objects.nodes import Nodes, nodes_of
from penstock.api.objects.option_values import require_items
from penstock.api.objects.sql_template import require_query
from penstock.api.objects.tables import Token

Parameters = TypeVar("Parameters")
Row = TypeVar("Row")


class Api(Declared, Generic[Parameters, Row]):
    """A query that is called over HTTP by its name. `{field}` in its SQL is a parameter: a field of the first model,
    whose value is bound and never becomes SQL; `Api[None, Row]` has none. The second model documents the rows.

    With a function of a client and the parameters in place of `sql`, that answers, with rows of the second model.

    Raises TypeError without either. A `{name}` of no field, or a field of a type that no parameter can have, is a
    problem where the project is loaded.

    >>> class Search(BaseModel):
    ...     page: str
    ...     most: int = 10
    >>> search = Api[Search, Event](
    ...     "search", sql=f"SELECT id, at, page FROM {events} WHERE page = {{page}} ORDER BY at LIMIT {{most}}"
    ... )
    >>> def newest(client, given: Search):
    ...     query = "SELECT id, at, page FROM {table} WHERE page = {page} ORDER BY at DESC LIMIT {most}"
    ...     return client.query.execute(query, {"table": events, **given.model_dump()})
    >>> newest_events = Api[Search, Event]("newest", query_function=newest)
    """

    parameters: ClassVar[type[BaseModel] | None] = None
    rows: ClassVar[type[BaseModel] | None] = None

    if not TYPE_CHECKING:

        def __class_getitem__(cls, models: object) -> type:
            given = models if isinstance(models, tuple) else (models,)
            if len(given) != 2 or not all(isinstance(each, (type, type(None), GenericAlias)) for each in given):
                raise TypeError("Api[…] needs two models: those of its parameters (or None) and of its rows")
            return _with_models(cls, given[0], given[1])

    def __init__(  # noqa: PLR0913 the field's arguments, most of them by name
        self,
        name: str,
        query_function: Callable[..., object] | None = None,
        *,
        sql: str | None = None,
        nodes: Nodes | None = None,
        tokens: Sequence[Token] = (),
        description: str | None = None,
    ):
        if (query_function is None) == (sql is None):
            raise TypeError(f"Api {name!r} needs its query: sql=…, or a function (client, parameters) that gives rows")
        if query_function is not None and nodes:
            raise TypeError(f"Api {name!r}: nodes are for sql=…; a function asks its queries itself")
        require_text(f"SQL of Api {name!r}", sql or "")
        if self.parameters is None:
            require_query(f"SQL of Api {name!r}", sql or "")
        require_items(f"tokens of Api {name!r}", tokens, Token)
        super().__init__(name)
        self.sql = sql or ""
        self.query_function = query_function
        self.nodes = nodes_of(f"Api {name!r}", nodes)
        """Queries by name, each of which those after it and `sql` may read."""
        self.tokens = tokens
        self.description = description


@cache
def _with_models(kind: type, parameters: type | None, rows: type | None) -> type:
    if parameters is type(None):
        parameters = None
    if parameters is not None and not issubclass(parameters, BaseModel):
        raise TypeError(f"the parameters of Api[…] are a Pydantic model or None, not {parameters!r}")
    row = _row_model(rows)
    return type(kind.__name__, (kind,), {"parameters": parameters, "rows": row, "__module__": kind.__module__})


def _row_model(rows: type | None) -> type[BaseModel] | None:
    """The model of a row: `Row`, or that of `list[Row]`."""
    of = get_args(rows)[0] if get_origin(rows) is list else rows
    return of if isinstance(of, type) and issubclass(of, BaseModel) else None
