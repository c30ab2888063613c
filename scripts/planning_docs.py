"""The second half of docs/planning.md: what the planner does with every change that has a golden folder.

In: the cases of tests/golden/projects and the edits of tests/golden/edits (`golden_cases` and `edit_cases` beside the
tests read them). Out: two tables in Markdown, and the page with them; `make golden` writes it, and a test compares it
with the code. A row is what the planner says of the case now; above the mark the page is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.plan.diff.changes import change_text
from penstock.plan.plan import Plan, RejectedStrategy, ResourcePlan, Size

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from edit_cases import EDITS, EditCase  # noqa: E402  (they stand beside the tests)
from golden_cases import case_folders, plan_case  # noqa: E402

PAGE = ROOT / "docs/planning.md"
MARK = "<!-- From here on written by scripts/planning_docs.py. -->\n"


def main() -> int:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), case_folders()), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(case_folders())} changes")
    return 0


def page(text: str, cases: Iterable[Path]) -> str:
    """The page with the table of the planner as it is."""
    above, mark, _ = text.partition(MARK)
    assert mark, "the page says where the table begins"
    rows = "".join(f"{_row(case)}\n" for case in cases)
    head = "| case | change | what is done | what is not, and why |\n|---|---|---|---|\n"
    return f"{above}{MARK}\n{head}{rows}\n{edits_table(EDITS)}"


def edits_table(edits: Iterable[EditCase]) -> str:
    """How many edits of each group move no more rows than an expert would, and which rules the others need."""
    groups: dict[str, list[EditCase]] = {}
    for edit in edits:
        groups.setdefault(edit.group, []).append(edit)
    right = [edit for group in groups.values() for edit in group if not edit.missing]
    count = sum(map(len, groups.values()))
    rows = "".join(f"{_group_row(name, group)}\n" for name, group in groups.items())
    return (
        "## Edits for which an expert moves little\n\n"
        f"[{count} small edits](../tests/golden/edits/edits.toml) for which an expert moves no row, or few: "
        f"{len(right)}\nof them move no more here, {count - len(right)} do.\n\n"
        "| group | edits | no more than needed | the others, by the rule that is missing |\n|---|---:|---:|---|\n"
        f"{rows}"
    )


def _group_row(name: str, edits: list[EditCase]) -> str:
    dear = [f"{each.edit}: {each.missing}" for each in edits if each.missing]
    return _cells([name], [str(len(edits))], [str(len(edits) - len(dear))], dear)


def _row(case: Path) -> str:
    plan = plan_case(case)
    changes = [f"`{change.resource}`: {change_text(change)}" for change in plan.changes] or ["none"]
    touched = _touched(plan)
    done = list(map(_done, touched)) or ["nothing"]
    dearer = [f"`{each.name}` not {_not(other)}" for each in touched for other in each.rejected]
    if plan.errors:
        done, dearer = [f"**refused**: {problem.message}" for problem in plan.errors], []
    return _cells([f"[{title(case)}](../tests/golden/projects/{case.name})"], changes, done, dearer)


def title(case: Path) -> str:
    """The name of the case in words."""
    number, _, words = case.name.partition("_")
    return f"{int(number)} {words.replace('_', ' ')}" if number.isdigit() else case.name.replace("_", " ")


def _touched(plan: Plan) -> tuple[ResourcePlan, ...]:
    """The data sources that something is done with; where there are none, whatever changed."""
    changed = tuple(each for each in plan.resources if (each.strategy, each.reason) != ("none", "unchanged"))
    return tuple(each for each in changed if each.kind == "datasource") or changed


def _done(planned: ResourcePlan) -> str:
    return f"`{planned.name}` **{_words(planned.strategy)}**{_price(planned.moves)}: {planned.reason}"


def _not(other: RejectedStrategy) -> str:
    return f"{_words(other.strategy)}{_price(other.moves)}: {other.reason}"


def _words(strategy: str) -> str:
    return strategy.replace("_", " ")


def _price(moves: Size | None) -> str:
    """What is moved, where it is not nothing."""
    if moves is None:
        return " (all rows)"
    return f" ({moves.rows:,} rows)" if moves.rows else ""


def _cells(*cells: Iterable[str]) -> str:
    return f"| {' | '.join('<br>'.join(_escaped(cell)) for cell in cells)} |"


def _escaped(lines: Iterable[str]) -> Iterator[str]:
    return (line.replace("|", "\\|").replace("\n", " ") for line in lines)


if __name__ == "__main__":
    sys.exit(main())
