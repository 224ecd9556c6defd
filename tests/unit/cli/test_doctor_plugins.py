"""`flake-hunt doctor --plugins`, and a broken plug-in that nothing uses."""

import json
import pathlib
from typing import Any

import pytest

from harness.extensions import discovery
from tests.support import plugin_packages, schemas

GOOD = "from harness import api\nMINE = api.Subject(command=['true'])\n"


def test_each_is_listed_with_its_package_and_its_problem(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_packages.install(
        tmp_path,
        monkeypatch,
        "acme",
        {
            "subjects": {"mine": "acme:MINE", "python": "acme:MINE"},
            "scenarios": {"bursts": "acme"},
            "checks": {"broken": "acme_broken:X"},
        },
        {"acme/__init__.py": GOOD, "acme_broken.py": "raise OSError('no disk')\n"},
    )
    code, out, _ = flake_hunt("doctor", "--plugins", "--output", "json")
    schemas.obeying("plugins", out.encode())
    listed = {(item["kind"], item["name"]): item for item in json.loads(out)["plugins"]}
    assert code == 2
    assert listed["subjects", "mine"]["problem"] == ""
    assert listed["subjects", "mine"]["version"] == "1.2.0"
    assert "does not ship itself" in listed["subjects", "python"]["problem"]
    assert "bursts.toml in the package acme" in listed["scenarios", "bursts"]["problem"]
    assert "OSError: no disk" in listed["checks", "broken"]["problem"]
    assert flake_hunt("doctor", "--plugins")[1].splitlines()[-1] == "4 plug-ins."


def test_a_broken_folder_is_told(
    flake_hunt: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(discovery.VARIABLE, str(tmp_path))
    code, out, _ = flake_hunt("doctor", "--plugins")
    assert code == 2
    assert "expected a folder of a package in FLAKE_HUNT_PLUGINS" in out
