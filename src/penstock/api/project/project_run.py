"""The process that runs a project's module.

In: the arguments FOLDER MODULE RESULT SECONDS BYTES: the project's folder, the name of its module, the file for the
result and the limits. Out: a JSON document with the texts of the datafiles, the places of their lines and the problems.
Invariants: the module is imported once; whatever it does ends as a problem with the user's own line, or as a stack in
RESULT.stack, which the caller reads.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.api.objects.declarations import DECLARED
from penstock.api.project.chance_watch import ChanceWatch
from penstock.api.project.forbidden_calls import CallWatch
from penstock.api.project.rendering import Rendering, describe, group_places, render
from penstock.api.project.source_files import SourceFiles
from penstock.api.project.user_errors import problem_of
from penstock.api.project.view_functions import ViewCalls, call_view_functions
from penstock.errors import Problem

_LARGEST_FILE = 256 * 2**20
"""The most bytes of a file that the project may write; what it writes to its errors would fill the disk otherwise."""


def main(arguments: list[str]) -> int:
    folder, module, result, seconds, size = arguments
    gc.set_threshold(100_000)  # the process is short, and most of what it imports is no garbage
    sources = SourceFiles(Path(folder))
    _limit_memory(int(size))
    crash = open(f"{result}.crash", "w", encoding="utf-8")  # noqa: SIM115 what ends Python writes there
    faulthandler.enable(crash)
    with open(f"{result}.stack", "w", encoding="utf-8") as stack:
        # A thread of C writes the stack and ends the process, whatever Python waits for.
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=stack)
        rendering = _run(module, sources)
        faulthandler.cancel_dump_traceback_later()
    document = {
        "files": dict(describe(rendering.files)),
        "places": group_places(rendering.files),
        "problems": [each.as_json() for each in rendering.problems],
    }
    Path(result).write_text(json.dumps(document), encoding="utf-8")
    # Threads of the project, and what it registered for the end, have no say any more.
    sys.stdout.flush()
    os._exit(0)


def _run(module: str, sources: SourceFiles) -> Rendering:
    """The project as datafiles; if its module cannot be imported, the reason."""
    sys.path[0] = str(sources.folder)
    os.chdir(sources.folder)
    sys.dont_write_bytecode = True
    # What the functions of PySpark give is then a value, for which no Spark runs.
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    os.environ["TZ"] = "UTC"  # a time without a zone means the same on each machine, and what Spark means by it
    time.tzset()
    watch, chance = CallWatch(sources), ChanceWatch(sources)
    failure, views = watch.during(lambda: chance.during(lambda: _read_module(module, sources)))
    rendering = Rendering(sources)
    if failure is not None:
        rendering.problems.append(problem_of(failure, sources, module))
    elif not watch.errors:
        rendering = render(DECLARED, sources, views)
        if not DECLARED:
            rendering.problems.append(watch.nothing_declared(module))
    rendering.problems += _chance_problems(chance)
    told = {(each.message, each.location) for each in watch.problems}
    others = [each for each in rendering.problems if (each.message, each.location) not in told]
    rendering.problems[:] = [*watch.problems, *others]
    return rendering


def _chance_problems(watch: ChanceWatch) -> Iterator[Problem]:
    hint = "a project that is another one at each reading is planned anew each time: write the value, or ask in SQL"
    for place, asked in watch.found.items():
        message = f"the project asks {asked} while it is read"
        yield Problem("not-repeatable", message, place, hint, "warning")


def _read_module(module: str, sources: SourceFiles) -> tuple[BaseException | None, ViewCalls]:
    failure = _import(module)
    return failure, call_view_functions(DECLARED if failure is None else (), sources, module)


def _import(module: str) -> BaseException | None:
    try:
        importlib.import_module(module)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a project are its errors, too
        return error
    return None


def _limit_memory(size: int) -> None:
    _soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size if hard == resource.RLIM_INFINITY else min(size, hard)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
        resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


if __name__ == "__main__":
    main(sys.argv[1:])
