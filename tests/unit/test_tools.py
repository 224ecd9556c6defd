"""Programs that contributors are shown explain themselves, by `--help` and when called wrongly."""

import functools
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from bench import __main__ as benchmarks
from harness.scenario import loading
from tools import collect_changes, finding_pictures, findings_index

ROOT = pathlib.Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
CONTRIBUTING = "\n".join(
    (ROOT / name).read_text()
    for name in (
        "CONTRIBUTING.md",
        "docs/how-to/extend.md",
        "tests/README.md",
    )
)
PROGRAMS = sorted(
    set(re.findall(r"\.venv/bin/python ((?:tools/\S+?\.py)|-m [\w.]+)", CONTRIBUTING))
)

NO_ARGUMENTS = {
    "-m tests.histories.golden",
    "tools/collect_changes.py",
    "tools/finding_pictures.py",
    "tools/findings_index.py",
    "tools/man_page.py",
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
    assert benchmarks.line("found", 0.0, "findings", 0.0, None).split() == [
        "found",
        "0.0",
        "findings",
        "-",
    ]
    assert benchmarks.line("found", 2.0, "findings", 0.0, None).split()[-1] == "-"
    assert benchmarks.line("pods", 3.0, "pods/s", 2.0, None).split()[-2:] == ["1.50", "×"]


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


def test_the_pages_of_the_findings_have_what_their_front_matter_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each page looks for its scenarios: they are loaded once."""
    monkeypatch.setattr(loading, "load", functools.cache(loading.load))
    other = [path.name for path, text in findings_index.pages().items() if path.read_text() != text]
    assert other == [], "python tools/findings_index.py writes them"


def test_the_pictures_of_the_findings_are_those_of_their_steps() -> None:
    there = {path.name: path.read_text() for path in finding_pictures.FOLDER.glob("*.svg")}
    assert there == finding_pictures.drawn(), "python tools/finding_pictures.py writes them"


def test_a_picture_has_a_lane_for_each_actor_and_all_texts() -> None:
    steps = [
        "user -> API server: pod-1 & claim-1",
        "API server -1> scheduler: an event",
        "scheduler -x API server: a request",
        "1 arrives",
        "therefore: nothing",
    ]
    root = ElementTree.fromstring(finding_pictures.Picture(steps).svg("A <title>"))
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert [text for text in texts if not str(text).isdigit()] == [
        *("scheduler", "API server", "user", "pod-1 & claim-1", "an event", "a request", "nothing"),
    ]
    assert [text for text in texts if str(text).isdigit()] == ["1", "2", "3", "2"]


def test_pictures_are_small_and_nothing_of_them_is_outside() -> None:
    for name, picture in finding_pictures.drawn().items():
        assert len(picture) < 6_000, name
        root = ElementTree.fromstring(picture)
        width, height = (float(root.attrib[key]) for key in ("width", "height"))
        for text in root.iter(f"{SVG}text"):
            half = len(text.text or "") * 3.2
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            assert half <= x <= width - half, f"{name}: {text.text}"
            assert 0 < y < height, f"{name}: {text.text}"
