"""A DRA driver with four devices, on grpcio, which breaks the rule that a file names.

python -m tests.stand_ins.dra_driver KUBECONFIG NODE DRIVER PLUGINS REGISTRY CDI STATE [INSTANCE]

It is written from the protocol, and shares no code with the project's driver. All that it knows is
in a file that it locks for a call, so that two instances can run. STATE/../spoilt has the id of the
rule to break, for which `is_spoilt` asks at the place where the correct code would be.
"""

import base64
import collections
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent import futures

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
import grpc

from harness.cluster.kubelet_api.generated import dra_v1_pb2 as dra
from harness.cluster.kubelet_api.generated import registration_v1_pb2 as registration

CONFIG = json.loads(pathlib.Path(sys.argv[1]).read_text())
NODE, NAME = sys.argv[2:4]
PLUGINS, REGISTRY, CDI, STATE = map(pathlib.Path, sys.argv[4:8])
INSTANCE = sys.argv[8] if len(sys.argv) > 8 else ""
CLUSTER, USER = CONFIG["clusters"][0]["cluster"], CONFIG["users"][0]["user"]
AUTHORITY = base64.b64decode(CLUSTER["certificate-authority-data"]).decode()
TLS = ssl.create_default_context(cadata=AUTHORITY)
API = "/apis/resource.k8s.io/v1"
DEVICES = [f"device-{number}" for number in range(4)] + ["shared-0"]
CAPACITY = 8
SPOILT, CHECKPOINT, LOCK = STATE.parent / "spoilt", STATE / "checkpoint.json", STATE / "lock"
LIFE = {"claims": {}, "ended": [], "boot": ""}
SHORT_S, LONG_S = 0.03, 0.3
under_way: list[str] = []
registrations: list[bool] = []
seen: list[str] = []
claim_parameters: dict[str, list[str]] = collections.defaultdict(list)
"""Uid of a claim -> its parameters as texts."""
broken: set[str] = set()
"""Uids of claims that a spoilt call has made unusable."""


class RefusedError(Exception):
    """An error of one claim."""


def is_spoilt(*rules):
    try:
        return SPOILT.read_text() in rules
    except OSError:
        return False


def call(verb, path, body=None, content="application/apply-patch+yaml"):
    headers = {"Authorization": f"Bearer {USER['token']}", "Content-Type": content}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(CLUSTER["server"] + path, data, headers, method=verb)
    with urllib.request.urlopen(request, context=TLS, timeout=10) as answer:
        return json.load(answer)


def boot_id():
    return call("GET", f"/api/v1/nodes/{NODE}")["status"]["nodeInfo"]["bootID"]


@contextlib.contextmanager
def state():
    """Lock the state, read it, and write it if it has changed."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            known = json.loads(CHECKPOINT.read_text())
        except FileNotFoundError:
            known = json.loads(json.dumps(LIFE))
        before = json.dumps(known)
        yield known
        if json.dumps(known) != before:
            save(known)


def save(known):
    new = CHECKPOINT.with_suffix(".new")
    new.write_text(json.dumps(known))
    new.replace(CHECKPOINT)


def cdi_name(uid, device):
    return device if is_spoilt("cdi/not-reused") else f"{uid}-{device}"


def cdi_path(uid):
    return CDI / f"{NAME.replace('/', '_')}-{uid}.json"


def write_cdi(uid, devices, parameters):
    if is_spoilt("parameters/of-claim-before"):
        seen.extend(parameters)
        parameters = seen
    values = [f"PARAMETERS_{number}={text}" for number, text in enumerate(parameters)]
    edits = {} if is_spoilt("cdi/valid") else {"env": [f"CLAIM={uid}", *values]}
    spec = {
        "cdiVersion": "0.6.0",
        "kind": f"{NAME}/device",
        "devices": [{"name": cdi_name(uid, name), "containerEdits": edits} for name in devices],
    }
    new = cdi_path(uid).with_suffix(".new")
    new.write_text(json.dumps(spec))
    new.replace(cdi_path(uid))
    if is_spoilt("cdi/defined-once"):
        cdi_path(f"{uid}-copy").write_text(json.dumps(spec))


def read_claim(claim):
    started = time.monotonic()
    if is_spoilt("crash/while-reading"):
        (STATE / "reading").touch()
    try:
        found = call("GET", f"{API}/namespaces/{claim.namespace}/resourceclaims/{claim.name}")
    except urllib.error.HTTPError as error:
        raise RefusedError(f"{claim.name}: {error}") from error
    finally:
        if time.monotonic() - started > 0.3 and is_spoilt("calls/slow-api-server"):
            broken.add(claim.uid)
    (STATE / "reading").unlink(missing_ok=True)
    return found


def check_claim(claim, found):
    if found["metadata"]["uid"] != claim.uid and not is_spoilt("prepare/replaced-claim"):
        raise RefusedError("replaced")
    status = found.get("status", {})
    if "allocation" not in status:
        if is_spoilt("prepare/unallocated-claim"):
            return []
        raise RefusedError("not allocated")
    if not status.get("reservedFor") and not is_spoilt("prepare/unreserved-claim"):
        raise RefusedError("not reserved")
    rows = status["allocation"]["devices"]["results"]
    config = status["allocation"]["devices"].get("config") or []
    check_parameters(config)
    claim_parameters[claim.uid] = [json.dumps(item["opaque"]["parameters"]) for item in config]
    if not is_spoilt("prepare/foreign-results"):
        rows = [row for row in rows if row["driver"] == NAME]
    if not {row["device"] for row in rows if row["driver"] == NAME} <= {*DEVICES}:
        if is_spoilt("prepare/unknown-device"):
            os._exit(3)
        raise RefusedError("no such device")
    return rows


def check_parameters(config):
    for item in config:
        value = item["opaque"]["parameters"]
        if item["opaque"]["driver"] != NAME:
            if is_spoilt("parameters/other-drivers"):
                raise RefusedError("parameters of another driver")
            continue
        size = len(json.dumps(value))
        for rule, is_bad in (
            ("parameters/unknown", value.get("kind") == "NoSuchConfig"),
            ("parameters/any-json", "kind" not in value and size < 9000),
            ("parameters/large", size > 9000),
        ):
            if is_bad and is_spoilt(rule):
                raise ValueError(f"cannot understand {value}")


def prepare(claim, answer):
    begun = len(ended_of(claim.uid))
    rows = rows_of(claim)
    if claim.uid in broken:
        raise RefusedError("it is in use by an earlier call")
    race = is_spoilt("concurrency/one-device", "load/exclusive")
    if race:
        with state() as known:
            refuse_held(known, claim, rows)
        time.sleep(SHORT_S)
    with state() as known:
        if not race:
            refuse_held(known, claim, rows)
        if len(ended_of(claim.uid, known)) > begun and not is_spoilt("calls/overtaken-prepare"):
            raise RefusedError("it was unprepared meanwhile")
        note(known, claim, rows)
        fill(answer, claim, rows, known)
    report(claim, rows)


def rows_of(claim):
    if is_spoilt("prepare/missing-claim", "calls/late-prepare"):
        try:
            return check_claim(claim, read_claim(claim))
        except RefusedError:
            return [{"driver": NAME, "pool": NODE, "device": DEVICES[0], "request": "devices"}]
    return check_claim(claim, read_claim(claim))


def ended_of(uid, known=None):
    if known is None:
        with state() as known:
            return [item for item in known["ended"] if item == uid]
    return [item for item in known["ended"] if item == uid]


def refuse_held(known, claim, rows):
    """Raise RefusedError if another claim has one of the devices."""
    if is_spoilt("exclusivity/device-held"):
        return
    if INSTANCE == "instance-b" and is_spoilt("instances/device-held"):
        return
    mine = {*own_of(rows)}
    others = [entry for uid, entry in known["claims"].items() if uid != claim.uid]
    used = sum(entry["used"] for entry in others) + used_of(rows)
    if used > CAPACITY and not is_spoilt("shares/beyond-capacity"):
        raise RefusedError(f"{used} of {CAPACITY} would be used")
    if any(row.get("adminAccess") for row in rows) and is_spoilt("exclusivity/admin-access"):
        mine = {row["device"] for row in rows}
    for uid, entry in [*known["claims"].items()]:
        if uid != claim.uid and mine & {*entry["alone"]}:
            if is_spoilt("exclusivity/holder-unharmed"):
                cdi_path(uid).unlink(missing_ok=True)
            raise RefusedError(f"claim {uid} has a device of {sorted(mine)}")


def own_of(rows):
    """Return the names of what no other claim may have: devices, and shares of them."""
    if is_spoilt("shares/side-by-side"):
        return [row["device"] for row in rows if not row.get("adminAccess")]
    if is_spoilt("shares/same-id-refused"):
        rows = [row for row in rows if not row.get("shareID")]
    own = [row for row in rows if not row.get("adminAccess")]
    return [row["device"] + row.get("shareID", "") for row in own]


def devices_of(rows):
    return list(dict.fromkeys(row["device"] for row in rows))


def used_of(rows):
    return sum(int(row.get("consumedCapacity", {}).get("memory", "0")) for row in rows)


def note(known, claim, rows):
    """Keep what is prepared, first, and then make the CDI file."""
    old = known["claims"].get(claim.uid)
    if old and old.get("started") and is_spoilt("crash/during-prepare"):
        raise RefusedError("it was begun and never ended")
    if old and is_spoilt("prepare/same-answer-twice"):
        raise RefusedError("it is prepared")
    if (
        old
        and old["restored"]
        and is_spoilt("prepare/same-after-driver-restart", "shares/same-after-restart")
    ):
        raise RefusedError("an earlier process has prepared it")
    if old and old["instance"] != INSTANCE and is_spoilt("instances/other-one-prepares-again"):
        raise RefusedError("another instance has prepared it")
    if old and old["boot"] != known["boot"] and is_spoilt("reboot/same-devices"):
        raise RefusedError("it was prepared before a reboot")
    alone = own_of(rows)
    entry = {
        "alone": alone,
        "used": used_of(rows),
        "restored": bool(old and old["restored"]),
        "instance": INSTANCE,
    }
    entry |= {"name": claim.name, "boot": known["boot"], "namespace": claim.namespace}
    known["claims"][claim.uid] = entry | {"started": True}
    save(known)
    if is_spoilt("crash/during-prepare", "crash/leaves-nothing"):
        time.sleep(LONG_S)
    is_kept = old and (
        is_spoilt("cdi/made-again")
        or (old["boot"] != known["boot"] and is_spoilt("reboot/files-made-again"))
    )
    if not is_kept and not is_spoilt("cdi/exist"):
        write_cdi(claim.uid, devices_of(rows), claim_parameters[claim.uid])
    known["claims"][claim.uid] = entry


def fill(answer, claim, rows, known):
    if is_spoilt("shares/two-in-one-claim"):
        rows = list({row["device"]: row for row in rows}.values())
    for row in rows:
        name = "other" if is_spoilt("prepare/allocated-devices") else row["device"]
        device = answer.devices.add(pool_name=row["pool"], device_name=name)
        request = "other" if is_spoilt("prepare/request-names") else row["request"]
        device.request_names.append(request.partition("/")[0])
        mark = "/" if is_spoilt("cdi/qualified") else "="
        device.cdi_device_ids.append(f"{NAME}/device{mark}{cdi_name(claim.uid, row['device'])}")


def report(claim, rows):
    path = f"{API}/namespaces/{claim.namespace}/resourceclaims/{claim.name}"
    entries = [{"driver": NAME, "pool": row["pool"], "device": row["device"]} for row in rows]
    if is_spoilt("status/keeps-others"):
        patch = {"status": {"devices": entries}}
        call("PATCH", f"{path}/status", patch, "application/merge-patch+json")


def unprepare(claim):
    if is_spoilt("unprepare/deleted-claim"):
        read_claim(claim)
    with state() as known:
        entry = known["claims"].get(claim.uid)
        if entry is None and is_spoilt("unprepare/by-uid"):
            for uid, other in [*known["claims"].items()]:
                if other["name"] == claim.name:
                    forget(known, uid)
        if entry is None:
            was_there = claim.uid in known["ended"]
            if not was_there and is_spoilt("unprepare/never-prepared"):
                raise RefusedError("it is not prepared")
            if was_there and is_spoilt("unprepare/twice"):
                raise RefusedError("it is not prepared any more")
        else:
            refuse_unprepare(known, claim, entry)
        known["ended"] = [*known["ended"], claim.uid][-100:]
        if entry is not None and entry["restored"] and is_spoilt("unprepare/after-restart"):
            return
        if not is_spoilt("unprepare/frees-device"):
            forget(known, claim.uid)


def refuse_unprepare(known, claim, entry):
    if entry["boot"] != known["boot"] and is_spoilt("reboot/unprepare"):
        raise RefusedError("it was prepared before a reboot")
    if entry.get("gone") and is_spoilt("unprepare/deleted-while-down"):
        raise RefusedError("the claim is gone")
    if entry.get("ending") and is_spoilt("crash/during-unprepare"):
        raise RefusedError("it was begun to be unprepared")
    if entry["instance"] != INSTANCE and is_spoilt("instances/other-one-unprepares"):
        raise RefusedError("another instance has prepared it")
    if is_spoilt("crash/during-unprepare"):
        entry["ending"] = True
        save(known)
        time.sleep(LONG_S)


def forget(known, uid):
    entry = known["claims"].pop(uid, None)
    kept = is_spoilt("crash/leaves-nothing", "unprepare/after-failed-prepare")
    if entry is not None and entry.get("started") and kept:
        known["claims"][f"left-of-{uid}"] = entry
    cdi_path(f"{uid}-copy").unlink(missing_ok=True)
    every_tenth = is_spoilt("load/leaves-nothing") and len(known["ended"]) % 10 == 0
    if is_spoilt("shares/unprepared-apart"):
        for path in CDI.iterdir():
            path.unlink()
    if not (is_spoilt("cdi/gone") or every_tenth):
        cdi_path(uid).unlink(missing_ok=True)


SLOW = (
    "concurrency/same-claim",
    "concurrency/different-claims",
    "concurrency/prepare-and-unprepare",
    "load/all-answered",
)
"""Rules whose breach needs calls that meet."""


@contextlib.contextmanager
def counted(context, claims):
    """Break rules about calls at the same time, and about calls whose callers are gone."""
    uids = [claim.uid for claim in claims]
    same = [uid for uid in uids if uid in under_way]
    many = len(under_way) >= 2
    others = bool(under_way)
    under_way.extend(uids)
    try:
        if is_spoilt(*SLOW):
            time.sleep(SHORT_S)
        if same and is_spoilt("concurrency/same-claim"):
            raise RefusedError("another call for it is under way")
        if others and not same and is_spoilt("concurrency/different-claims"):
            raise RefusedError("another call is under way")
        if many and is_spoilt("load/all-answered"):
            raise RefusedError("too many calls")
        yield same
        break_abandoned(context, uids)
    finally:
        for uid in uids:
            under_way.remove(uid)


def break_abandoned(context, uids):
    left = context.time_remaining()
    if left is not None and left < 0.02 and is_spoilt("calls/deadline"):
        broken.update(uids)
    if is_spoilt("calls/cancelled-prepare", "calls/cancelled-unprepare"):
        time.sleep(SHORT_S)
        if not context.is_active():
            broken.update(uids)


def exchange(claims):
    """Give what one claim got to another one, or only its CDI ids."""
    uids = sorted(uid for uid in claims if claims[uid].devices)
    if len(uids) < 2:
        return
    if is_spoilt("several/own-devices"):
        first, second = (claims[uid].devices[0] for uid in uids[:2])
        old = list(first.cdi_device_ids)
        first.cdi_device_ids[:], second.cdi_device_ids[:] = second.cdi_device_ids, old
    if is_spoilt("kubelet/own-devices"):
        first, second = claims[uids[0]], claims[uids[1]]
        old = [*first.devices]
        del first.devices[:]
        first.devices.extend(second.devices)
        del second.devices[:]
        second.devices.extend(old)


def node_prepare(request, context):
    answer = dra.NodePrepareResourcesResponse()
    if not request.claims and is_spoilt("several/none"):
        raise ValueError("expected a claim")
    with counted(context, request.claims) as same:
        if same and is_spoilt("concurrency/prepare-and-unprepare"):
            (CDI / f"left-{time.monotonic_ns()}.json").write_text("{}")
        for claim in request.claims:
            entry = answer.claims[claim.uid]
            try:
                if is_spoilt("prepare/allocated-claim"):
                    raise RefusedError("no claim is prepared today")
                if len(registrations) > 1 and is_spoilt("prepare/same-after-kubelet-restart"):
                    raise RefusedError("another kubelet has prepared it")
                prepare(claim, entry)
            except RefusedError as error:
                if is_spoilt("several/one-bad"):
                    raise
                if is_spoilt("several/one-bad-then-good"):
                    cdi_path(f"left-{claim.uid}").write_text("{}")
                entry.ClearField("devices")
                entry.error = str(error)
        exchange(answer.claims)
        if len(request.claims) > 1 and is_spoilt("several/all-prepared"):
            del answer.claims[request.claims[-1].uid]
    return answer


def node_unprepare(request, context):
    answer = dra.NodeUnprepareResourcesResponse()
    with counted(context, request.claims):
        for claim in request.claims:
            if claim.uid in broken and is_spoilt("calls/cancelled-unprepare"):
                answer.claims[claim.uid].error = "in use by an earlier call"
                continue
            with state() as known:
                is_known = claim.uid in known["claims"]
            if (
                not is_known
                and len(request.claims) > 1
                and is_spoilt("several/unprepare-one-unknown")
            ):
                raise RefusedError(f"{claim.name} is unknown")
            answer.claims[claim.uid].error = ""
            try:
                unprepare(claim)
            except RefusedError as error:
                answer.claims[claim.uid].error = str(error)
        if len(request.claims) > 1 and is_spoilt("several/all-unprepared"):
            del answer.claims[request.claims[-1].uid]
    return answer


def get_info(request, context):
    registered = len(registrations)
    endpoint = str(service_path())
    if is_spoilt("registration/endpoint"):
        endpoint = "plugins/dra.sock"
    if is_spoilt("registration/same-info") and registered:
        endpoint = str(REGISTRY)
    versions = ["v1.DRAPlugin"]
    if is_spoilt("registration/known-version"):
        versions = ["1.0.0"]
    if is_spoilt("registration/versions-are-served"):
        versions = ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
    return registration.PluginInfo(
        type="DevicePlugin" if is_spoilt("registration/type") else "DRAPlugin",
        name="Driver_X" if is_spoilt("registration/name") else NAME,
        endpoint=endpoint,
        supported_versions=versions,
    )


def notify(request, context):
    registrations.append(request.plugin_registered)
    if is_spoilt("registration/accepts-status"):
        raise ValueError("what a status")
    if not request.plugin_registered and is_spoilt("registration/survives-refusal"):
        os._exit(4)
    return registration.RegistrationStatusResponse()


def service_path():
    is_shared = is_spoilt("instances/both-register")
    suffix = f"-{INSTANCE}" if INSTANCE and not is_shared else ""
    return PLUGINS / NAME / f"dra{suffix}.sock"


def registration_path():
    dot = "." if is_spoilt("registration/socket-name") else ""
    return REGISTRY / f"{dot}{NAME}{INSTANCE and '-' + INSTANCE}-reg.sock"


def publish():
    """Publish the devices again as soon as they are not there."""
    while True:
        if not is_spoilt("slices/published-again") or not registrations:
            put_slices()
        time.sleep(0.1)


def put_slices():
    names = [f"{NODE}-{NAME}"]
    if is_spoilt("slices/no-device-twice"):
        names.append(f"{NODE}-{NAME}-b")
    if is_spoilt("slices/same-after-restart"):
        names = [f"{NODE}-{NAME}-{os.getpid()}"]
    if is_spoilt("slices/generation"):
        put_slice(f"{NODE}-{NAME}-old", generation=1, count=1)
    generation = 2 if is_spoilt("slices/generation") else 1
    count = 3 if is_spoilt("slices/pool-complete") else len(names)
    for name in names:
        put_slice(name, generation=generation, count=count)


def put_slice(name, *, generation, count):
    node = call("GET", f"/api/v1/nodes/{NODE}")
    owner = {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": node["metadata"]["uid"]}
    owners = [] if is_spoilt("slices/owned-by-node") else [owner]
    spec = {
        "driver": "other.example.com" if is_spoilt("slices/driver-name") else NAME,
        "nodeName": "elsewhere" if is_spoilt("slices/node") else NODE,
        "pool": {"name": NODE, "generation": generation, "resourceSliceCount": count},
        "devices": [described(device) for device in DEVICES],
    }
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name, "ownerReferences": owners},
        "spec": spec,
    }
    call("PATCH", f"{API}/resourceslices/{name}?fieldManager={NAME}&force=true", document)


def described(device):
    if not device.startswith("shared"):
        return {"name": device}
    capacity = {"memory": {"value": str(CAPACITY)}}
    return {"name": device, "allowMultipleAllocations": True, "capacity": capacity}


def restore():
    """Look at what an earlier process has left, before anything is served."""
    if (STATE / "reading").exists():
        sys.exit("a read was never ended")
    try:
        json.loads(CHECKPOINT.read_text())
    except FileNotFoundError:
        pass
    except ValueError:
        if is_spoilt("crash/damaged-state"):
            sys.exit("the state cannot be read")
        CHECKPOINT.unlink()
    with state() as known:
        known["boot"] = boot_id()
        for uid, entry in [*known["claims"].items()]:
            entry["restored"] = entry["restored"] or entry["instance"] == INSTANCE
            if is_gone(uid, entry):
                entry["gone"] = True
                if not is_spoilt("unprepare/reconciled", "unprepare/deleted-while-down"):
                    forget(known, uid)
            if is_spoilt("exclusivity/held-after-restart"):
                entry["alone"] = []


def is_gone(uid, entry):
    try:
        path = f"{API}/namespaces/{entry['namespace']}/resourceclaims/{entry['name']}"
        return call("GET", path)["metadata"]["uid"] != uid
    except urllib.error.HTTPError as error:
        return error.code == 404


def served(path, package, methods):
    """Serve methods on a socket; `methods`: name -> handler and type of the request."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        if is_spoilt("registration/replaces-old-sockets"):
            sys.exit(f"{path} is in use")
        if not is_spoilt("instances/both-register"):
            path.unlink()
    server = grpc.server(futures.ThreadPoolExecutor(32))
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(
            do, kind.FromString, lambda answer: answer.SerializeToString()
        )
        for name, (do, kind) in methods.items()
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(package, handlers)])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


def main():
    STATE.mkdir(exist_ok=True)
    if is_spoilt("logs/no-secrets"):
        print(USER, flush=True)
    restore()
    put_slices()
    servers = [
        served(
            service_path(),
            "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
            {
                "NodePrepareResources": (node_prepare, dra.NodePrepareResourcesRequest),
                "NodeUnprepareResources": (node_unprepare, dra.NodeUnprepareResourcesRequest),
            },
        )
    ]
    if not is_spoilt("registration/registers"):
        methods = {
            "GetInfo": (get_info, registration.InfoRequest),
            "NotifyRegistrationStatus": (notify, registration.RegistrationStatus),
        }
        servers.append(served(registration_path(), "pluginregistration.Registration", methods))
    threading.Thread(target=publish, daemon=True).start()
    signal.sigwait([signal.SIGTERM])
    if is_spoilt("registration/removes-sockets"):
        os._exit(0)
    for server in servers:
        server.stop(0)
    folders = [REGISTRY] if is_spoilt("instances/old-one-ends") else []
    for path in [registration_path(), service_path(), *(p for f in folders for p in f.iterdir())]:
        path.unlink(missing_ok=True)
    os._exit(0)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    main()
