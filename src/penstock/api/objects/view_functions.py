"""Materialized views as functions: `@materialized_view(target=…)` above one that gives SQL, or one over DataFrames.

In: a function, its target and the tables that it reads. Out: a declared view that is still a function, so that a test
can call it. Invariant: the function is not called here; it is called once, when the whole project has been imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from penstock.api.objects.declarations import Declared
from penstock.api.objects.tables import OlapTable

Function = TypeVar("Function", bound=Callable[..., Any])
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ViewFunction(Declared, Generic[Function]):
    """A materialized view whose rows a function says. Calling it calls the function."""

    def __init__(
        self,
        function: Function,
        target: OlapTable[Any],
        sources: Sequence[Declared] = (),
        name: str | None = None,
        metadata: Mapping[str, object] | None = None,
    ):
        if not inspect.isfunction(function):
            raise TypeError(f"@materialized_view stands above a function, not a {type(function).__name__}")
        if any(
            is_kind(function)
            for is_kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
        ):
            raise TypeError(
                f"@materialized_view stands above a plain function: `def {function.__name__}` without async and yield"
            )
        self.function: Function = function
        self.target_table = target
        self.sources = tuple(sources)
        self.metadata = metadata or {}
        parameters = inspect.signature(function).parameters.values()
        self.takes_frames = bool(parameters)
        """Whether it is over DataFrames; else it gives SQL."""
        super().__init__(name or function.__name__)
        if self.takes_frames and (
            len(parameters) != len(self.sources) or any(each.kind not in _POSITIONAL for each in parameters)
        ):
            message = f"`{self.name}` has {len(parameters)} parameters and {len(self.sources)} sources"
            raise TypeError(f"{message}: each parameter is the DataFrame of one source, in their order")

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def materialized_view(
    *,
    target: OlapTable[Any],
    sources: Sequence[Declared] = (),
    name: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Callable[[Function], ViewFunction[Function]]:
    """Declare a function as a materialized view into `target`, named by the function.

    A function without parameters gives ClickHouse SQL. One with parameters is given the DataFrames of `sources`, in
    their order, and gives a DataFrame; new rows of the first source run through it. TypeError: a target or a source
    that is no table, or another number of sources than of parameters.

    >>> class LongPage(BaseModel):
    ...     page: Key[str]
    ...     at: DateTime
    >>> long_pages = OlapTable[LongPage]("long_pages")
    >>> @materialized_view(target=long_pages, sources=[events])
    ... def long_pages_mv(events):
    ...     return events.filter("length(page) > 100").select("page", "at")
    """
    if not isinstance(target, OlapTable):
        raise TypeError(f"the target of @materialized_view must be an OlapTable, not {target!r}")
    for each in sources:
        if not isinstance(each, Declared):
            raise TypeError(f"a source of @materialized_view must be a table of the project, not {each!r}")

    def declare(function: Function) -> ViewFunction[Function]:
        return ViewFunction(function, target, sources, name, metadata)

    return declare
