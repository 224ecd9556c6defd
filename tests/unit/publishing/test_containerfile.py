"""The Containerfile and its build. `make container` builds it."""

import fnmatch
import pathlib
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[3]


def test_what_the_wheel_needs_is_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], *wheel["shared-data"], "constraints.txt"}
    needed |= {"README.md", "pyproject.toml", *project["project"]["license-files"]}
    tops = {name.partition("/")[0] for name in needed}
    assert [name for name in tops if any(fnmatch.fnmatch(name, out) for out in ignored)] == []
    assert {".git", ".venv", "reports"} <= {*ignored}


@pytest.mark.parametrize(
    ("engine", "user", "keeps"),
    [
        ("podman", 1000, True),
        ("/usr/bin/podman", 1, True),
        ("podman", 0, False),
        ("docker", 1, False),
    ],
)
def test_a_podman_without_root_keeps_the_number_of_the_user(
    engine: str, user: int, keeps: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the run could not write to the folder of reports; with root it is refused."""
    (tmp_path / "id").write_text(f"#!/bin/sh\necho {user}\n")
    (tmp_path / "id").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    shown = subprocess.run(
        ["make", "-n", "container", f"ENGINE={engine}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert ("--userns=keep-id" in shown) == keeps
