"""docs/commands.md: every command with its arguments and options, from the functions that carry them out.

In: the table of commands. Out: the page in Markdown. Invariant: a command, argument or option that exists is in the
page.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from typer.models import ArgumentInfo, OptionInfo

from penstock.cli.main import COMMANDS
from penstock.cli.session import common_options

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/commands.md"
MARK = "<!-- From here on written by scripts/commands_docs.py. -->\n"
COMMON = frozenset(inspect.signature(common_options).parameters)
"""The options of every command; the head of the page has them."""
VALUES = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "Path": "PATH"}


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(list(commands()))} commands")
    return 0


def page(text: str) -> str:
    """The page: its head as it is, the rest written anew."""
    head = text[: text.index(MARK) + len(MARK)]
    return head + "".join(section(words, function) for words, function in commands())


def commands() -> Iterator[tuple[str, Callable[..., None]]]:
    """Every command that does something, with the words that call it."""
    for command in COMMANDS:
        module = importlib.import_module(command.module)
        if not hasattr(module, "group"):
            yield command.name, getattr(module, command.name)
            continue
        for each in module.group.registered_commands:
            yield f"{command.name} {each.name}", each.callback


def section(words: str, function: Callable[..., None]) -> str:
    """One command: its usage, what it does, and a list of its arguments and options."""
    own = [each for name, each in inspect.signature(function).parameters.items() if name not in (*COMMON, "context")]
    arguments = [each for each in own if isinstance(info_of(each), ArgumentInfo)]
    options = [each for each in own if isinstance(info_of(each), OptionInfo)]
    usage = " ".join(["penstock", words, *map(argument_text, arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"\n## {words}", f"`{usage}`", "", words_of(function.__doc__), ""]
    lines += [f"- `{argument_text(each)}`: {sentence(each)}" for each in arguments]
    lines += [f"- `{option_text(each)}`: {sentence(each)}" for each in options]
    return "\n".join([*lines, ""] if own else lines)


def info_of(parameter: inspect.Parameter) -> Any:
    """What Typer was told about a parameter."""
    return get_args(parameter.annotation)[1]


def argument_text(parameter: inspect.Parameter) -> str:
    name = str(info_of(parameter).metavar or parameter.name.upper())
    return name if is_required(parameter) or name.startswith("[") else f"[{name}]"


def option_text(parameter: inspect.Parameter) -> str:
    info = info_of(parameter)
    names = ", ".join([info.default, *info.param_decls])  # Typer takes the first name for a default until it is called
    return names if type_of(parameter) is bool else f"{names} {info.metavar or value_text(type_of(parameter))}"


def value_text(kind: type) -> str:
    """What stands for the value of an option: its choices, or what kind of value it takes."""
    if issubclass(kind, Enum):
        return "|".join(str(each.value) for each in kind)
    return VALUES[kind.__name__]


def type_of(parameter: inspect.Parameter) -> type:
    """The type of one value: that of `int | None` and of a list of int is int."""
    found: Any = get_args(parameter.annotation)[0]
    while get_args(found):
        found = next(each for each in get_args(found) if each is not type(None))
    kind: type = found
    return kind


def sentence(parameter: inspect.Parameter) -> str:
    """The help of a parameter, and its default where it says something."""
    text = words_of(info_of(parameter).help)
    default = parameter.default
    if is_required(parameter) or default in (None, "", Path()) or isinstance(default, bool):
        return text
    return f"{text} Default: `{default.value if isinstance(default, Enum) else default}`."


def is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def words_of(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    sys.exit(main())
