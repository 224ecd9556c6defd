"""A DRA driver of grpclib and the standard library, with four devices that do nothing.

    pip install grpclib grpcio-tools
    python -m grpc_tools.protoc -I. --python_out=. --grpclib_python_out=. *.proto
    flake-hunt driver-test 'command=python driver.py {kubeconfig} {node} {driver}
        {plugins_dir} {registry_dir} {cdi_dir} {state_dir}'

docs/drivers.md explains the protocol, and the mistakes that this driver does not make.
"""

import asyncio
import base64
import contextlib
import json
import pathlib
import signal
import ssl
import sys
import urllib.request

import dra_grpc
import dra_pb2
import grpclib.server
import registration_grpc
import registration_pb2

CONFIG, NODE, DRIVER = json.loads(pathlib.Path(sys.argv[1]).read_text()), *sys.argv[2:4]
PLUGINS, REGISTRY, CDI, STATE = (pathlib.Path(word) for word in sys.argv[4:8])
CLUSTER, USER = CONFIG["clusters"][0]["cluster"], CONFIG["users"][0]["user"]
AUTHORITY = base64.b64decode(CLUSTER["certificate-authority-data"]).decode()
TLS, API = ssl.create_default_context(cadata=AUTHORITY), "/apis/resource.k8s.io/v1"
SERVICE, REGISTRAR = PLUGINS / DRIVER / "dra.sock", REGISTRY / f"{DRIVER}-reg.sock"
CHECKPOINT = STATE / "checkpoint.json"
PREPARED = json.loads(CHECKPOINT.read_text()) if CHECKPOINT.exists() else {}
"""Uid of a prepared claim -> what it has for itself alone: device/ or device/share."""


def call(verb, path, body=None, content="application/apply-patch+yaml"):
    headers = {"Authorization": f"Bearer {USER['token']}", "Content-Type": content}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(CLUSTER["server"] + path, data, headers, method=verb)
    with urllib.request.urlopen(request, context=TLS, timeout=10) as answer:
        return json.load(answer)


def write(path, document):
    """Write a file that others find whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".new").write_text(json.dumps(document))
    path.with_suffix(".new").replace(path)


def prepare(claim, answer):
    """Give a claim its devices; raise an error if it cannot have them."""
    found = call("GET", f"{API}/namespaces/{claim.namespace}/resourceclaims/{claim.name}")
    if found["metadata"]["uid"] != claim.uid:
        raise ValueError(f"{claim.name} is a new claim: {found['metadata']['uid']}")
    results = found["status"]["allocation"]["devices"]["results"]
    rows = [row for row in results if row["driver"] == DRIVER]
    names = [(row["device"], row.get("shareID", "")) for row in rows if not row.get("adminAccess")]
    alone = ["/".join(name) for name in names]
    for uid, held in PREPARED.items():
        if uid != claim.uid and {*held} & {*alone}:
            raise ValueError(f"{held} are prepared for claim {uid}")
    PREPARED[claim.uid] = alone
    write(CHECKPOINT, PREPARED)  # before anything that must be undone
    spec = {"cdiVersion": "0.6.0", "kind": f"{DRIVER}/device", "devices": []}
    for number, row in enumerate(rows):
        name, edits = f"{claim.uid}-{number}", {"env": [f"DEVICE_{number}={row['device']}"]}
        spec["devices"].append({"name": name, "containerEdits": edits})
        device = answer.devices.add(pool_name=row["pool"], device_name=row["device"])
        device.request_names.append(row["request"].partition("/")[0])  # of `gpu/large`: `gpu`
        device.cdi_device_ids.append(f"{DRIVER}/device={name}")
    write(CDI / f"{DRIVER}-{claim.uid}.json", spec)  # each time: a reboot empties the folder


def unprepare(claim, _):
    """Forget a claim that may be gone from the API server, or was never prepared."""
    (CDI / f"{DRIVER}-{claim.uid}.json").unlink(missing_ok=True)
    if PREPARED.pop(claim.uid, None) is not None:
        write(CHECKPOINT, PREPARED)  # after all that must be undone


async def act(stream, do, answer):
    """Answer for every claim. Nothing is awaited meanwhile, so that no two calls overlap."""
    for claim in (await stream.recv_message()).claims:
        try:
            do(claim, answer.claims[claim.uid])
        except Exception as error:  # of this claim: the others are prepared
            answer.claims[claim.uid].error = repr(error)
    await stream.send_message(answer)


class Plugin(dra_grpc.DRAPluginBase):
    async def NodePrepareResources(self, stream):
        await act(stream, prepare, dra_pb2.PrepareResponse())

    async def NodeUnprepareResources(self, stream):
        await act(stream, unprepare, dra_pb2.UnprepareResponse())


class Registration(registration_grpc.RegistrationBase):
    async def GetInfo(self, stream):
        await stream.recv_message()
        info = registration_pb2.PluginInfo(type="DRAPlugin", name=DRIVER, endpoint=str(SERVICE))
        info.supported_versions.append("v1.DRAPlugin")
        await stream.send_message(info)

    async def NotifyRegistrationStatus(self, stream):
        print(await stream.recv_message(), flush=True)
        await stream.send_message(registration_pb2.RegistrationStatusResponse())


def publish():
    """Publish the devices, or leave the slice as it is."""
    name, pool = f"{NODE}-{DRIVER}", {"name": NODE, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": f"device-{number}"} for number in range(4)]
    spec = {"driver": DRIVER, "nodeName": NODE, "pool": pool, "devices": devices}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}}
    path = f"{API}/resourceslices/{name}?fieldManager={DRIVER}&force=true"
    call("PATCH", path, {**head, "spec": spec})


async def main():
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    for path, service in ((SERVICE, Plugin()), (REGISTRAR, Registration())):  # in this order
        path.parent.mkdir(parents=True, exist_ok=True)
        await grpclib.server.Server([service]).start(path=str(path))
    while not ended.is_set():  # a kubelet removes the slices of a driver that was away
        with contextlib.suppress(OSError):
            await asyncio.to_thread(publish)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), timeout=2)
    REGISTRAR.unlink()
    SERVICE.unlink()


asyncio.run(main())
