"""The stand-ins are as unkind as the real programs: they refuse the same, in the same words, and
with the same exit code. Where a real one is, it is asked too.
"""

import json
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest

from harness import tls_authorities
from harness.client import apis
from harness.cluster import interfaces, providers
from harness.scenario import profiles
from tests.e2e import running
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
NOTHING_GIVEN = (
    "[--etcd-servers must be specified, service-account-issuer is a required flag, either "
    "`--service-account-key-file` or `--service-account-signing-endpoint` must be set, "
    "--service-account-signing-key-file and --service-account-issuer are required flags]"
)
SERVER = (
    "--etcd-servers=http://127.0.0.1:1 --service-account-issuer=https://issuer --cert-dir=. "
    "--service-account-signing-key-file=accounts.key --service-account-key-file=accounts.crt "
    "--service-cluster-ip-range=10.0.0.0/24 --bind-address=127.0.0.1"
)
"""A command line of kube-apiserver that is right but for what follows."""
REFUSED_BY_ALL = [
    ("--foo=1 --version", "Error: unknown flag: --foo"),
    ("--secure-port", "Error: flag needs an argument: --secure-port"),
    ("--secure-port=x", 'Error: invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax'),
    ("--profiling=maybe", 'Error: invalid argument "maybe" for "--profiling" flag: strconv.ParseBool: parsing "maybe": invalid syntax'),
    ("--log-flush-frequency=x", 'Error: invalid argument "x" for "--log-flush-frequency" flag: time: invalid duration "x"'),
    ("word", 'Error: "PROGRAM" does not take any arguments, got ["word"]'),
    ("--feature-gates=DRAPrioritizedList --version", "missing bool value for DRAPrioritizedList"),
]  # fmt: skip
REFUSED = [
    ("kube-scheduler", "", NOT_CONFIGURED),
    ("kube-scheduler", "--config=/nowhere/c", "open /nowhere/c: no such file or directory"),
    ("kube-scheduler", "--config=unknown.json", 'strict decoding error: unknown field \\"foo\\"'),
    ("kube-scheduler", "--config=deeply-unknown.json", 'strict decoding error: unknown field \\"leaderElection.foo\\"'),
    ("kube-scheduler", "--config=broken.json", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    ("kube-scheduler", "--config=good.json", "stat /nowhere/kubeconfig: no such file or directory"),
    ("kube-controller-manager", "", NOT_CONFIGURED),
    ("kube-controller-manager", "--controllers=foo", '\\"foo\\" is not in the list of known controllers'),
    ("kube-controller-manager", "--kubeconfig=/nowhere/k", "stat /nowhere/k: no such file or directory"),
    ("kube-apiserver", "", NOTHING_GIVEN),
    ("kube-apiserver", SERVER.replace("accounts.key", "/no"), "failed to parse service-account-issuer-key-file: open /no: no such file or directory"),
    ("kube-apiserver", SERVER.replace("accounts.crt", "/no"), "open /no: no such file or directory"),
    ("kube-apiserver", f"{SERVER} --client-ca-file=/no", "open /no: no such file or directory"),
    ("kube-apiserver", f"{SERVER} --token-auth-file=/no", "open /no: no such file or directory"),
    ("kube-apiserver", f"{SERVER} --tls-cert-file=/no --tls-private-key-file=/no", "open /no: no such file or directory"),
    ("kube-apiserver", f"{SERVER} --audit-log-path=- --audit-policy-file=/no", 'loading audit policy file: failed to read file path \\"/no\\": open /no: no such file or directory'),
    ("kube-apiserver", f"{SERVER} --authorization-mode=RBAC,Some", 'authorization-mode \\"Some\\" is not a valid mode'),
]  # fmt: skip
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CASES = {
    name: [
        *((words, said.replace("PROGRAM", name)) for words, said in REFUSED_BY_ALL),
        *((words, said) for program, words, said in REFUSED if program == name),
    ]
    for name in PROGRAMS
}
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
    tls_authorities.write(tmp_path, "accounts", tls_authorities.signing_keys())
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
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_refused_is_refused_in_the_same_words(
    folder: pathlib.Path, kind: str, name: str
) -> None:
    """One that took everything would prove nothing of our command lines."""
    for words, said in CASES[name]:
        code, output, lines = asked(kind, name, folder, words)
        assert (code, output, lines[-1]) == (1, "", said), words
        if words == "--foo=1 --version" and name != "kube-apiserver":
            assert lines[0] == "Usage:", "the last lines of a log say why it ended"
            assert len(lines) > 50
    for words in ("--version", "--feature-gates=A=true --version"):
        code, output, _ = asked(kind, name, folder, words)
        assert code == 0
        assert re.fullmatch(r"Kubernetes v1\.\d+\.\d+\n", output)


@pytest.fixture
def api(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[apis.Api]:
    """An API server, stood in for or real, on a real etcd."""
    folder = tmp_path / "binaries"
    if request.param == "stand-in":
        commands.install(folder, "kube-apiserver")
    else:
        _link(folder, "kube-apiserver")
    _link(folder, "etcd")
    overrides = [f"binaries={json.dumps(str(folder))}", "controller_manager=false"]
    asked_for = interfaces.ClusterRequest(name=tmp_path.name[-40:], directory=tmp_path)
    cluster = providers.of(profiles.load("local", overrides=overrides)).up(asked_for)
    with running.api(cluster.kubeconfig) as found:
        yield found
    cluster.down()


def _link(folder: pathlib.Path, name: str) -> None:
    folder.mkdir(exist_ok=True)
    program = real_programs.find(name)
    if program is None:
        pytest.skip(real_programs.missing(name))
    (folder / name).symlink_to(program)


@pytest.mark.parametrize("api", ["stand-in", "real"], indirect=True)
def test_a_namespace_that_goes_takes_nothing_new(api: apis.Api) -> None:
    account = {"metadata": {"name": "late"}}
    api.create(apis.NAMESPACES, {"metadata": {"name": "going"}})
    api.create(apis.SERVICE_ACCOUNTS, {"metadata": {"name": "early"}}, namespace="going")
    api.delete(apis.NAMESPACES, "going")
    with pytest.raises(apis.ApiError) as caught:
        api.create(apis.SERVICE_ACCOUNTS, account, namespace="going")
    assert caught.value.code == 403
    assert str(caught.value).endswith(
        'serviceaccounts "late" is forbidden: unable to create new content in namespace going because it is being terminated'
    )


@pytest.mark.parametrize("api", ["stand-in", "real"], indirect=True)
def test_a_namespace_of_the_system_stays(api: apis.Api) -> None:
    for name in ("default", "kube-system", "kube-public"):
        with pytest.raises(apis.ApiError) as caught:
            api.delete(apis.NAMESPACES, name)
        assert caught.value.code == 403
        assert f'namespaces "{name}" is forbidden: this namespace may not be deleted' in str(
            caught.value
        )
