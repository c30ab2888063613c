"""SQL as far as it can be read without being parsed: its words.

In: the SQL of a pipe or of an expression. Out: `SqlText`, and the names of resources and columns that it may read.
Invariant: what the SQL reads is among its words, also where a template puts a name together.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace

from penstock.model.datasource import Text
from penstock.model.pipe import Copied, Pipe
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault, TemplateAbort
from penstock.template.parser import is_template
from penstock.template.render_frame import DEPLOY
from penstock.template.rendering import render

_WORD = re.compile(r"\w+")
_EVERY_COLUMN = re.compile(r"\*|\b(COLUMNS|APPLY|FINAL|NATURAL|SAMPLE|TABLESAMPLE)\b", re.IGNORECASE)
_ESCAPED_NAME = re.compile(r"[`\"][^`\"]*\\")
"""A name in quotes that may be written with a backslash."""


@dataclass(frozen=True, slots=True)
class SqlText:
    """SQL as far as it can be read without being parsed."""

    words: frozenset[str]
    """Its words, some of which are names of resources."""
    folded: str
    """All of it, in folded case: Spark ignores the case of names."""
    folded_words: frozenset[str]
    every: bool
    """It may read columns that it does not name."""

    @staticmethod
    def of(sql: str) -> SqlText:
        folded = sql.casefold()
        every = _EVERY_COLUMN.search(sql) is not None or _ESCAPED_NAME.search(sql) is not None
        return SqlText(frozenset(_WORD.findall(sql)), folded, frozenset(_WORD.findall(folded)), every)

    def may_read(self, column: str) -> bool:
        """Whether it may read a column of this name. One that is no plain word, such as `user-id`, is looked for
        anywhere in the text."""
        name = column.casefold()
        return self.every or (name in self.folded_words if _WORD.fullmatch(name) else name in self.folded)


def names_in_sql(pipe: Pipe, names: Collection[str]) -> frozenset[str]:
    """Those of the names that occur in the SQL of a pipe: it may read them, and reads no others of them."""
    return read_sql_text(pipe).words.intersection(names)


def read_sql_text(pipe: Pipe) -> SqlText:
    """The SQL of a pipe. A copy also reads its target: what is written depends on all its columns."""
    sql = "\n".join(text for node in pipe.nodes for text in _sql_texts(node.sql))
    found = SqlText.of(sql)
    target = {node.kind.datasource for node in pipe.nodes if isinstance(node.kind, Copied)}
    return replace(found, words=found.words | target, every=found.every or bool(target))


def _sql_texts(text: Text) -> Iterator[str]:
    """The SQL; for a template also what it renders to without parameters, as rendering may put a name together."""
    yield text.text
    if is_template(text.text):
        try:
            yield render(text, DEPLOY).text
        except (Fault, TemplateAbort):
            return  # it is told where it is compiled
