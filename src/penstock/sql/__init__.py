"""The SQL compiler: ClickHouse SQL (or Spark SQL) in, checked Spark SQL out.

`compile` has the entry points, `query` what they return, `function_catalog` the names the compiler knows; the
sub-packages are its parts, each importing only those below it. Invariant: Spark is sent only functions of the
compiler's own tables; SQL whose result would differ from ClickHouse's is refused.

The package can be called as well: in a project in Python, `from penstock import sql` gives what makes SQL of typed
parts, under the name that other tools have for it (`penstock.api.objects.sql_template`).
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType


class _CallablePackage(ModuleType):
    def __call__(self, text: str, /, **parts: object) -> object:
        return import_module("penstock.api.objects.sql_template").sql(text, **parts)


sys.modules[__name__].__class__ = _CallablePackage
