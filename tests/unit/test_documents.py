"""Documents stay true: their commands exist, and they name nothing that a reader of the repository
does not have.
"""

import pathlib
import re
import shlex
import subprocess
from typing import Any

import pytest
import typer
from _pytest.config.argparsing import Parser

from harness import errors, pytest_plugin
from harness.checks import check_registry, verdicts
from harness.cli import commands, interruptions

ROOT = pathlib.Path(__file__).parents[2]
DOCUMENTS = [
    "README.md",
    "CONTRIBUTING.md",
    "clusters/README.md",
    "scenarios/README.md",
    "reports/README.md",
    "tests/README.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
VERDICTS = (ROOT / "docs/reference/verdicts.md").read_text()
THIS_FILE = "tests/unit/test_documents.py"
COMMAND = re.compile(r"flake-hunt +(-?-?[a-z][^\n`]*)")
END_OF_COMMAND = re.compile(r"\s{2,}|\s#|;|\s\|\s")
CODE = re.compile(r"^```[^\n]*\n(.*?)^```|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
TEXT = (".py", ".md", ".toml", ".yml", ".yaml", ".j2", "Makefile")
PATH = re.compile(r"\b(?:harness|tests|tools|clusters|scenarios|bench)/[\w./-]*[\w/]")
FOREIGN = re.compile(r"house (?:rule|style|plan)|found by use|\.\./shared|/tmp/wt", re.IGNORECASE)
ROOT_COMMAND: Any = typer.main.get_command(commands.make_app())


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git here to name the files of the repository")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def texts() -> dict[str, str]:
    names = [name for name in tracked() if name.endswith(TEXT) and name != THIS_FILE]
    return {name: (ROOT / name).read_text() for name in names}


def code(document: str) -> list[str]:
    """Lines of code blocks, and inline code."""
    found = CODE.findall((ROOT / document).read_text())
    return [line for block, inline in found for line in (block or inline).splitlines()]


def commands_of(lines: list[str]) -> list[list[str]]:
    found = [match[1] for line in lines for match in COMMAND.finditer(line)]
    return [shlex.split(END_OF_COMMAND.split(words)[0].replace("…", "")) for words in found]


def parse(words: list[str]) -> None:
    """Find the command and let it parse its options; what they would do does not happen."""
    command, names, rest = ROOT_COMMAND, ["flake-hunt"], list(words)
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        assert rest[0] in command.commands, f"{' '.join(names)} has no command {rest[0]}"
        names.append(rest.pop(0))
        command = command.commands[names[-1]]
    settings = command.context_settings
    context = command.context_class(command, info_name=" ".join(names), **settings)
    command.make_parser(context).parse_args(rest)


def test_every_command_is_one() -> None:
    assert commands_of(code("README.md"))
    for document in DOCUMENTS:
        for words in commands_of(code(document)):
            try:
                parse(words)
            except Exception as error:
                raise AssertionError(
                    f"{document}: flake-hunt {shlex.join(words)}: {error}"
                ) from error


OPTIONS_OF_OTHERS = {
    "--term-old",
    "--term-new",
    "--name",
    "--context",
    "--no-compile",
    "--feature-gates",
}
"""Of git, of programs under test, of kubectl and of pip."""


def options(command: Any) -> set[str]:
    own = {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
    return own.union(*map(options, getattr(command, "commands", {}).values()))


def test_every_option_is_one_of_some_command() -> None:
    known = options(ROOT_COMMAND) | options_of_fixtures() | OPTIONS_OF_OTHERS
    named = {
        (document, name)
        for document in DOCUMENTS
        for line in code(document)
        for name in re.findall(r"(?<![\w-])--[a-z-]+", line)
    }
    assert {(document, name) for document, name in named if name not in known} == set()


def options_of_fixtures() -> set[str]:
    """The options that pytest has where Flake Hunt is installed."""
    parser = Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser)
    return {name for option in parser.getgroup("flake-hunt").options for name in option.names()}


def test_the_documents_name_every_command() -> None:
    named = {words[0] for document in DOCUMENTS for words in commands_of(code(document)) if words}
    every = {name for name, command in ROOT_COMMAND.commands.items() if not command.hidden}
    assert every - named == set()


def test_every_make_target_is_one() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE))
    lines = [line.split() for document in DOCUMENTS for line in code(document)]
    assert {words[1] for words in lines if words[:1] == ["make"] and words[1:]} <= targets


def test_every_path_and_link_is_there() -> None:
    missing = []
    for document in DOCUMENTS:
        text, folder = (ROOT / document).read_text(), (ROOT / document).parent
        links = re.findall(r"\]\((?!https?:)([^)#]+)\)", text)
        missing += [(document, link) for link in links if not (folder / link).exists()]
        missing += [(document, path) for path in PATH.findall(text) if not (ROOT / path).exists()]
    assert missing == []


def headings(document: pathlib.Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and the site make them."""
    found = re.findall(r"^#+ (.*)$", FENCED.sub("", document.read_text()), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in found)
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain}


def test_every_link_to_a_heading_finds_it() -> None:
    missing = []
    for path in [ROOT / document for document in DOCUMENTS]:
        links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", path.read_text())
        there = {name: headings(path.parent / name if name else path) for name, _ in links}
        missing += [
            (path.name, name, anchor) for name, anchor in links if anchor not in there[name]
        ]
    assert missing == []


def test_nothing_refers_to_what_only_its_authors_had() -> None:
    assert [name for name, text in texts().items() if FOREIGN.search(text)] == []


def test_the_exit_codes_of_the_documents() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w*) *\|", VERDICTS, re.MULTILINE)
    expected = {str(verdict.exit_code): str(verdict) for verdict in verdicts.Verdict}
    others = (errors.UsageError.exit_code, errors.HarnessError.exit_code, interruptions.EXIT_CODE)
    assert dict(rows) == expected | {str(other): "" for other in others}


def test_every_check_belongs_to_a_guarantee_that_is_explained() -> None:
    letters = re.findall(r"^\| ([A-Z]) \| [^|]+ \|$", VERDICTS, re.M)
    assert len(letters) == len({*letters})
    assert {*letters} == {check.guarantee for check in check_registry.CHECKS}
