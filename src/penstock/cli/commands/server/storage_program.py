"""Run the program that saves and restores the files of a project without its server.

In: its arguments. Out: its JSON document. Invariant: an error of the program becomes the same error here.
"""

from __future__ import annotations

import json
import subprocess
import sys

from penstock.cli.errors import ServerRefusal, parse_error_document
from penstock.cli.json_documents import Json
from penstock.errors import Failed

PROGRAM = "penstock.serve.server.storage_program"


def run_storage_program(*arguments: str) -> Json:
    """What the program answers. Raises ServerRefusal with its error, Failed if it ends without one."""
    done = subprocess.run([sys.executable, "-m", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found: Json = json.loads(done.stdout)
        return found
    last = done.stderr.strip().splitlines()[-1:]
    if not last or not last[0].startswith("{"):
        message = ": ".join([f"the process that does this ended with code {done.returncode}", *last])
        raise Failed(message, hint="run the command again, a backup into another folder")
    raise ServerRefusal(500, parse_error_document(last[0]))
