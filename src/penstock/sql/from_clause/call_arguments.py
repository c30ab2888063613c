"""Arguments of table functions that read from outside of this server: texts, words, and logins.

In: the nodes of a call. Out: texts. Invariants: a login comes from the server's secrets, never from the text of a
datafile or a parameter; the value of an argument is in no message, since it may be a secret.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.environment import Environment
from penstock.sql.syntax.problems import Refused, offset_of, refusal
from penstock.template.rendering import RenderedSql
from penstock.template.values import NO_VALUE

CODE = "external-table"


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of one call."""

    environment: Environment
    call: exp.Expr
    function: str
    form: str
    """How the call is written, for hints."""

    def refuse(self, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
        """The error at the place of an argument."""
        return refusal(self.environment.text, node, CODE, message, hint or f"write {self.form}")

    def unsupported(self, node: exp.Expr, message: str, hint: str | None = None) -> Refused:
        """The error at the place of what ClickHouse takes and this version does not: the copy is deployed, and does not
        run."""
        shown = f"this copy does not run: {message}"
        return refusal(self.environment.text, node, "unsupported-source", shown, hint or f"write {self.form}")

    def text(self, node: exp.Expr, part: str) -> str:
        """The text in quotes that an argument is. Raises Refused for any other, an empty one, or one with a NUL."""
        if not isinstance(node, exp.Literal) or not node.args.get("is_string"):
            message = f"the {part} of `{self.function}` must be a text in quotes, or a value of the template"
            raise self.refuse(node, message)
        if "\0" in node.name or (not node.name and part != "schema"):
            raise self.refuse(node, f"the {part} of `{self.function}` is empty or has a character that no name has")
        return node.name

    def word(self, node: exp.Expr, part: str) -> str:
        """A text in quotes, or a name that stands for itself, such as a format."""
        if isinstance(node, exp.Column) and not node.table:
            return node.name
        return self.text(node, part)

    def is_unknown(self, value: str) -> bool:
        """Whether a text stands for a value that is known only when the copy runs."""
        return value == NO_VALUE and self.environment.given.mode == "check"

    def check_secret(self, node: exp.Expr, part: str) -> None:
        """Raises Refused for a login that is written in the datafile, which is kept and shown, or given by a caller."""
        given = self.environment.given
        is_secret = given.mode != "call" or node.name in (given.secrets or {}).values()
        if self.is_value(node) and (is_secret or part == "user"):
            return
        message = (
            f"the {part} of `{self.function}` must come from a secret of the server: datafiles and jobs are kept "
            "and shown"
        )
        hint = f"write {{{{ tb_secret('NAME') }}}}, and set PENSTOCK_SECRET_NAME to the {part} where the server runs"
        raise self.refuse(node, message, hint)

    def is_value(self, node: exp.Expr) -> bool:
        """Whether an argument is a value of the template, as a secret is."""
        text, at = self.environment.text, offset_of(node)
        return isinstance(text, RenderedSql) and at is not None and text.is_value(at)
