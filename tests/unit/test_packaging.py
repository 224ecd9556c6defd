"""The wheel, the source distribution, and the pins."""

import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
WHEEL_FOLDERS = {
    "harness": "harness",
    "scenarios": "harness/scenarios",
    "examples": "harness/examples",
    "clusters": "harness/clusters",
    "docs/findings": "harness/docs/findings",
}
"""Folder of the checkout -> folder in the wheel."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a wheel and a source distribution of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


def tracked(*folders: str) -> set[str]:
    """Tracked files that exist; all files of the folders where git or its folder is missing."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = listed.stdout.split("\0") if listed.returncode == 0 else _files(*folders)
    return {name for name in found if name and (ROOT / name).is_file()}


def _files(*folders: str) -> list[str]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    return [str(path.relative_to(ROOT)) for path in paths if "__pycache__" not in path.parts]


def test_the_wheel_has_every_tracked_file(built: pathlib.Path) -> None:
    (wheel,) = built.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for source, target in WHEEL_FOLDERS.items():
        wanted = {target + name.removeprefix(source) for name in tracked(source)}
        assert wanted, source
        assert wanted - packed == set()
    assert "harness/report/templates/report.html.j2" in packed
    assert "harness/py.typed" in packed


def test_the_source_distribution_has_every_tracked_file(built: pathlib.Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        packed = {name.partition("/")[2] for name in opened.getnames()}
    wanted = tracked(*WHEEL_FOLDERS, "README.md", "LICENSE", "NOTICE", "pyproject.toml", "Makefile")
    assert len(wanted) > len(WHEEL_FOLDERS)
    assert wanted - packed == set()


def test_python_m_harness_is_the_command() -> None:
    words = [sys.executable, "-m", "harness", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"flake-hunt {importlib.metadata.version('flake-hunt')}\n"


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["dev"], *extras["docs"]]
    pinned = {_plain(line.partition("==")[0]) for line in pins()}
    names = {_plain(re.split(r"[<>=~! \[]", requirement)[0]) for requirement in wanted}
    assert names - pinned == set()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_the_wheel_brings_the_manual_page(built: pathlib.Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in names if name.endswith(".data/data/share/man/man1/flake-hunt.1")]
