"""Programs that contributors are shown explain themselves, by `--help` and when called wrongly."""

import pathlib
import re
import subprocess
import sys

import pytest

from bench import __main__ as benchmarks
from tools import collect_changes, findings_index

ROOT = pathlib.Path(__file__).parents[2]
CONTRIBUTING = "\n".join(
    (ROOT / name).read_text()
    for name in (
        "CONTRIBUTING.md",
        "docs/how-to/extend.md",
        "docs/reference/where-is.md",
        "tests/README.md",
    )
)
PROGRAMS = sorted(
    set(re.findall(r"\.venv/bin/python ((?:tools/\S+?\.py)|-m [\w.]+)", CONTRIBUTING))
)

NO_ARGUMENTS = {
    "-m tests.fuzzing.costs",
    "-m tests.histories.golden",
    "tools/collect_changes.py",
    "tools/findings_index.py",
    "tools/man_page.py",
    "tools/result_schemas.py",
}
"""Programs that need no arguments."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_programs_are_named() -> None:
    assert PROGRAMS == [
        "-m tests.e2e.moments",
        "-m tests.fuzzing.costs",
        "-m tests.histories.doctor",
        "-m tests.histories.golden",
        "tools/collect_changes.py",
        "tools/eight_nights.py",
        "tools/findings_index.py",
        "tools/man_page.py",
        "tools/mutations.py",
        "tools/protobuf_numbers.py",
        "tools/report_picture.py",
        "tools/result_schemas.py",
        "tools/schemas.py",
        "tools/track_record.py",
        "tools/whole_searches.py",
    ]


def test_no_program_is_called_by_a_python_that_may_lack_its_packages() -> None:
    assert re.findall(r"(?<!\.venv/bin/)\bpython3? (?:-m |tools/)\S+", CONTRIBUTING) == []


@pytest.mark.parametrize("program", sorted(set(PROGRAMS) - NO_ARGUMENTS))
def test_a_call_without_arguments_is_told_what_is_missing(program: str) -> None:
    done = run(*program.split())
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert "the following arguments are required" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("program", [*PROGRAMS, "tools/wheel_test.py"])
def test_help(program: str) -> None:
    done = run(*program.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "usage:" in done.stdout


def test_a_benchmark_whose_first_figure_is_zero_is_printed() -> None:
    assert benchmarks.line("found", 0.0, "findings", 0.0).split() == [
        "found",
        "0.0",
        "findings",
        "-",
    ]
    assert benchmarks.line("found", 2.0, "findings", 0.0).split()[-1] == "-"
    assert benchmarks.line("pods", 3.0, "pods/s", 2.0).split()[-2:] == ["1.50", "×"]


def test_changes_are_collected_at_the_end_of_what_is_unreleased() -> None:
    changelog = "# Changelog\n\n## Unreleased, to be 0.2.0\n\n- One.\n\n## 0.1.0\n\n- Older.\n"
    found = collect_changes.collected(changelog, ["A new\nkey.\n", "word " * 30])
    assert found.startswith(
        "# Changelog\n\n## Unreleased, to be 0.2.0\n\n- One.\n- A new key.\n- word "
    )
    assert "\n  word" in found
    assert found.endswith("\n\n## 0.1.0\n\n- Older.\n")


def test_changes_are_collected_in_a_changelog_with_one_section() -> None:
    found = collect_changes.collected("# Changelog\n\n## Unreleased\n\n- One.\n", ["Two."])
    assert found == "# Changelog\n\n## Unreleased\n\n- One.\n- Two.\n"


def test_the_index_of_the_findings_has_every_page() -> None:
    text = findings_index.PAGE.read_text()
    assert findings_index.page(text) == text, "python tools/findings_index.py writes it"
