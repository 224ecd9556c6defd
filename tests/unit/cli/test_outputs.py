"""What a user sees, and what a program reads: JSON documents, columns, terminals of all kinds."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from harness.cluster import registry
from harness.scenario import profiles

FlakeHunt = Callable[..., tuple[int, str, str]]
KUBECONFIG = "/somewhere/kubeconfig"


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="ascii",
        timeout=60,
        check=False,
    )


def test_without_arguments_there_is_the_help_and_no_empty_complaint(flake_hunt: FlakeHunt) -> None:
    for arguments in ([], ["cluster"]):
        code, out, err = flake_hunt(*arguments)
        assert code == 2
        assert "Usage: flake-hunt" in out
        assert err == ""


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["explore", "--list"]])
def test_an_ascii_terminal_gets_everything_else(arguments: list[str]) -> None:
    ended = command(*arguments, PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout


def test_a_shell_completes_commands() -> None:
    words = {"COMP_WORDS": "flake-hunt expl", "COMP_CWORD": "1"}
    ended = command(_FLAKE_HUNT_COMPLETE="complete_bash", **words)
    assert (ended.returncode, ended.stdout.split()) == (0, ["explore"])


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_escapes_without_a_terminal(name: str) -> None:
    assert "\x1b" not in command("doctor", **{name: "xterm-256color"}).stdout


# ---------------------------------------------------------------- cluster


def entry(name: str) -> registry.Entry:
    return registry.Entry(
        name=name,
        provider="embedded",
        profile=profiles.load("embedded").model_dump(mode="json"),
        directory="/somewhere",
        stays=False,
        owner=registry.identity(os.getpid(), "flake-hunt"),
        created_wall_ns=0,
    )


@pytest.fixture
def two_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "known", lambda: [entry("a"), entry("longer-name")])


@pytest.mark.usefixtures("two_clusters")
def test_clusters_are_listed_in_columns_with_headings(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt("cluster", "list")
    headings, first, second = out.splitlines()
    assert code == 0
    assert headings.split() == ["NAME", "PROVIDER", "STATE", "CREATED", "KUBECONFIG"]
    assert first.startswith("a            embedded  ")
    starts = [line.index(word) for line, word in ((headings, "KUBE"), (first, "/"), (second, "/"))]
    assert len(set(starts)) == 1


@pytest.mark.usefixtures("two_clusters")
def test_clusters_as_json(flake_hunt: FlakeHunt) -> None:
    _, out, _ = flake_hunt("cluster", "list", "--output", "json")
    document = json.loads(out)
    assert [item["name"] for item in document["clusters"]] == ["a", "longer-name"]
    assert document["clusters"][0]["kubeconfig"] == KUBECONFIG


def test_no_clusters_as_json(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt("cluster", "list", "-o", "json")
    assert (code, json.loads(out)) == (0, {"schema": 1, "clusters": []})


# ---------------------------------------------------------------- doctor


def test_doctor_as_json(flake_hunt: FlakeHunt) -> None:
    code, out, _ = flake_hunt("doctor", "--for", "embedded", "--output", "json")
    document = json.loads(out)
    assert (code, document["schema"], document["ready"]) == (0, 1, ["embedded"])
    for finding in document["findings"]:
        assert set(finding) == {"provider", "part", "state", "seen", "remedy"}


def test_a_form_that_is_none(flake_hunt: FlakeHunt) -> None:
    code, out, err = flake_hunt("doctor", "--output", "yaml")
    assert (code, out) == (2, "")
    assert "'text', 'json'" in err
