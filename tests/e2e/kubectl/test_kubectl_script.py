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

SCRIPT = r"""
version                                                        Server Version: .*v1\.36
cluster-info                                                   control plane
api-versions                                                   resource\.k8s\.io/v1
api-resources                                                  (?s)configmaps +cm +v1 +true +ConfigMap.*deviceclasses
api-resources --api-group=resource.k8s.io -o name              resourceclaimtemplates\.resource\.k8s\.io
explain pod.spec.containers.image                              FIELD: image <string>
explain resourceclaim.spec.devices.requests                    FIELD: requests <\[\]DeviceRequest>
explain deployment.spec --recursive                            progressDeadlineSeconds
create namespace {me}                                          namespace/{me} created
! create namespace {me}                                        namespaces "{me}" already exists
get namespace {me} -o jsonpath={.status.phase}                 ^Active$
auth can-i create pods                                         ^yes
auth can-i --list                                              \*\.\*
1.28: auth whoami                                              flake-hunt
create configmap colours --from-literal=a=red --from-literal=b=blue   configmap/colours created
create secret generic hidden --from-literal=key=value          secret/hidden created
create serviceaccount robot                                    serviceaccount/robot created
create quota few --hard=pods=100                               resourcequota/few created
create priorityclass {me}-high --value=1000                    priorityclass.*/{me}-high created
create role reader --verb=get --resource=pods                  role.*/reader created
create rolebinding readers --role=reader --serviceaccount={me}:robot  rolebinding.*/readers created
get configmaps,secrets,serviceaccounts                         (?s)configmap/colours +2.*secret/hidden.*robot
get configmap colours -o yaml                                  (?s)apiVersion: v1.*a: red
get secret hidden -o jsonpath={.data.key}                      ^dmFsdWU=$
get configmap colours -o custom-columns=A:.data.a,NAME:.metadata.name  (?s)A +NAME.*red +colours
get configmaps --show-labels                                   LABELS
label configmap colours kind=paint                             configmap/colours labeled
get configmaps -l kind=paint -o name                           ^configmap/colours$
annotate configmap colours note=wet                            configmap/colours annotated?
patch configmap colours -p {"data":{"c":"green"}}              configmap/colours patched
patch configmap colours --type=merge -p {"data":{"a":null}}    configmap/colours patched
patch configmap colours --type=json -p [{"op":"remove","path":"/data/b"}]  configmap/colours patched
get configmap colours -o jsonpath={.data}                      ^{"c":"green"}$
! patch configmap colours --type=json -p [{"op":"remove","path":"/data/z"}]  .
create -f pod.yaml --dry-run=server                            pod/by-hand created \(server dry run\)
diff -f pod.yaml                                                 \+  name: by-hand
apply -f pod.yaml -f leaving.yaml                              (?s)pod/by-hand created.*pod/leaving created
apply -f pod.yaml                                              pod/by-hand (unchanged|configured)
apply --server-side --force-conflicts -f pod.yaml              pod/by-hand serverside-applied
wait pod/by-hand --for=condition=Ready --timeout=30s           condition met
get pods                                                       (?s)READY +STATUS +RESTARTS +AGE.*by-hand +[01]/1 +Running
get pod by-hand -o wide                                        worker-0
get pods --field-selector=status.phase=Running -o name         (?m)^pod/by-hand$
describe pod by-hand                                           Name: +by-hand
run by-run --image=none                                        pod/by-run created
get events                                                     .*
taint nodes worker-1 {me}=yes:NoSchedule                       node/worker-1 tainted
taint nodes worker-1 {me}-                                     node/worker-1 untainted
drain worker-1 --force --ignore-daemonsets --timeout=30s       node/worker-1 drained
uncordon worker-1                                              worker-1 (already )?uncordoned
describe node worker-0                                         Name: +worker-0
create deployment web --image=web --replicas=2                 deployment.apps/web created
get deployments -o wide                                        (?s)NAME +AGE.*web
get deployment web -o jsonpath={.spec.replicas}                ^2$
set image deployment/web web=other                             image updated
rollout pause deployment/web                                   paused
rollout resume deployment/web                                  resumed
rollout restart deployment/web                                 restarted
create job once --image=none                                   job.batch/once created
create cronjob often --image=none --schedule=*/5\ *\ *\ *\ *   cronjob.batch/often created
create service clusterip web --tcp=80:8080                     service/web created
get services                                                   (?s)NAME +AGE.*web
create poddisruptionbudget some --selector=app=web --min-available=1  poddisruptionbudget.policy/some created
get all                                                        (?s)pod/by-hand.*deployment.apps/web
get --raw /readyz                                              ^ok$
replace --force --grace-period=0 -f pod.yaml                   replaced
delete deployment web --cascade=orphan                         "web" deleted
delete pod by-hand --grace-period=0 --force                    deleted
delete configmaps --all                                        "colours" deleted
delete priorityclass {me}-high                                 deleted
! get configmap colours                                        configmaps "colours" not found
! get nonsense                                                 the server doesn't have a resource type "nonsense"
delete namespace {me} --wait=false                             namespace "{me}" deleted
"""


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
