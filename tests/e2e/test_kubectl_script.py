"""One script of commands, as people type them, that every version of kubectl on this machine goes through.

A line is what is typed and a pattern of what has to be printed; `!` in front of it says that the command has to fail. The versions go
through it at the same time, each in a namespace of its own: `{me}` is its name.
"""

import concurrent.futures
import pathlib
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e import test_kubectl as kubectls

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("kubectl")]
VERSIONS_AT_ONCE = 3
FILES = {
    "pod.yaml": kubectls.POD.format(name="by-hand", node="worker-0"),
    "leaving.yaml": kubectls.POD.format(name="leaving", node="worker-1"),
}

SCRIPT = r"""
version                                                        Server Version: v1\.36
cluster-info                                                   control plane
api-versions                                                   resource\.k8s\.io/v1
api-resources                                                  (?s)configmaps +cm +v1 +true +ConfigMap.*deviceclasses
api-resources --api-group=resource.k8s.io -o name              resourceclaimtemplates\.resource\.k8s\.io
explain pod                                                    KIND: +Pod
explain pod.spec.containers.image                              FIELD: image <string>
explain resourceclaim.spec.devices.requests                    FIELD: requests <\[\]DeviceRequest>
explain deployment.spec --recursive                            progressDeadlineSeconds
create namespace {me}                                          namespace/{me} created
! create namespace {me}                                        namespaces "{me}" already exists
get namespace {me} -o jsonpath={.status.phase}                 ^Active$
auth can-i create pods                                         ^yes
auth can-i --list                                              \*\.\*
auth whoami                                                    flake-hunt
create configmap colours --from-literal=a=red --from-literal=b=blue   configmap/colours created
create secret generic hidden --from-literal=key=value          secret/hidden created
create serviceaccount robot                                    serviceaccount/robot created
create quota few --hard=pods=100                               resourcequota/few created
create priorityclass {me}-high --value=1000                    priorityclass.*/{me}-high created
create role reader --verb=get --resource=pods                  role.*/reader created
create rolebinding readers --role=reader --serviceaccount={me}:robot  rolebinding.*/readers created
get configmaps,secrets,serviceaccounts                         (?s)configmap/colours +2.*secret/hidden +Opaque +1.*robot
get configmap colours -o yaml                                  (?s)apiVersion: v1.*a: red
get secret hidden -o jsonpath={.data.key}                      ^dmFsdWU=$
get configmap colours -o custom-columns=A:.data.a,NAME:.metadata.name  (?s)A +NAME.*red +colours
get configmap colours -o json                                  "kind": "ConfigMap"
get configmaps --show-labels                                   LABELS
label configmap colours kind=paint                             configmap/colours labeled
get configmaps -l kind=paint -o name                           ^configmap/colours$
annotate configmap colours note=wet                            configmap/colours annotated
patch configmap colours -p {"data":{"c":"green"}}              configmap/colours patched
patch configmap colours --type=merge -p {"data":{"a":null}}    configmap/colours patched
patch configmap colours --type=json -p [{"op":"remove","path":"/data/b"}]  configmap/colours patched
get configmap colours -o jsonpath={.data}                      ^{"c":"green"}$
! patch configmap colours --type=json -p [{"op":"remove","path":"/data/z"}]  .
create -f pod.yaml --dry-run=server                            pod/by-hand created \(server dry run\)
diff -f pod.yaml                                               \+  name: by-hand
apply -f pod.yaml                                              pod/by-hand created
apply -f pod.yaml                                              pod/by-hand (unchanged|configured)
apply --server-side --force-conflicts -f pod.yaml              pod/by-hand serverside-applied
wait pod/by-hand --for=condition=Ready --timeout=30s           condition met
get pods                                                       (?s)READY +STATUS +RESTARTS +AGE.*by-hand +[01]/1 +Running
get pod by-hand -o wide                                        worker-0
get pods --field-selector=status.phase=Running -o name         ^pod/by-hand$
get pods -A                                                    NAMESPACE
describe pod by-hand                                           Name: +by-hand
run by-run --image=none                                        pod/by-run created
get events                                                     .*
taint nodes worker-1 {me}=yes:NoSchedule                       node/worker-1 tainted
taint nodes worker-1 {me}-                                     node/worker-1 untainted
apply -f leaving.yaml                                          pod/leaving created
drain worker-1 --force --ignore-daemonsets --timeout=30s       node/worker-1 drained
cordon worker-1                                                worker-1 (already )?cordoned
uncordon worker-1                                              worker-1 (already )?uncordoned
get node worker-0 -o jsonpath={.metadata.name}                 ^worker-0$
describe node worker-0                                         Name: +worker-0
create deployment web --image=web --replicas=2                 deployment.apps/web created
get deployments -o wide                                        (?s)READY +UP-TO-DATE +AVAILABLE.*web +0/2
scale deployment web --replicas=3                              deployment.apps/web scaled
get deployment web -o jsonpath={.spec.replicas}                ^3$
set image deployment/web web=other                             image updated
rollout pause deployment/web                                   paused
rollout resume deployment/web                                  resumed
rollout restart deployment/web                                 restarted
create job once --image=none                                   job.batch/once created
create cronjob often --image=none --schedule=*/5\ *\ *\ *\ *   cronjob.batch/often created
create service clusterip web --tcp=80:8080                     service/web created
get services                                                   (?s)TYPE +CLUSTER-IP.*web +ClusterIP
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


def lines() -> Iterator[tuple[bool, list[str], str]]:
    """(whether it has to fail, the arguments, the pattern of its output) of each command."""
    for line in filter(None, SCRIPT.splitlines()):
        typed, pattern = re.split(r"\s{2,}", line, maxsplit=1)
        fails = typed.startswith("! ")
        words = re.split(r"(?<!\\) ", typed.removeprefix("! "))
        yield fails, [word.replace("\\ ", " ") for word in words], pattern


def versions() -> dict[str, pathlib.Path]:
    """Every version of kubectl that counts, by a name that fits a namespace."""
    paths = {kubectls.version_of(path): path for path in reversed(kubectls.candidates())}
    known = sorted(version for version in paths if version and version >= kubectls.VERSION_MIN)
    return {f"v{major}-{minor}": paths[major, minor] for major, minor in known}


cluster = kubectls.cluster


def play(kubectl: kubectls.Kubectl, folder: pathlib.Path) -> list[str]:
    """What went wrong."""
    wrong = []
    for fails, words, pattern in lines():
        me = kubectl.namespace
        arguments = [word.replace("{me}", me) for word in words]
        ended = subprocess.run(
            kubectl.argv(*arguments),
            capture_output=True,
            text=True,
            cwd=folder,
            env=kubectl.env,
            timeout=kubectls.TIMEOUT_S,
            check=False,
        )
        said = ended.stderr if fails else ended.stdout
        differs = ended.returncode == 1 and arguments[0] == "diff"
        succeeded = ended.returncode == 0 or differs
        if succeeded is fails or not re.search(pattern.replace("{me}", me), said):
            wrong.append(f"{me}: {' '.join(arguments)}: {ended.stdout}{ended.stderr}")
    return wrong


def test_the_script_is_long_enough() -> None:
    assert len(list(lines())) >= 60


def test_every_version_goes_through_the_script(
    cluster: kubectls.Cluster, tmp_path: pathlib.Path
) -> None:
    found = versions()
    if not found:
        pytest.skip("no kubectl of 1.29 or newer on PATH or in the folders of KUBECTL_DIRS")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    players = [
        kubectls.Kubectl(
            path,
            name,
            {**cluster.env, "KUBECONFIG": cluster.kubeconfig, "HOME": str(tmp_path / name)},
        )
        for name, path in found.items()
    ]
    with concurrent.futures.ThreadPoolExecutor(VERSIONS_AT_ONCE) as pool:
        wrong = [
            line for lines in pool.map(lambda one: play(one, tmp_path), players) for line in lines
        ]
    assert not wrong, "\n".join(wrong)
