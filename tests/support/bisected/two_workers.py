"""A scheduler of two workers for DRA, of the standard library alone.

    flake-hunt run few-pods.toml --subject 'command=python FILE {kubeconfig} {scheduler_name}'

It knows whole devices, and pods with one claim each. Which devices are free is decided under a
lock: no worker chooses between the end of another one's write and the list that shows it.
"""

import base64
import contextlib
import http.client
import json
import pathlib
import queue
import ssl
import sys
import threading
import urllib.parse

CONFIG, SCHEDULER = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2]
CLUSTER, USER = CONFIG["clusters"][0]["cluster"], CONFIG["users"][0]["user"]
AUTHORITY = base64.b64decode(CLUSTER.get("certificate-authority-data", "")).decode()
TLS = ssl.create_default_context(cadata=AUTHORITY) if AUTHORITY else None
DRA, FINALIZER = "/apis/resource.k8s.io/v1", "resource.kubernetes.io/delete-protection"
WORKERS, ROUND_S, TIMEOUT_S = 2, 0.05, 30

LOCK = threading.Lock()
IN_FLIGHT = set()  # devices whose allocation is being written
PODS = queue.SimpleQueue()
WAITING = set()
CONNECTIONS, PAUSE = threading.local(), threading.Event()


def connection():
    if not hasattr(CONNECTIONS, "own"):
        place = urllib.parse.urlsplit(CLUSTER["server"])
        where = (place.hostname, place.port)
        CONNECTIONS.own = (
            http.client.HTTPSConnection(*where, timeout=TIMEOUT_S, context=TLS)
            if TLS
            else http.client.HTTPConnection(*where, timeout=TIMEOUT_S)
        )
    return CONNECTIONS.own


def call(verb, path, body=None):
    """Call the API server; raise OSError if that fails, which a conflict does too."""
    headers = {"Authorization": f"Bearer {USER['token']}", "Content-Type": "application/json"}
    try:
        connection().request(verb, path, json.dumps(body) if body else None, headers)
        answer = connection().getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:
        connection().close()
        raise OSError(f"{verb} {path}: {error}") from error
    if answer.status >= 300:
        raise OSError(f"{verb} {path}: {answer.status}")
    return json.loads(content)


def results(claim):
    allocation = claim.get("status", {}).get("allocation", {})
    return allocation.get("devices", {}).get("results", [])


def used_devices():
    claims = call("GET", f"{DRA}/resourceclaims")["items"]
    return {(row["driver"], row["pool"], row["device"]) for item in claims for row in results(item)}


def every_device():
    for item in call("GET", f"{DRA}/resourceslices")["items"]:
        spec = item["spec"]
        for device in spec["devices"]:
            yield spec.get("nodeName"), (spec["driver"], spec["pool"]["name"], device["name"])


def choose():
    """A free device and its node; raise StopIteration if there is none."""
    with LOCK:
        used = used_devices()
        node, device = next(found for found in every_device() if found[1] not in used | IN_FLIGHT)
        IN_FLIGHT.add(device)
    return node, device


def forget(device):
    """The write of an allocation has ended."""
    with LOCK:
        IN_FLIGHT.discard(device)


def allocation(claim, node, device):
    """The allocation of a device to the one request of a claim."""
    driver, pool, name = device
    row = {"driver": driver, "pool": pool, "device": name}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {
            "results": [{"request": claim["spec"]["devices"]["requests"][0]["name"], **row}]
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def schedule(pod):
    """Allocate a device to the pod's claim, and bind the pod to its node."""
    meta = pod["metadata"]
    name = pod["spec"]["resourceClaims"][0]["resourceClaimName"]
    path = f"{DRA}/namespaces/{meta['namespace']}/resourceclaims/{name}"
    claim = call("GET", path)
    if results(claim):
        return
    claim["metadata"]["finalizers"] = [FINALIZER]
    claim = call("PUT", path, claim)
    node, device = choose()
    consumer = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
    claim["status"] = {"allocation": allocation(claim, node, device), "reservedFor": [consumer]}
    try:
        call("PUT", f"{path}/status", claim)
    finally:
        forget(device)
    binding = {"metadata": {"name": meta["name"]}, "target": {"kind": "Node", "name": node}}
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding"
    call("POST", path, {"apiVersion": "v1", "kind": "Binding", **binding})


def work():
    """Take pods from the queue for ever."""
    while True:
        pod = PODS.get()
        # No device is free, a write met a conflict, an answer was lost: it comes again.
        with contextlib.suppress(OSError, StopIteration):
            schedule(pod)
        WAITING.discard(pod["metadata"]["uid"])


def look():
    """Put every pod into the queue that waits for this scheduler and is not there."""
    for pod in call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=")["items"]:
        uid, is_ours = pod["metadata"]["uid"], pod["spec"].get("schedulerName") == SCHEDULER
        if is_ours and "deletionTimestamp" not in pod["metadata"] and uid not in WAITING:
            WAITING.add(uid)
            PODS.put(pod)


for _ in range(WORKERS):
    threading.Thread(target=work, daemon=True).start()
while True:
    with contextlib.suppress(OSError):
        look()
    PAUSE.wait(ROUND_S)
