"""Markdown as GitHub renders it.

Names in evidence are untrusted and are escaped; secrets and paths of the machine are removed.
"""

import re
from collections.abc import Iterable, Sequence

from harness.report import escaping
from harness.report.redaction import texts

_FENCE = re.compile(r"`+")


def text(value: object) -> str:
    """Return a value as plain text on one line, without mentions (`@name`) and links (`#1`)."""
    return escaping.in_markdown(texts.clean(str(value)))


def code(value: object) -> str:
    """Return a value as inline code; for table cells too."""
    line = " ".join(escaping.visible(texts.clean(str(value))).split()).replace("|", "¦")
    longest = max((len(run) for run in _FENCE.findall(line)), default=0)
    fence = "`" * (longest + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}" if line else ""


def block(lines: Iterable[str], language: str = "") -> str:
    """Return lines as a code block that none of them can end."""
    content = "\n".join(escaping.visible(texts.clean(line)) for line in lines)
    longest = max((len(run) for run in _FENCE.findall(content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}\n{fence}"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def folded(title: str, content: str) -> str:
    """Return content that is shown after a click on its title."""
    return f"<details><summary>{text(title)}</summary>\n\n{content}\n\n</details>"
