"""Docstrings, comments and documents are plain English: a few rules that a program can check."""

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("harness", "tests", "bench", "tools")
SOURCES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *(ROOT / folder / "README.md" for folder in ("clusters", "scenarios", "reports", "tests")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
WORDS = re.compile(
    r"\b(befall\w*|puts? up with|told of|of them those|anew|is said once|on its way out|whoever|"
    r"nobody|somebody|so many)\b",
    re.IGNORECASE,
)
HEADS = re.compile(
    r"(?:^|[.:!?]\s+)(Who|What|Whether|Whoever)\s(?!\w+ (?:is|are|was|were)\?)[^?]*?\."
)
"""A sentence that begins with one of these words; a question may."""
PHRASES = re.compile(WORDS.pattern.replace(" ", r"[\s#]+"), re.IGNORECASE)
FIRST_WORDS = re.compile(r"\b(Who|What|Whether|Whoever)\s")
"""Most files have none of the words, and need not be parsed."""


def comments(source: str) -> Iterator[str]:
    """Yield blocks of lines that are comments, each as one text."""
    for block in re.findall(r"(?:^[ ]*#.*\n)+", source, re.MULTILINE):
        yield block.replace("#", " ")


def docstrings(source: str) -> Iterator[str]:
    """Yield every string that stands as a statement: docstrings, also those of constants."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield text


def faults(text: str) -> list[str]:
    flat = " ".join(text.split())
    return [match[0] for rule in (WORDS, HEADS) for match in rule.finditer(flat)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_sources(folder: str) -> None:
    found = {
        f"{path.relative_to(ROOT)}: {fault}"
        for path in SOURCES
        if path.is_relative_to(ROOT / folder) and path != pathlib.Path(__file__)
        for source in [path.read_text()]
        if PHRASES.search(source) or FIRST_WORDS.search(source)
        for text in (*docstrings(source), *comments(source))
        for fault in faults(text)
    }
    assert not found, "\n".join(sorted(found))


def test_documents() -> None:
    found = []
    for document in DOCUMENTS:
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.MULTILINE | re.DOTALL)
        found += [(document, fault) for block in text.split("\n\n") for fault in faults(block)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "What is dropped before an object is stored.",
        "Drop it. Whoever wrote it is told of it.",
        "Tell somebody.",
    ],
)
def test_the_rules_find_such_sentences(text: str) -> None:
    assert faults(text)


def test_the_rules_leave_plain_sentences_alone() -> None:
    assert faults("Return what changed. Raises StatusError 404 if there is no object.") == []
