"""A scheduler for DRA of the standard library alone: one pod at a time, always from fresh lists.

    flake-hunt test 'python scheduler.py {kubeconfig} {scheduler_name}'

It knows whole devices of a node: no selectors, constraints, shares or counters. It is right because
it never plans with old data. Any program in any language can take its place.
"""

import base64
import contextlib
import json
import pathlib
import ssl
import sys
import time
import urllib.request

CONFIG, SCHEDULER = json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2]
CLUSTER, USER = CONFIG["clusters"][0]["cluster"], CONFIG["users"][0]["user"]
AUTHORITY = base64.b64decode(CLUSTER.get("certificate-authority-data", "")).decode()
TLS = ssl.create_default_context(cadata=AUTHORITY) if AUTHORITY else None
DRA, FINALIZER = "/apis/resource.k8s.io/v1", "resource.kubernetes.io/delete-protection"


def call(verb, path, body=None):
    """Call the API server; raise OSError if that fails, which a conflict does too."""
    headers = {"Authorization": f"Bearer {USER['token']}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(CLUSTER["server"] + path, data, headers, method=verb)
    with urllib.request.urlopen(request, context=TLS, timeout=30) as answer:
        return json.load(answer)


def claims_of(pod):
    """The pod's claims as they are now; raise KeyError if one is not there yet."""
    names = [item.get("resourceClaimName") for item in pod["spec"].get("resourceClaims", ())]
    names += [item["resourceClaimName"] for item in pod["status"].get("resourceClaimStatuses", ())]
    namespace = pod["metadata"]["namespace"]
    listed = call("GET", f"{DRA}/namespaces/{namespace}/resourceclaims")["items"]
    claims = {claim["metadata"]["name"]: claim for claim in listed}
    if len(list(filter(None, names))) < len(pod["spec"].get("resourceClaims", ())):
        raise KeyError("a claim of a template that does not exist yet")
    return [claims[name] for name in names if name]


def results(claim):
    """The devices that a claim has."""
    allocation = claim.get("status", {}).get("allocation", {})
    return allocation.get("devices", {}).get("results", [])


def free_devices(node):
    """The devices of a node that no claim of the cluster has."""
    claims = call("GET", f"{DRA}/resourceclaims")["items"]
    used = [(row["driver"], row["pool"], row["device"]) for item in claims for row in results(item)]
    slices = [item["spec"] for item in call("GET", f"{DRA}/resourceslices")["items"]]
    every = (
        (spec["driver"], spec["pool"]["name"], device["name"])
        for spec in slices
        if spec.get("nodeName") == node
        for device in spec["devices"]
    )
    return (found for found in every if found not in used)


def allocation(claim, node, free):
    """Free devices for all requests of a claim; raise StopIteration if there are too few."""
    rows = []
    for request in claim["spec"]["devices"]["requests"]:
        for _ in range(request["exactly"].get("count", 1)):
            driver, pool, device = next(free)
            found = {"driver": driver, "pool": pool, "device": device}
            rows.append({"request": request["name"], **found})
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {"results": rows},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def node_of(claims):
    """The node that the pod's allocated claims leave; None if they leave any."""
    for claim in claims:
        if results(claim):
            terms = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
            return terms[0]["matchFields"][0]["values"][0]
    return None


def allocate_and_reserve(claim, pod, node, free):
    """Write what is missing: the finalizer first, then the allocation with the reservation."""
    meta = pod["metadata"]
    consumer = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
    path = f"{DRA}/namespaces/{meta['namespace']}/resourceclaims/{claim['metadata']['name']}"
    if not results(claim):
        planned = allocation(claim, node, free)
        claim["metadata"]["finalizers"] = [FINALIZER]
        claim = call("PUT", path, claim)
        claim.setdefault("status", {})["allocation"] = planned
    reserved = claim["status"].setdefault("reservedFor", [])
    if consumer not in reserved:
        reserved.append(consumer)
        call("PUT", f"{path}/status", claim)


def schedule(pod, nodes):
    """Bind the pod to the first node that has devices for it."""
    claims, meta = claims_of(pod), pod["metadata"]
    fixed = node_of(claims)
    for node in [fixed] if fixed else nodes:
        with contextlib.suppress(StopIteration):  # the node is full
            free = free_devices(node)
            for claim in claims:
                allocate_and_reserve(claim, pod, node, free)
            target = {"kind": "Node", "name": node}
            binding = {"metadata": {"name": meta["name"]}, "target": target}
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/binding"
            call("POST", path, {"apiVersion": "v1", "kind": "Binding", **binding})
            return


def schedule_all():
    """Try every pod that waits for this scheduler once."""
    nodes = [node["metadata"]["name"] for node in call("GET", "/api/v1/nodes")["items"]]
    for pod in call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=")["items"]:
        is_ours = pod["spec"].get("schedulerName") == SCHEDULER
        if is_ours and "deletionTimestamp" not in pod["metadata"]:
            # A claim is not there yet, a write met a conflict, an answer was lost: look again.
            with contextlib.suppress(KeyError, OSError):
                schedule(pod, nodes)


while True:
    with contextlib.suppress(OSError):
        schedule_all()
    time.sleep(0.01)
