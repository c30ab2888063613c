"""Endpoints: `Api[Parameters, Row](name, sql="…")`.

In: SQL, whose `{name}` stand for parameters, and a Pydantic model of these. Out: a declared endpoint. Invariant: the
values of parameters are bound as typed values and never become SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import BaseModel

from penstock.api.objects.declarations import Declared, require_text
from penstock.api.objects.nodes import Nodes, nodes_of
from penstock.api.objects.tables import Token

Parameters = TypeVar("Parameters")
Row = TypeVar("Row")


class Api(Declared, Generic[Parameters, Row]):
    """A query that is called over HTTP by its name. `{field}` in its SQL is a parameter: a field of the first model,
    whose value is bound and never becomes SQL; `Api[None, Row]` has none. The second model documents the rows.

    Raises TypeError without `sql`. A `{name}` of no field, or a field of a type that no parameter can have, is a
    problem where the project is loaded.

    >>> class Search(BaseModel):
    ...     page: str
    ...     most: int = 10
    >>> search = Api[Search, Event](
    ...     "search", sql=f"SELECT id, at, page FROM {events} WHERE page = {{page}} ORDER BY at LIMIT {{most}}"
    ... )
    """

    parameters: ClassVar[type[BaseModel] | None] = None

    if not TYPE_CHECKING:

        def __class_getitem__(cls, models: object) -> type:
            given = models if isinstance(models, tuple) else (models,)
            if len(given) != 2 or not all(each is None or isinstance(each, type) for each in given):
                raise TypeError("Api[…] needs two models: those of its parameters (or None) and of its rows")
            return _with_parameters(cls, given[0])

    def __init__(  # noqa: PLR0913 the field's arguments, most of them by name
        self,
        name: str,
        query_function: object = None,
        *,
        sql: str | None = None,
        nodes: Nodes | None = None,
        tokens: Sequence[Token] = (),
        description: str | None = None,
    ):
        if query_function is not None:
            raise TypeError(f"Api {name!r}: handlers in Python are not in this version; give the query as sql=…")
        if sql is None:
            raise TypeError(f"Api {name!r} needs its query: sql=…")
        require_text(f"SQL of Api {name!r}", sql)
        super().__init__(name)
        self.sql = sql
        self.nodes = nodes_of(f"Api {name!r}", nodes)
        """Queries by name, each of which those after it and `sql` may read."""
        self.tokens = tokens
        self.description = description


@cache
def _with_parameters(kind: type, parameters: type | None) -> type:
    if parameters in (None, type(None)):
        return kind
    if not isinstance(parameters, type) or not issubclass(parameters, BaseModel):
        raise TypeError(f"the parameters of Api[…] are a Pydantic model or None, not {parameters!r}")
    return type(kind.__name__, (kind,), {"parameters": parameters, "__module__": kind.__module__})
