"""The SQL of a view in terms of physical tables and columns, to compare it with another version's.

In: `View`. Out: words that are equal for views that do the same under other names. Called by `same`.
Invariant: names are only replaced one to one (a source by its table, a column of a source and a
column of the target by its physical one), so views with equal words give equal rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot.tokens import Token, TokenType

from penstock.model.manifest import Source, View
from penstock.plan.identifiers import output_names


def physical_sql(view: View) -> tuple[str, ...]:
    """The words of a view's SQL."""
    tokens = sqlglot.tokenize(view.sql, dialect="spark")
    sources = {source.placeholder: source for source in (view.trigger, *view.others)}
    targets = dict(zip(output_names(view.sql), view.fields, strict=False))
    text = _Text(tokens, sources, _aliases(tokens, sources), targets)
    return tuple(text.word(at) for at in range(len(tokens)))


def _aliases(tokens: Sequence[Token], sources: Mapping[str, Source]) -> Mapping[str, tuple[Source, ...]]:
    """What each name after a placeholder stands for; more than one where subqueries repeat it."""
    found: dict[str, tuple[Source, ...]] = {}
    for at, token in enumerate(tokens):
        if token.text in sources:
            following = [each.text for each in tokens[at + 1 : at + 3] if each.token_type == TokenType.IDENTIFIER]
            for name in following[:1]:
                found[name] = (*found.get(name, ()), sources[token.text])
    return found


def _meaning(source: Source) -> str:
    return f"{role(source)} {source.binding.table}"


def role(source: Source) -> str:
    """`__new_` for the trigger, `__all_` for a table that is read as it is."""
    return source.placeholder.removesuffix(f"{source.binding.name}__")


@dataclass(frozen=True, slots=True)
class _Text:
    tokens: Sequence[Token]
    sources: Mapping[str, Source]
    aliases: Mapping[str, tuple[Source, ...]]
    targets: Mapping[str, str]

    def word(self, at: int) -> str:
        token = self.tokens[at]
        if token.text in self.sources:
            return _meaning(self.sources[token.text])
        if token.token_type == TokenType.STRING:
            return repr(token.text)
        return self._name(at) if token.token_type == TokenType.IDENTIFIER else token.text

    def _name(self, at: int) -> str:
        text, owner = self.tokens[at].text, self._owner(at)
        if owner is not None:
            return self._column(text, owner)
        if self._is(at - 1, TokenType.DOT) and self._is(at - 3, TokenType.DOT):
            return text  # a field of a struct
        if text in self.aliases and (self._is(at + 1, TokenType.DOT) or self._names_source(at)):
            return self._alias(text)
        return f"target {self.targets[text]}" if text in self.targets else text

    def _owner(self, at: int) -> str | None:
        """What stands before the point before a name, if that is not itself a part of something."""
        if not self._is(at - 1, TokenType.DOT) or not self._is(at - 2, TokenType.IDENTIFIER):
            return None
        return None if self._is(at - 3, TokenType.DOT) else self.tokens[at - 2].text

    def _column(self, name: str, owner: str) -> str:
        """A column of a source by its physical name; one of a subquery as it is called there."""
        columns = [source.binding.column(name) for source in self.aliases.get(owner, ())]
        physical = {column.physical for column in columns if column is not None}
        if len(physical) == 1 and None not in columns:
            return f"column {physical.pop()}"
        return f"target {self.targets[name]}" if owner not in self.aliases and name in self.targets else name

    def _alias(self, name: str) -> str:
        """A source's name by what it reads, unless two could be meant."""
        sources = self.aliases[name]
        alone = len(sources) == 1 and sum(sources[0] in each for each in self.aliases.values()) == 1
        return f"source {_meaning(sources[0])}" if alone else name

    def _names_source(self, at: int) -> bool:
        return any(self._is_placeholder(before) for before in (at - 1, at - 2))

    def _is_placeholder(self, at: int) -> bool:
        return at >= 0 and self.tokens[at].text in self.sources

    def _is(self, at: int, kind: TokenType) -> bool:
        return 0 <= at < len(self.tokens) and self.tokens[at].token_type == kind
