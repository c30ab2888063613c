"""Syntax that datafiles and Python of a project share: names, comments, quoted texts, and what a source defines.

In: a statement of Python. Out: the names that it gives; patterns and texts that both kinds of file share. Invariant: it
loads no parser of SQL, which the process that reads Python of a project does not need.
"""

from __future__ import annotations

import ast
import re

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Valid names of resources and nodes."""
FUNCTION = "HANDLER"
"""The name that the source of a handler gives the function."""
COMMENT = r"--[^\n]*|/\*.*?(?:\*/|\Z)"
QUOTED = r"""'(?:[^'\\]|\\.)*(?:'|\\?\Z)|"(?:[^"\\]|\\.)*(?:"|\\?\Z)|`[^`]*(?:`|\Z)"""
"""What has no end takes the rest of the text, so that no part of it is read twice."""
EXTERNALLY_MANAGED = "no table that others change is a data source; a copy reads one, with iceberg() or a connection"


def names_given(statement: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a value."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {each.asname or each.name for each in statement.names}
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
