"""The Containerfile: stages, user, what a read-only root needs. `make container` builds it."""

import fnmatch
import json
import pathlib
import re
import shlex
import subprocess
import tomllib

import pytest

ROOT = pathlib.Path(__file__).parents[3]
Instruction = tuple[str, str]


def instructions() -> list[Instruction]:
    """Name and arguments of each instruction; continued lines are joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.M)
    lines = text.replace("\\\n", " ").splitlines()
    found = [line.partition(" ") for line in lines if line.strip()]
    return [(name, arguments.strip()) for name, _, arguments in found]


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, each beginning with FROM."""
    found: list[list[Instruction]] = []
    for instruction in instructions():
        if instruction[0] == "FROM":
            found.append([])
        found[-1].append(instruction)
    return found


def arguments_of(name: str) -> list[str]:
    return [arguments for found, arguments in stages()[-1] if found == name]


def test_the_stages_their_base_and_their_user() -> None:
    """One stage builds; the other gets the wheels only, and installs them without the network."""
    build, last = stages()
    assert build[0][1].endswith(" AS build")
    copied = [arguments for name, arguments in last if name in ("COPY", "ADD")]
    assert copied == ["--from=build /wheels /wheels"]
    (wheel,) = [arguments for name, arguments in build if name == "RUN"]
    words = shlex.split(wheel)
    assert words[words.index("-c") + 1] == "constraints.txt"
    assert "--no-index" in arguments_of("RUN")[0]
    (image,) = {stage[0][1].split()[0] for stage in stages()}
    found = re.fullmatch(r"docker\.io/library/python:3\.(\d+)-slim-\w+", image)
    assert found, image
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert int(found[1]) >= int(project["requires-python"].removeprefix(">=3."))
    (user,) = arguments_of("USER")
    assert all(int(number) > 0 for number in user.split(":"))
    names = [name for name, _ in last]
    assert names.index("USER") > max(at for at, name in enumerate(names) if name == "RUN")
    (command,) = map(json.loads, arguments_of("ENTRYPOINT"))
    assert command == [*project["scripts"]]


def test_a_read_only_root_is_enough() -> None:
    assert "HOME=/tmp" in arguments_of("ENV")
    assert arguments_of("VOLUME") == ["/reports"]
    assert arguments_of("WORKDIR") == ["/"]
    assert not any("PYTHONDONTWRITEBYTECODE" in arguments for arguments in arguments_of("ENV"))
    assert "compileall" in " ".join(arguments_of("RUN"))


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
