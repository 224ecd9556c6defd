"""The embedded API server, and the fault proxy before it, against client-go, the library of
kube-scheduler, the controllers and DRA drivers: `make e2e-client-go`.

The program in `client-go/` plays one scenario at a time. It is built by `go` from a distribution's
Go sources (FLAKE_HUNT_GOPATH, or where Debian has them) or from Go modules; FLAKE_HUNT_CLIENT_GO
names one that was built elsewhere. Skips, and says why, where neither can be had.
"""

import functools
import gzip
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.support import api_servers, fault_proxies

SOURCES = pathlib.Path(__file__).parents[1] / "client-go"
GOPATHS = (os.environ.get("FLAKE_HUNT_GOPATH", ""), "/usr/share/gocode")
CLIENT_GO = "src/k8s.io/client-go"
BUILD_TIMEOUT_S = 1800
SCENARIO_TIMEOUT_S = 300
READY_TIMEOUT_S = 60
KILLS = 3
WRITING = "writing"
"""The line that the program prints when its caches are there and its writers begin."""
SCENARIOS = {
    "scheduling": "deallocation, and the claim's end",
    "claims": "a taint rule and its conditions",
    "patches": "selectors, DeleteCollection, and what becomes of dependents",
    "discovery": "who has no token, or a wrong one, is refused",
    "paging": "57 objects in 1 pages",
    "election": "3 candidates have led one after the other",
    "events": "events.k8s.io/v1: a series of 2",
    "random": "DeviceClass: ",
}
"""Each with the last thing that it tries."""
WITH_TAINT_RULES = ("--set", "runtime_config=resource.k8s.io/v1beta2=true")

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(BUILD_TIMEOUT_S + SCENARIO_TIMEOUT_S)]
FIELDS_FILE = pathlib.Path(__file__).parents[2] / "unit/apiserver/scheme/go_fields.json.gz"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of the program."""
    if os.environ.get("E2E") != "client-go":
        pytest.skip("client-go is tried by: make e2e-client-go")
    if given := os.environ.get("FLAKE_HUNT_CLIENT_GO"):
        return given
    go = shutil.which("go")
    if go is None:
        pytest.skip(
            "the command go was not found: install Go 1.26 or newer, or set FLAKE_HUNT_CLIENT_GO"
        )
    return build(go, tmp_path_factory.mktemp("client-go"))


def build(go: str, folder: pathlib.Path) -> str:
    target, code = folder / "program", folder / "code"
    shutil.copytree(SOURCES, code)
    run = functools.partial(
        subprocess.run,
        cwd=code,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    found = (path for path in GOPATHS if path and pathlib.Path(path, CLIENT_GO).is_dir())
    if gopath := next(found, None):
        made = run(
            [go, "build", "-o", str(target), "."],
            env={**os.environ, "GO111MODULE": "off", "GOPATH": gopath, "GOFLAGS": ""},
        )
        assert made.returncode == 0, made.stderr
        return str(target)
    tidied = run([go, "mod", "tidy"])
    if tidied.returncode:
        pytest.skip(f"the Go modules of client-go cannot be had: {tidied.stderr[-500:]}")
    made = run([go, "build", "-o", str(target), "."])
    assert made.returncode == 0, made.stderr
    return str(target)


@pytest.fixture
def server(
    tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> Iterator[api_servers.KeptServer]:
    made = api_servers.KeptServer(tmp_path, *getattr(request, "param", ()))
    made.start()
    yield made
    made.kill()


@pytest.fixture
def proxied(server: api_servers.KeptServer, tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Return the kubeconfig of a fault proxy without faults before the server."""
    folder = tmp_path / "proxy"
    folder.mkdir()
    with fault_proxies.running(
        folder, server.kubeconfig, client="client-go", timeout_s=READY_TIMEOUT_S
    ) as (kubeconfig, _):
        yield kubeconfig


def play(
    program: str, kubeconfig: pathlib.Path, *arguments: str, **env: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [program, "-kubeconfig", str(kubeconfig), *arguments],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str], *, shown: str = "") -> str:
    output, _ = process.communicate(timeout=SCENARIO_TIMEOUT_S)
    assert process.returncode == 0, shown + output
    return shown + output


def test_the_fields_of_go_are_those_of_the_fixture(program: str) -> None:
    printed = subprocess.run([program, "fields"], stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(printed) == json.loads(gzip.decompress(FIELDS_FILE.read_bytes()))


@pytest.mark.parametrize("content", ["protobuf", "json"])
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("server", [WITH_TAINT_RULES], indirect=True, ids=["v1beta2"])
def test_a_scenario(
    program: str, server: api_servers.KeptServer, scenario: str, content: str
) -> None:
    output = finish(play(program, server.kubeconfig, "-content", content, scenario))
    assert output.splitlines()[-1].startswith(f"ok {SCENARIOS[scenario]}")


@pytest.mark.parametrize("content", ["protobuf", "json"])
@pytest.mark.parametrize("scenario", [*SCENARIOS, "informers"])
@pytest.mark.parametrize("server", [WITH_TAINT_RULES], indirect=True, ids=["v1beta2"])
def test_a_scenario_through_the_fault_proxy(
    program: str, proxied: pathlib.Path, scenario: str, content: str
) -> None:
    output = finish(play(program, proxied, "-content", content, scenario))
    assert output.splitlines()[-1].startswith(f"ok {SCENARIOS.get(scenario, '')}")


@pytest.mark.parametrize("server", [("--set", "watch_history=50")], indirect=True)
def test_pages_and_watches_that_have_expired(program: str, server: api_servers.KeptServer) -> None:
    assert "an expired watch" in finish(play(program, server.kubeconfig, "paging"))


@pytest.mark.parametrize("content", ["protobuf", "json"])
@pytest.mark.parametrize("watch_list", ["true", "false"])
def test_caches_under_load(
    program: str, server: api_servers.KeptServer, content: str, watch_list: str
) -> None:
    """Lists as streams of a watch, which are the default since client-go 0.35, and as they were
    before.
    """
    env = {"KUBE_FEATURE_WatchListClient": watch_list}
    output = finish(play(program, server.kubeconfig, "-content", content, "informers", **env))
    assert output.count(" objects after ") == 9


@pytest.mark.parametrize("server", [(), ("--set", "watch_history=20")], indirect=True)
def test_caches_while_the_server_is_killed(program: str, server: api_servers.KeptServer) -> None:
    """With a history that is long enough for watches to go on, and with one for which everything is
    listed again.
    """
    process = play(program, server.kubeconfig, "-restarts", "-duration", "8s", "informers")
    assert process.stdout is not None
    shown = "".join(iter(process.stdout.readline, f"{WRITING}\n"))
    assert shown.startswith("ok "), shown
    for _ in range(KILLS):
        server.kill()
        server.start()
    assert finish(process, shown=shown).count(" objects after ") == 9
