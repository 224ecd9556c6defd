"""The stand-ins are as unkind as the real programs: they refuse the same, in the same words, and
with the same exit code. Where a real one is, it is asked too.
"""

import json
import pathlib
import re
import subprocess

import pytest

from tests.stand_ins import commands
from tests.support import real_programs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"kubeconfig": "/nowhere/kubeconfig"},
    "profiles": [{"schedulerName": "some"}],
}
NOT_CONFIGURED = (
    "invalid configuration: no configuration has been provided, try setting "
    "KUBERNETES_MASTER environment variable"
)
REFUSED_BY_ALL = [
    ("--foo=1 --version", "Error: unknown flag: --foo"),
    ("--secure-port", "Error: flag needs an argument: --secure-port"),
    ("--secure-port=x", 'Error: invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax'),
    ("--profiling=maybe", 'Error: invalid argument "maybe" for "--profiling" flag: strconv.ParseBool: parsing "maybe": invalid syntax'),
    ("--log-flush-frequency=x", 'Error: invalid argument "x" for "--log-flush-frequency" flag: time: invalid duration "x"'),
    ("word", 'Error: "PROGRAM" does not take any arguments, got ["word"]'),
    ("--feature-gates=DRAPrioritizedList --version", "missing bool value for DRAPrioritizedList"),
]  # fmt: skip
REFUSED = {
    "kube-scheduler": [
        ("", NOT_CONFIGURED),
        ("--config=/nowhere/c", "open /nowhere/c: no such file or directory"),
        ("--config=unknown.json", 'strict decoding error: unknown field \\"foo\\"'),
        ("--config=deeply-unknown.json", 'strict decoding error: unknown field \\"leaderElection.foo\\"'),
        ("--config=broken.json", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ("--config=good.json", "stat /nowhere/kubeconfig: no such file or directory"),
    ],
    "kube-controller-manager": [
        ("", NOT_CONFIGURED),
        ("--controllers=foo", '\\"foo\\" is not in the list of known controllers'),
        ("--kubeconfig=/nowhere/k", "stat /nowhere/k: no such file or directory"),
    ],
}  # fmt: skip
_HEADER = re.compile(r'E\d{4} [\d:.]+ +\d+ run\.go:\d+\] "command failed" err="(.*)"')


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Configurations, right and wrong ones."""
    files = {
        "good": CONFIGURATION,
        "unknown": {**CONFIGURATION, "foo": 1},
        "deeply-unknown": {**CONFIGURATION, "leaderElection": {"leaderElect": False, "foo": 1}},
    }
    for name, document in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    (tmp_path / "broken.json").write_text("{")
    return tmp_path


def asked(kind: str, name: str, folder: pathlib.Path, words: str) -> tuple[int, str, list[str]]:
    """Exit code, standard output, and the lines of standard error without klog's headers."""
    if kind == "real":
        program = real_programs.find(name)
        if program is None:
            pytest.skip(real_programs.missing(name))
    else:
        program = commands.install(folder / "stand-ins", name)
    ended = subprocess.run(
        [str(program), *words.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    lines = [_HEADER.sub(r"\1", line) for line in ended.stderr.splitlines()]
    return ended.returncode, ended.stdout, lines


@pytest.mark.parametrize("kind", ["stand-in", "real"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_in_the_same_words(
    folder: pathlib.Path, kind: str, name: str
) -> None:
    """One that took everything would prove nothing of our command lines."""
    for words, said in [*REFUSED_BY_ALL, *REFUSED[name]]:
        code, output, lines = asked(kind, name, folder, words)
        assert (code, output, lines[-1]) == (1, "", said.replace("PROGRAM", name)), words
        if words == "--foo=1 --version":
            assert lines[0] == "Usage:", "the last lines of a log say why it ended"
            assert len(lines) > 50
    for words in ("--version", "--feature-gates=A=true --version"):
        code, output, _ = asked(kind, name, folder, words)
        assert code == 0
        assert re.fullmatch(r"Kubernetes v1\.\d+\.\d+\n", output)
