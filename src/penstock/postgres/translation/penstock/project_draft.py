"""The datafiles of a project while they are being edited.

In: the project's files. Out: the files with the edits. Invariant: each edit is made in what the parser reads of the
files as they are by then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from penstock.errors import did_you_mean
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.pipe import Materialized, Node, Pipe
from penstock.model.project import Project
from penstock.parse.datafile import parse_datafile
from penstock.parse.datasource import DATASOURCE_KEYWORDS, OTHER_DATASOURCE_KEYWORDS
from penstock.parse.project_loader import load_files
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.clickhouse.view_query import ViewQuery
from penstock.postgres.translation.penstock.file_blocks import replace_block
from penstock.postgres.translation.penstock.schema_block import with_added, with_changed, with_removed
from penstock.postgres.translation.refusal import CannotTranslate


class ProjectDraft:
    """Files, and the edits of the operations of one phase on one data source."""

    def __init__(self, files: Mapping[str, str], datasource: str, choices: ViewChoices):
        self._before = dict(files)
        self.files = dict(files)
        self.datasource = datasource
        self.choices = choices
        self.project: Project = load_files(self.files).project

    def edits(self) -> dict[str, str]:
        """The files that are other ones than before."""
        return {path: text for path, text in self.files.items() if self._before.get(path) != text}

    def source(self) -> DataSource:
        """The data source of the table. Raises CannotTranslate."""
        return self.require(self.datasource)

    def require(self, name: str) -> DataSource:
        found = self.project.datasource(name)
        if found is None:
            known = [each.name for each in self.project.datasources]
            hint = did_you_mean(name, known) or "declare it, or say its name in [stores.NAME.tables]"
            raise CannotTranslate(f"the project has no data source `{name}`", hint)
        return found

    def add_column(self, datasource: str, column: Column) -> None:
        self._edit_schema(datasource, lambda block: with_added(block, column))

    def remove_column(self, datasource: str, name: str) -> None:
        self._edit_schema(datasource, lambda block: with_removed(block, name))

    def change_columns(self, datasource: str, changes: Callable[[Column], Column]) -> None:
        self._edit_schema(datasource, lambda block: with_changed(block, changes))

    def readers(self, datasource: str) -> Iterator[tuple[Pipe, Node]]:
        """The nodes that read a data source, with their pipes."""
        for pipe in self.project.pipes:
            for node in pipe.nodes:
                if datasource in ViewQuery(node.sql.text).tables("") or self._is_template(node, datasource):
                    yield pipe, node

    def views(self, datasource: str) -> Iterator[tuple[Pipe, Node, str]]:
        """The materialized views of one node that read a data source, with their targets."""
        for pipe, node in self.readers(datasource):
            if isinstance(node.kind, Materialized):
                yield pipe, node, node.kind.datasource

    def change_query(self, pipe: Pipe, node: Node, query: str) -> None:
        """Give a node another query. Raises CannotTranslate."""
        path = pipe.location.file
        self._replace(path, replace_block(self.files[path], node.sql, query))

    @staticmethod
    def _is_template(node: Node, datasource: str) -> bool:
        return node.sql.text.startswith("%") and datasource in node.sql.text

    def _edit_schema(self, datasource: str, edit: Callable[[Text], str]) -> None:
        path = self.require(datasource).location.file
        parsed = parse_datafile(self.files[path], path, DATASOURCE_KEYWORDS, [], OTHER_DATASOURCE_KEYWORDS)
        block = next(each.value for each in parsed.entries if each.keyword == "SCHEMA")
        self._replace(path, replace_block(self.files[path], block, edit(block)))

    def _replace(self, path: str, text: str) -> None:
        self.files[path] = text
        self.project = load_files(self.files).project
