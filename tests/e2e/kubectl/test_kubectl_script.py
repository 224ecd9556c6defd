"""One script of commands, as people type them, that every version of kubectl on this machine goes
through.

A line is what is typed and a pattern of what has to be printed; `!` in front of it says that the
command has to fail, and `1.28:` that older versions do not have it. Each version goes through it in
a namespace of its own: `{me}` is its name.
"""

import pathlib
import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.e2e import kubectls

pytestmark = pytest.mark.e2e
FILES = {
    "pod.yaml": kubectls.POD.format(name="by-hand", node="worker-0"),
    "leaving.yaml": kubectls.POD.format(name="leaving", node="worker-1"),
}

SCRIPT = pathlib.Path(__file__).with_suffix(".txt").read_text()


class Line(NamedTuple):
    """One command."""

    since: tuple[int, int]
    fails: bool
    words: list[str]
    pattern: str


def lines() -> Iterator[Line]:
    for line in filter(None, SCRIPT.splitlines()):
        typed, pattern = re.split(r"\s{2,}", line, maxsplit=1)
        since, typed = re.fullmatch(r"(?:1\.(\d+): )?(.*)", typed).groups()  # type: ignore[union-attr]
        words = re.split(r"(?<!\\) ", typed.removeprefix("! "))
        yield Line(
            (1, int(since or 0)),
            typed.startswith("! "),
            [word.replace("\\ ", " ") for word in words],
            pattern,
        )


FOUND = {path.name: path for path in reversed(kubectls.candidates())}
cluster = kubectls.cluster


@pytest.fixture(params=sorted(FOUND) or ["none"])
def player(
    request: pytest.FixtureRequest, cluster: kubectls.Cluster, tmp_path: pathlib.Path
) -> kubectls.Kubectl:
    """One version, in a folder and a namespace of its own."""
    if request.param not in FOUND:
        pytest.skip(kubectls.NONE_FOUND)
    env = {**cluster.env, "KUBECONFIG": cluster.kubeconfig, "HOME": str(tmp_path)}
    return kubectls.Kubectl(FOUND[request.param], request.param.replace(".", "-"), env)


def play(
    kubectl: kubectls.Kubectl, version: tuple[int, int], folder: pathlib.Path
) -> Iterator[str]:
    for line in lines():
        if line.since > version:
            continue
        arguments = [word.replace("{me}", kubectl.namespace) for word in line.words]
        ended = subprocess.run(
            kubectl.argv(*arguments),
            capture_output=True,
            text=True,
            cwd=folder,
            env=kubectl.env,
            timeout=kubectls.TIMEOUT_S,
            check=False,
        )
        differs = ended.returncode == 1 and arguments[0] == "diff"
        succeeded = ended.returncode == 0 or differs
        said = ended.stderr if line.fails else ended.stdout
        pattern = line.pattern.replace("{me}", kubectl.namespace)
        if succeeded is line.fails or not re.search(pattern, said):
            yield f"{' '.join(arguments)}: {ended.stdout}{ended.stderr}"


def test_the_script_is_long_enough() -> None:
    typed = {tuple(line.words) for line in lines() if line.since <= kubectls.VERSION_MIN}
    assert len(typed) >= 60


def test_every_version_goes_through_the_script(
    player: kubectls.Kubectl, tmp_path: pathlib.Path
) -> None:
    version = kubectls.version_of(player.path)
    if version is None or version < kubectls.VERSION_MIN:
        pytest.skip(f"{player.path.name} is of version {version}")
    if f"kubectl.{version[0]}.{version[1]}" in FOUND.keys() - {player.path.name}:
        pytest.skip(f"{player.path.name} is of version {version}, which has its turn already")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert "\n".join(play(player, version, tmp_path)) == ""
