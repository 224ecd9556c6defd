"""The kind command: finding it, and its failures in words. The texts are kind's own, as reported in
its issues.
"""

import pathlib

import pytest

from harness import errors
from harness.cluster.kind import kind_command


def executable(folder: pathlib.Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@pytest.fixture
def programs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    executable(tmp_path, "docker", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("kind v0.33.0 go1.25.5 linux/amd64", "0.33.0"),
        ("kind v0.34.0-alpha+4d2f4e2b1a1b1c go1.25.5 darwin/arm64", "0.34.0"),
    ],
)
def test_a_kind_that_is_there(programs: pathlib.Path, said: str, version: str) -> None:
    executable(programs, "kind", f"echo {said}")
    assert kind_command.version(at_least="0.33.0") == version


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", r"kind v0\.33\.0 or newer in PATH, found no kind"),
        (
            "kind v0.9.0 go1.15.2 linux/amd64",
            r"expected kind v0\.33\.0 or newer, got .kind v0\.9\.0",
        ),
        ("usage: kind of a program", r"got .usage: kind of a program"),
    ],
)
def test_a_kind_that_cannot_be_used(programs: pathlib.Path, said: str, words: str) -> None:
    if said:
        executable(programs, "kind", f"echo {said}")
    with pytest.raises(errors.ClusterError, match=words):
        kind_command.version(at_least="0.33.0")
    (programs / "docker").unlink()
    with pytest.raises(errors.ClusterError, match="found no docker"):
        kind_command.version(at_least="0.33.0")


PULLED = "failed to create cluster: failed to pull image"


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (
            f" ✗ …\nERROR: {PULLED}\n\nCommand Output: canceled",
            f"failed: {PULLED} Command Output: canceled\n  without a network: `docker save IMAGE",
        ),
        ("", "failed: exit code 139"),
    ],
)
def test_a_failure_has_the_words_of_kind_and_the_path_of_its_log(
    programs: pathlib.Path, output: str, words: str
) -> None:
    executable(programs, "kind", f"printf '%s' '{output}'\nexit 139")
    log = programs / "kind.log"
    with pytest.raises(errors.ClusterError) as caught:
        kind_command.export_logs("one", programs, log=log)
    assert words in str(caught.value)
    assert str(log) in str(caught.value)
