"""Stands in for kube-scheduler 1.34.2 as it was recorded: it allocates the devices that the real
one allocated, in the same order, and writes the real one's log, with the names of this run.

The recording is `log_lines.RECORDED`, of which the lines about the first pods are played. Among
these, two claims get one device. Flags and configuration are those of `kube_scheduler`.
"""

import contextlib
import json
import lzma
import re
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any
from unittest import mock

from harness import clocks
from harness.client import apis, transports
from harness.subject.process import subject_process
from tests.stand_ins import kube_scheduler
from tests.support import log_lines

PODS = 10
"""Pods of the recording that are played; the run has as many."""
TIMEOUT_S = 60
NAMESPACE = b"hunt-1795221190"
_NUMBER = re.compile(rb"\b(?:claim|my-pod)-(\d{4})\b")
_HEAD = re.compile(rb"^(?=I1121 )", re.M)
_FINALIZER = "resource.kubernetes.io/delete-protection"


def recorded() -> list[bytes]:
    """Return the entries of the log that are about the first pods; some have many lines."""
    text = lzma.decompress(log_lines.RECORDED.read_bytes())
    first = {b"%04d" % number for number in range(PODS)}
    entries = ((entry, set(_NUMBER.findall(entry))) for entry in _HEAD.split(text[: 2**20]))
    return [entry for entry, numbers in entries if numbers and numbers <= first]


class Player:
    """Plays the recording against an API server."""

    def __init__(self, api: apis.Api, namespace: str, driver: str) -> None:
        self._api, self._namespace = api, namespace
        self._names = (
            (NAMESPACE + b".driver", driver.encode()),
            (NAMESPACE, namespace.encode()),
            (b"my-pod-", b"pod-"),
        )
        self._planned: dict[str, Any] = {}
        """By pod, the allocation of its claim."""

    def play(self) -> None:
        """Do what each entry says before it is written, as kube-scheduler does."""
        for entry in recorded():
            for old, new in self._names:
                entry = entry.replace(old, new)
            self._act(entry.decode())
            sys.stderr.buffer.write(entry)
            sys.stderr.buffer.flush()

    def _act(self, entry: str) -> None:
        message = entry.partition('] "')[2].partition('"')[0]
        found = re.search(r'pod="[^"]*/pod-(\d+)"', entry)
        number = found[1] if found else ""
        match message:
            case "Reserved resource in allocation result":
                self._planned[number] = json.loads(entry.partition("=<\n")[2].rpartition(" >")[0])
            case "reserved":
                self._write(number)
            case "Attempting to bind pod to node":
                self._api.bind(self._pod(number), entry.partition('node="')[2].partition('"')[0])

    def _pod(self, number: str) -> Any:
        return self._api.get(apis.PODS, f"pod-{number}", namespace=self._namespace)

    def _write(self, number: str) -> None:
        pod = self._pod(number)
        name = pod["spec"]["resourceClaims"][0]["resourceClaimName"]
        claim = self._api.get(apis.CLAIMS, name, namespace=self._namespace)
        claim["metadata"]["finalizers"] = [_FINALIZER]
        claim = self._api.update(apis.CLAIMS, claim)
        allocation = self._planned[number]
        for result in allocation["devices"]["results"]:
            result["request"] = claim["spec"]["devices"]["requests"][0]["name"]
        meta = pod["metadata"]
        reserved = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
        claim["status"] = {"allocation": allocation, "reservedFor": [reserved]}
        self._api.update_status(apis.CLAIMS, claim)


def waiting_pods(api: apis.Api, scheduler_name: str) -> list[Any]:
    """Return the pods for this scheduler; empty before all of them are there."""
    pods = [
        pod
        for pod in api.list(apis.PODS).items
        if pod["spec"].get("schedulerName") == scheduler_name
    ]
    return pods if len(pods) == PODS else []


def run(options: subject_process.SubjectOptions) -> int:
    """Wait for the pods, play the recording, and stay until SIGTERM."""
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with _connected(options) as api:
        clocks.wait_until(
            lambda: waiting_pods(api, options.scheduler_name),
            timeout_s=TIMEOUT_S,
            why=f"{PODS} pods to be created",
        )
        namespace = waiting_pods(api, options.scheduler_name)[0]["metadata"]["namespace"]
        driver = api.list(apis.SLICES).items[0]["spec"]["driver"]
        Player(api, namespace, driver).play()
    ended.wait()
    return 0


@contextlib.contextmanager
def _connected(options: subject_process.SubjectOptions) -> Iterator[apis.Api]:
    transport = transports.connect(options.kubeconfig, user_agent="kube-scheduler")
    with contextlib.closing(transport):
        yield apis.Api(transport)


if __name__ == "__main__":
    kube_scheduler.VERSION = "Kubernetes v1.34.2"
    with mock.patch.object(subject_process, "run_scheduler", run):
        sys.exit(kube_scheduler.main())
