"""flake-hunt(1) is what the help says, and troff reads it."""

import importlib.util
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from harness.cli import commands

ROOT = pathlib.Path(__file__).parents[3]
PAGE = ROOT / "docs/flake-hunt.1"
TEXT = PAGE.read_text(encoding="utf-8")
PLAIN = TEXT.replace("\\-", "-")


def every_command(group: Any, names: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield f"{names} {name}", command
            if hasattr(command, "commands"):
                yield from every_command(command, f"{names} {name}")


COMMANDS = dict(every_command(typer.main.get_command(commands.make_app()), "flake-hunt"))


def section(name: str) -> str:
    found = re.search(rf'^\.SS "{name}(?: [^a-z"][^"]*)?"\n(.*?)(?=^\.S[SH])', PLAIN, re.M | re.S)
    assert found, f"the page does not name {name}"
    return found[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_all_its_options(name: str) -> None:
    named = set(re.findall(r"\\fB(-[\w-]+)\\fR", section(name)))
    parameters = [item for item in COMMANDS[name].params if item.param_type_name == "option"]
    assert named == {
        text
        for item in parameters
        if not item.hidden
        for text in (*item.opts, *item.secondary_opts)
    }


def test_the_page_is_what_the_tool_writes() -> None:
    spec = importlib.util.spec_from_file_location("man_page", ROOT / "tools/man_page.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.page() == TEXT, "write it again: .venv/bin/python tools/man_page.py"


def test_troff_reads_it_without_a_warning() -> None:
    if not (groff := shutil.which("groff")):
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", str(PAGE)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "device to two" in done.stdout
