"""The SELECT of a function over DataFrames.

In: the function and the tables that it is given. Out: lines of Spark SQL with the calls that made them. Invariant: the
left-most table of the SELECT is the first source, whose new rows run through the view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.api.dataframes.frame import Frame
from penstock.api.dataframes.queries import Line, first_table, query_lines
from penstock.api.dataframes.refusal import RefusedInView
from penstock.api.objects.declarations import CallLocation


def view_lines(
    function: Callable[..., object],
    name: str,
    sources: Sequence[tuple[str, Sequence[str]]],
    made_by: CallLocation,
) -> list[Line]:
    """The lines of the SELECT that a function says; `sources` are tables with their columns."""
    given = function(*(Frame.of_table(table, columns, made_by) for table, columns in sources))
    if not isinstance(given, Frame):
        raise TypeError(f"`{name}` must return a DataFrame made of those that it is given, not {type(given).__name__}")
    query = given.result()
    trigger = first_table(query.relation).name
    if trigger != sources[0][0]:
        message = f"`{name}` begins with `{trigger}`, and its first source is `{sources[0][0]}`"
        raise RefusedInView(message, "new rows of the first source run through a view: begin with it, or name it later")
    return query_lines(query)
