"""One process that plays the kubelets of all fake nodes. Pods on any other node are somebody else's.

A bound pod is set Running when each of its claims is allocated and reserved for it; until then it is refused, as a DRA driver
refuses to prepare. A pod that is being deleted is finished. Nodes stay Ready by their leases. Whether a device is in use by
another claim is not asked: a kubelet does not know, and the judge must not depend on it.
"""

import dataclasses
import pathlib
import threading
from collections.abc import Callable

from harness import clocks, concurrency, processes
from harness.client import apis, informers, journaling, transports
from harness.cluster import leases
from harness.history import records
from harness.model import naming

Object = apis.Object
WORKERS = 4
SYNC_TIMEOUT_S = 20.0
TRIES_MAX = 5
_RETRY_S = 0.05


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How the kubelets run."""

    kubeconfig: pathlib.Path
    namespace: str | None = None
    """Only the pods of this namespace; None: all."""
    operations: pathlib.Path | None = None
    """Journal of the changing calls."""
    run_id: str = ""
    """Only the nodes of this run are played; empty: all fake nodes."""
    ready_file: pathlib.Path | None = None


def run(options: Options) -> int:
    """Play kubelet until SIGTERM."""
    stopped = processes.stop_event()
    transport = transports.connect(options.kubeconfig)
    journal = None
    if options.operations is not None:
        journal = journaling.Journal(
            records.Writer(options.operations, process="kubelet", run_id=options.run_id)
        )
        transport = journaling.JournalingTransport(transport, journal)
    kubelets = Kubelets(apis.Api(transport), namespace=options.namespace, run_id=options.run_id)
    kubelets.start()
    if options.ready_file is not None:
        processes.touch_ready(options.ready_file)
    api = apis.Api(transports.connect(options.kubeconfig))
    _keep_nodes_ready(api, kubelets, stopped)
    kubelets.stop()
    if journal is not None:
        journal.close()
    return 0


class Kubelets:
    """Runs and ends pods on paper."""

    def __init__(
        self,
        api: apis.Api,
        *,
        namespace: str | None,
        run_id: str = "",
        now: Callable[[], str] = clocks.wall_text,
    ) -> None:
        """Of the nodes of this run, or of all fake ones; `now` is what they take for the time."""
        self._api, self.run_id, self._now = api, run_id, now
        self._work: concurrency.Queue[str] = concurrency.Queue("kubelet.work")
        self._guard = concurrency.lock("kubelet.waiting")
        self._waiting: dict[str, set[str]] = {}
        self._claims = informers.Informer(
            api,
            apis.CLAIMS,
            name="kubelet-claims",
            namespace=namespace,
            handlers=[_ClaimEvents(self)],
        )
        self._pods = informers.Informer(
            api, apis.PODS, name="kubelet-pods", namespace=namespace, handlers=[_PodEvents(self)]
        )
        self._nodes = informers.Informer(
            api, apis.NODES, name="kubelet-nodes", handlers=[_NodeEvents(self)]
        )
        self._threads: list[concurrency.Thread] = []

    def start(self) -> None:
        """Begin, with the claims known before the first pod is looked at."""
        for informer in (self._nodes, self._claims, self._pods):
            informer.start()
            informer.wait_synced(timeout_s=SYNC_TIMEOUT_S)
        self._threads = [
            concurrency.spawn(f"kubelet-{number}", self._run) for number in range(WORKERS)
        ]

    def stop(self) -> None:
        """Finish what is begun."""
        for informer in (self._pods, self._claims, self._nodes):
            informer.stop()
        self._work.close()
        for thread in self._threads:
            thread.join(SYNC_TIMEOUT_S)

    def nodes(self) -> list[str]:
        """The names of the nodes that are played."""
        return [
            node["metadata"]["name"]
            for node in self._nodes.objects()
            if _is_ours(node, self.run_id)
        ]

    def enqueue_pod(self, pod: Object) -> None:
        """Look at a pod when there is something to do for it."""
        pending = pod.get("status", {}).get("phase") == "Pending"
        if self._is_on_ours(pod) and (pending or "deletionTimestamp" in pod["metadata"]):
            self._work.put(informers.key_of(pod))

    def enqueue_pods_on(self, node: str) -> None:
        """Look at the pods of a node that was not known before."""
        for pod in self._pods.objects():
            if pod["spec"].get("nodeName") == node:
                self.enqueue_pod(pod)

    def _is_on_ours(self, pod: Object) -> bool:
        node = self._nodes.get(pod["spec"].get("nodeName") or "")
        return node is not None and _is_ours(node, self.run_id)

    def enqueue_waiting(self, claim: Object) -> None:
        """Look again at the pods that wait for this claim."""
        with self._guard:
            pods = self._waiting.pop(informers.key_of(claim), set())
        for pod in sorted(pods):  # in the same order whenever a run is made again
            self._work.put(pod)

    def _run(self) -> None:
        while True:
            try:
                key = self._work.get()
            except concurrency.Closed:
                return
            self._sync(key)

    def _sync(self, key: str) -> None:
        for _ in range(TRIES_MAX):
            pod = self._pods.get(key)
            if pod is None:
                return
            try:
                self._sync_once(pod)
            except transports.TransportError:
                concurrency.sleep(_RETRY_S)
            except apis.ApiError as error:
                if error.is_not_found or error.is_conflict:
                    return  # it changed under us: its event brings it back
                concurrency.sleep(_RETRY_S)
            else:
                return

    def _sync_once(self, pod: Object) -> None:
        meta = pod["metadata"]
        if "deletionTimestamp" in meta:
            self._api.delete(
                apis.PODS,
                meta["name"],
                namespace=meta["namespace"],
                uid=meta["uid"],
                grace_period_s=0,
            )
        elif pod.get("status", {}).get("phase") == "Pending" and self._is_prepared(pod):
            self._api.patch(
                apis.PODS,
                meta["name"],
                {"metadata": {"uid": meta["uid"]}, "status": _running(self._now())},
                namespace=meta["namespace"],
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
            )

    def _is_prepared(self, pod: Object) -> bool:
        """Whether every claim is allocated and reserved for the pod; if not, the pod waits for the claim."""
        meta = pod["metadata"]
        for name in claim_names(pod):
            key = f"{meta['namespace']}/{name}"
            with self._guard:
                self._waiting.setdefault(key, set()).add(informers.key_of(pod))
            claim = self._claims.get(key)
            if claim is None or not _is_reserved(claim, meta["uid"]):
                return False
            with self._guard:
                self._waiting.get(key, set()).discard(informers.key_of(pod))
        return True


class _PodEvents:
    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self._kubelets.enqueue_pod(obj)

    def on_update(self, old: Object, new: Object) -> None:
        del old
        self._kubelets.enqueue_pod(new)

    def on_delete(self, last: Object) -> None:
        del last


class _NodeEvents:
    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    def on_add(self, obj: Object, *, initial: bool) -> None:
        if not initial:  # the first ones are known before any pod is
            self._kubelets.enqueue_pods_on(obj["metadata"]["name"])

    def on_update(self, old: Object, new: Object) -> None:
        del old, new

    def on_delete(self, last: Object) -> None:
        del last


class _ClaimEvents:
    def __init__(self, kubelets: Kubelets) -> None:
        self._kubelets = kubelets

    def on_add(self, obj: Object, *, initial: bool) -> None:
        del initial
        self._kubelets.enqueue_waiting(obj)

    def on_update(self, old: Object, new: Object) -> None:
        del old
        self._kubelets.enqueue_waiting(new)

    def on_delete(self, last: Object) -> None:
        del last


def claim_names(pod: Object) -> list[str]:
    """The names of the ResourceClaims of a pod; a generated one that is not known yet counts as missing."""
    generated = {
        entry["name"]: entry.get("resourceClaimName")
        for entry in pod.get("status", {}).get("resourceClaimStatuses") or []
    }
    names = []
    for entry in pod["spec"].get("resourceClaims") or []:
        name = entry.get("resourceClaimName") or generated.get(entry["name"], "(not created yet)")
        if name is not None:
            names.append(name)
    return names


def _is_reserved(claim: Object, pod_uid: str) -> bool:
    status = claim.get("status") or {}
    reserved = any(entry["uid"] == pod_uid for entry in status.get("reservedFor") or [])
    return reserved and status.get("allocation") is not None


def _running(now: str) -> Object:
    condition = {"status": "True", "lastTransitionTime": now}
    kinds = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": kind, **condition} for kind in kinds],
    }


def _keep_nodes_ready(api: apis.Api, kubelets: Kubelets, stopped: threading.Event) -> None:
    """Renew the lease of every node that is played until the process is to stop."""
    while True:
        for node in kubelets.nodes():
            leases.renew(api, node, run_id=kubelets.run_id)
        if stopped.wait(leases.INTERVAL_S):
            return


def _is_ours(node: Object, run_id: str) -> bool:
    meta = node["metadata"]
    if meta.get("annotations", {}).get("kwok.x-k8s.io/node") != "fake":
        return False
    return not run_id or meta.get("labels", {}).get(naming.RUN_LABEL) == run_id
