"""Which plug-ins are found, by their entry points, and which of them can be used."""

import os
import pathlib
import sys

import pytest

from harness import errors
from harness.extensions import discovery, entry_points
from tests.support import plugin_packages

PROJECT = """
[project]
name = "in-source"
version = "0.3"
[project.entry-points."flake_hunt.checks"]
idle = "in_source.checks:Idle"
[project.entry-points."flake_hunt.scenarios"]
bursts = "in_source"
[project.entry-points."console_scripts"]
other = "in_source:main"
"""


def source(folder: pathlib.Path, text: str = PROJECT) -> pathlib.Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_an_installed_plugin_is_found_without_importing_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_packages.install(tmp_path, monkeypatch, "acme", {"checks": {"idle": "acme_nowhere:X"}})
    (found,) = discovery.found("checks")
    assert (found.name, found.package, found.version) == ("idle", "acme", "1.2.0")
    assert str(found) == "the check 'idle' of acme 1.2.0"
    assert discovery.found("subjects") == []
    assert "acme_nowhere" not in sys.modules


def test_a_package_in_source_is_found_by_its_pyproject(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source(tmp_path / "mine" / "src").parent.joinpath("pyproject.toml").write_text(PROJECT)
    monkeypatch.setenv(discovery.VARIABLE, "mine")
    (found,) = discovery.found("checks")
    assert (found.package, found.version) == ("in-source", "0.3")
    assert found.folder == str(tmp_path / "mine" / "src")
    assert [plugin.name for plugin in discovery.found("scenarios")] == ["bursts"]
    assert os.environ[discovery.VARIABLE] == str(tmp_path / "mine")


def test_a_package_in_source_replaces_the_installed_one(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_packages.install(tmp_path, monkeypatch, "in-source", {"checks": {"idle": "old:X"}})
    monkeypatch.setenv(discovery.VARIABLE, str(source(tmp_path / "mine")))
    assert [plugin.version for plugin in discovery.found("checks")] == ["0.3"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "cannot be read"),
        ("[project", "cannot be read"),
        ("[tool]", r"lacks \[project\]"),
        ("project = 3", r"lacks \[project\]"),
        ('[project]\nname = "x"\nentry-points = 3', r"lacks \[project\]"),
    ],
)
def test_a_folder_that_is_no_package_is_told(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, text: str | None, reason: str
) -> None:
    if text is not None:
        source(tmp_path, text)
    monkeypatch.setenv(discovery.VARIABLE, str(tmp_path))
    with pytest.raises(errors.PluginError, match=f"FLAKE_HUNT_PLUGINS.*{reason}"):
        discovery.found("checks")


def test_two_packages_with_one_name_are_both_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("acme", "bolt"):
        plugin_packages.install(tmp_path, monkeypatch, name, {"subjects": {"mine": f"{name}:X"}})
    with pytest.raises(errors.PluginError, match=r"one subject 'mine', got two, of acme .* bolt"):
        discovery.named("subjects", "mine")
    assert discovery.usable("subjects", shipped=()) == []


def test_what_is_shipped_keeps_its_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin_packages.install(tmp_path, monkeypatch, "acme", {"subjects": {"python": "acme:X"}})
    assert discovery.named("subjects", "python", shipped=["python"]) is None
    assert discovery.usable("subjects", shipped=["python"]) == []
    with pytest.raises(errors.PluginError, match="does not ship itself for the subject 'python'"):
        discovery.require_all("subjects", shipped=["python"])


@pytest.mark.parametrize(
    ("kind", "name", "is_good"),
    [
        ("checks", "no_gap", True),
        ("checks", "no-gap", False),
        ("checks", "No_gap", False),
        ("subjects", "my-scheduler", True),
        ("subjects", "my scheduler", False),
        ("subjects", "-x", False),
    ],
)
def test_names_have_a_form(kind: entry_points.Kind, name: str, is_good: bool) -> None:
    plugin = entry_points.Plugin(kind=kind, name=name, target="acme:X", package="acme", version="1")
    assert (not discovery.objection_to(plugin, [plugin])) == is_good
