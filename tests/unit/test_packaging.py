"""What is installed, and what the pins may say."""

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).parents[2]


def test_every_package_is_listed() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in (ROOT / "harness").rglob("__init__.py")
    }
    assert set(listed) == there | {"harness.scenarios", "harness.clusters"}


def test_pins_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.+!-]+(\s*;.*)?", line)] == []
