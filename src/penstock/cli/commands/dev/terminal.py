"""The terminal of `penstock dev`: single keys, and one line at the bottom that is always there.

In: the line's text. Out: keys as they are pressed, without Enter. Invariant: however the block is left, the terminal is
as it was before.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.cells import set_cell_size

from penstock.redaction import escape_controls

_ERASE = "\r\x1b[2K"
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


def find_keyboard() -> int | None:
    """The file of the keyboard; None where output or input is no terminal, or the process is in its background."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    keyboard = sys.stdin.fileno()
    try:
        return keyboard if os.tcgetpgrp(keyboard) == os.getpgrp() else None
    except OSError:
        return None


@contextmanager
def single_keys(keyboard: int | None) -> Iterator[None]:
    """Let the terminal give each key at once, and not show it; also after the process was stopped and goes on."""
    if keyboard is None:
        yield
        return
    before = termios.tcgetattr(keyboard)

    def again(number: int, frame: FrameType | None) -> None:
        tty.setcbreak(keyboard)

    continued = signal.signal(signal.SIGCONT, again)
    try:
        tty.setcbreak(keyboard)
        yield
    finally:
        signal.signal(signal.SIGCONT, continued)
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


class BottomLine:
    """A line below everything that is printed. Without a terminal it is never there."""

    def __init__(self, *, is_shown: bool):
        self._is_shown = is_shown
        self._text = ""

    def show(self, text: str) -> None:
        """Put a text there, cut where the terminal ends."""
        if text != self._text:
            self._text = text
            self._draw()

    def _draw(self) -> None:
        if self._is_shown:
            width = shutil.get_terminal_size().columns - 1
            shown = escape_controls(self._text)
            fitting = set_cell_size(shown, width).rstrip()
            sys.stdout.write(f"{_ERASE}{_DIM}{fitting}{_PLAIN}")
            sys.stdout.flush()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Take the line away while something is printed."""
        if self._is_shown:
            sys.stdout.write(_ERASE)
            sys.stdout.flush()
        try:
            yield
        finally:
            sys.stdout.flush()
            self._draw()

    def remove(self) -> None:
        """Take the line away for good."""
        if self._is_shown:
            self._is_shown = False
            sys.stdout.write(_ERASE)
            sys.stdout.flush()
