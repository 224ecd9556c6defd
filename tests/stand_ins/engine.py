"""A stand-in for a container engine: the part of the Docker Engine HTTP API 1.47 that kind and
Flake Hunt use, on a Unix socket.

Paths, parameters, answers and status codes are those of the API's documentation
(docs.docker.com/reference/api/engine/version/v1.47), the error messages those of moby v27
(daemon/delete.go, daemon/names.go, daemon/archive_unix.go, volume/service, libnetwork). It knows
nothing of Flake Hunt: it is run as a program of its own, and its containers are folders, with one
process each where the image is a node of kind, which serves an API as the node would.

    python engine.py --socket S --folder D [--images JSON] [--describe JSON] [--faults JSON]
"""

import argparse
import base64
import contextlib
import http.server
import io
import json
import os
import pathlib
import random
import re
import secrets
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tarfile
import threading
import time
import urllib.parse
from typing import Any

API_VERSION = "1.47"
MANIFEST = "etc/kubernetes/manifests/kube-apiserver.yaml"
KUBELET_S = 0.1
STARTUP_S = 30
"""Time for an API server to answer before the kubelet starts it again (a startup probe)."""
PORTS = range(20_000, 32_000)
"""Host ports to choose from: the kernel gives none of them to a client or to a listener on port 0,
which could take one before the API server of a node listens.
"""
_STOP = re.compile(
    r"crictl stop --timeout (?P<timeout>\d+) \$\(crictl ps --quiet --name '(?P<name>\S+)'\)"
)
BOOTED = "[  OK  ] Reached target Multi-User System.\n"


class RefusalError(Exception):
    """An error answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Container:
    """A container: its configuration, its file system and its process."""

    def __init__(self, name: str, config: dict[str, Any], folder: pathlib.Path) -> None:
        self.id, self.name, self.config = secrets.token_hex(32), name, config
        self.created = time.time()
        self.folder = folder / "containers" / self.id
        self.root = self.folder / "rootfs"
        self.root.mkdir(parents=True)
        self.volumes = {path: secrets.token_hex(32) for path in config.get("Volumes") or {}}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.api_server: tuple[str, ...] = ()
        """The command of its API server, which is its first process."""
        self.running = False
        self.ports: dict[str, Any] = {}

    @property
    def console(self) -> pathlib.Path:
        return self.folder / "console.log"

    @property
    def binds(self) -> list[list[str]]:
        """Host path, container path and options of every bind mount."""
        return [
            item.split(":") for item in (self.config.get("HostConfig") or {}).get("Binds") or []
        ]

    def path(self, inside: str) -> pathlib.Path:
        for host, target, *_ in self.binds:
            if inside == target or inside.startswith(target.rstrip("/") + "/"):
                return pathlib.Path(host + inside[len(target) :])
        return self.root / inside.lstrip("/")

    def start(self, *words: str) -> None:
        self.processes.append(self.spawn(*words))

    def spawn(self, *words: str) -> "subprocess.Popen[bytes]":
        with self.console.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        self.running = False
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class State:
    """The state of the engine."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.folder = options.folder
        self.images: list[dict[str, Any]] = json.loads(options.images)
        self.description: dict[str, Any] = json.loads(options.describe)
        self.faults: dict[str, str] = json.loads(options.faults)
        self.containers: dict[str, Container] = {}
        self.networks: list[dict[str, Any]] = []
        self.volumes: set[str] = set()
        self.ports: set[int] = set()
        """Host ports that were given to a container."""
        self.runs: dict[str, dict[str, Any]] = {}
        """Commands of `docker exec`."""
        self.guard = threading.RLock()
        for name in ("bridge", "host", "none"):
            self.add_network(name)

    def add_network(self, name: str) -> dict[str, Any]:
        self.networks.append({"Id": secrets.token_hex(32), "Name": name, "Driver": "bridge"})
        return self.networks[-1]

    def container(self, reference: str) -> Container:
        for item in self.containers.values():
            if reference in (item.id, item.name) or (
                len(reference) >= 12 and item.id.startswith(reference)
            ):
                return item
        raise RefusalError(404, f"No such container: {reference}")

    def image(self, reference: str) -> dict[str, Any]:
        """By tag, digest or id. A digest is known only of an image that was pulled."""
        for item in self.images:
            if reference in (item["Id"], *item["RepoTags"]) or any(
                reference.rpartition("@")[2] == digest.rpartition("@")[2]
                for digest in item["RepoDigests"]
                if "@" in reference
            ):
                return item
        raise RefusalError(404, f"No such image: {reference}")


def version(state: State, **_: Any) -> Any:
    found = {"Version": "27.5.1", "ApiVersion": API_VERSION, "MinAPIVersion": "1.24"}
    return {name: state.description.get(name, value) for name, value in found.items()}


def info(state: State, **_: Any) -> Any:
    return {
        "ServerVersion": "27.5.1",
        "MemTotal": 16 << 30,
        "NCPU": 8,
        "CgroupVersion": "2",
        "CgroupDriver": "systemd",
        "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
        "DockerRootDir": str(state.folder),
        "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
        **state.description,
    }


def list_containers(state: State, *, query: dict[str, str], **_: Any) -> Any:
    everything = query.get("all") in ("1", "true", "True")
    found = [item for item in state.containers.values() if everything or item.running]
    labels = wanted(query, "label")
    return [summary(item) for item in found if all(has_label(item, label) for label in labels)]


def summary(item: Container) -> dict[str, Any]:
    return {
        "Id": item.id,
        "Names": [f"/{item.name}"],
        "Image": item.config["Image"],
        "Created": int(item.created),
        "Labels": item.config.get("Labels") or {},
        "State": "running" if item.running else "exited" if item.processes else "created",
        "Status": "Up 1 second" if item.running else "Created",
    }


def has_label(item: Container, label: str) -> bool:
    name, equals, value = label.partition("=")
    labels = item.config.get("Labels") or {}
    return name in labels and (not equals or labels[name] == value)


def wanted(query: dict[str, str], name: str) -> list[str]:
    """The values of a filter, written as a list or, by older clients, as a map to true."""
    return list(json.loads(query.get("filters") or "{}").get(name) or [])


def create_container(state: State, *, query: dict[str, str], body: Any, **_: Any) -> Any:
    name = query.get("name") or secrets.token_hex(6)
    for item in state.containers.values():
        if item.name == name:
            raise RefusalError(
                409,
                f'Conflict. The container name "/{name}" is already in use by container "{item.id}". '
                "You have to remove (or rename) that container to be able to reuse that name.",
            )
    state.image(body["Image"])
    item = Container(name, body, state.folder)
    state.volumes |= set(item.volumes.values())
    state.containers[item.id] = item
    return 201, {"Id": item.id, "Warnings": []}


def start_container(state: State, *, target: str, **_: Any) -> Any:
    item = state.container(target)
    for host, inside, *_rest in item.binds:
        if not pathlib.Path(host).exists():
            raise RefusalError(
                400,
                f'invalid mount config for type "bind": bind source path does not exist: {host}',
            )
        (item.root / inside.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
    for inside, bindings in (
        (item.config.get("HostConfig") or {}).get("PortBindings") or {}
    ).items():
        item.ports[inside] = [bind(state, item, binding) for binding in bindings]
    image = state.image(item.config["Image"])
    item.console.write_text(state.faults.get("console", BOOTED))
    if image.get("Kubernetes"):
        boot(item, image)
    item.running = True
    return 204, None


def bind(state: State, item: Container, binding: dict[str, str]) -> dict[str, str]:
    address, port = binding.get("HostIp") or "0.0.0.0", int(binding.get("HostPort") or 0)
    candidates = [port] if port else random.sample(PORTS, 100)
    for candidate in candidates:
        if candidate not in state.ports and is_free(address, candidate):
            state.ports.add(candidate)
            return {"HostIp": address, "HostPort": str(candidate)}
    raise RefusalError(
        500,
        f"driver failed programming external connectivity on endpoint {item.name} ({item.id}): "
        f"Bind for {address}:{port} failed: port is already allocated",
    )


def is_free(address: str, port: int) -> bool:
    try:
        socket.create_server((address, port), reuse_port=False).close()
    except OSError:
        return False
    return True


def boot(item: Container, image: dict[str, Any]) -> None:
    """A node of kind serves its API as long as the container runs."""
    (item.root / "kind").mkdir(exist_ok=True)
    (item.root / "kind" / "version").write_text(image["Kubernetes"])
    etc = item.root / "etc" / "kubernetes"
    etc.mkdir(parents=True, exist_ok=True)
    port = item.ports["6443/tcp"][0]["HostPort"]
    admin = str(etc / "admin.conf")
    data = ("--data-dir", str(item.root / "var/lib/etcd"))
    item.api_server = (
        *("-m", "harness.cli.main", "part", "apiserver", "--kubeconfig", admin),
        *("--set", f"tls_port={port}", *data),
        *("--set", f"audit_log={item.root / 'var/log/kubernetes/audit/audit.log'}"),
        *("--set", "audit_writes_of=resourceclaims", "--set", "audit_writes_of=pods"),
    )
    item.start(*item.api_server)
    item.start("-m", "tests.stand_ins.controllers", admin)
    threading.Thread(target=play_kubelet, args=(item,), daemon=True).start()


def play_kubelet(item: Container) -> None:
    """Start the static pod of the API server again when it has ended, while there is a manifest,
    or has not answered in time.
    """
    manifest, answered = item.root / MANIFEST, item.root / "etc/kubernetes/admin.conf"
    while not manifest.exists() and item.root.exists():
        time.sleep(KUBELET_S)  # kubeadm has not written it yet
    started = time.monotonic()
    while item.root.exists():
        server = item.processes[0]
        if server.poll() is not None and item.running and manifest.exists():
            item.processes[0], started = item.spawn(*item.api_server), time.monotonic()
        elif time.monotonic() - started > STARTUP_S and not answered.exists():
            server.kill()
        time.sleep(KUBELET_S)


def create_exec(state: State, *, target: str, body: Any, **_: Any) -> Any:
    item = state.container(target)
    if not item.running:
        raise RefusalError(409, f"container {item.id} is not running")
    name = secrets.token_hex(32)
    state.runs[name] = {"ID": name, "Running": True, "ExitCode": None, "words": body["Cmd"]}
    state.runs[name]["container"] = item
    return 201, {"Id": name}


def start_exec(state: State, *, target: str, **_: Any) -> Any:
    run = state.runs[target]
    run |= {"Running": False, "ExitCode": execute(run["container"], run["words"])}
    return 200, b""


def inspect_exec(state: State, *, target: str, **_: Any) -> Any:
    run = state.runs[target]
    return {name: run[name] for name in ("ID", "Running", "ExitCode")}


def execute(item: Container, words: list[str]) -> int:
    """Do what `mv`, and `crictl stop` in a shell, do in a node; 127: no such command."""
    if words[0] == "mv":
        try:
            item.path(words[1]).rename(item.path(words[2]))
        except FileNotFoundError:
            return 1
        return 0
    stop = _STOP.fullmatch(words[-1]) if words[:2] == ["sh", "-c"] else None
    if stop is None:
        return 127
    server = item.processes[0]
    if stop["name"] != "^kube-apiserver$" or server.poll() is not None:
        return 1  # crictl stop needs at least one container
    if int(stop["timeout"]):
        server.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(int(stop["timeout"]))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    return 0


def inspect_container(state: State, *, target: str, **_: Any) -> Any:
    item = state.container(target)
    mounts = [
        {"Type": "volume", "Name": name, "Destination": path, "Driver": "local"}
        for path, name in item.volumes.items()
    ] + [{"Type": "bind", "Source": bind[0], "Destination": bind[1]} for bind in item.binds]
    return {
        "Id": item.id,
        "Name": f"/{item.name}",
        "Config": item.config,
        "State": {"Running": item.running, "Status": summary(item)["State"]},
        "Mounts": mounts,
        "NetworkSettings": {"Ports": item.ports},
    }


def delete_container(state: State, *, target: str, query: dict[str, str], **_: Any) -> Any:
    item = state.container(target)
    if item.running and query.get("force") not in ("1", "true", "True"):
        raise RefusalError(
            409,
            f'cannot remove container "/{item.name}": container is running: stop the container '
            "before removing or force remove",
        )
    if state.faults.pop("removal in progress", None):
        threading.Timer(0.3, lambda: drop(state, item, volumes=True)).start()
        raise RefusalError(409, f"removal of container {target} is already in progress")
    drop(state, item, volumes=query.get("v") in ("1", "true", "True"))
    return 204, None


def drop(state: State, item: Container, *, volumes: bool) -> None:
    item.stop()
    shutil.rmtree(item.folder, ignore_errors=True)
    state.containers.pop(item.id, None)
    state.ports -= {int(given["HostPort"]) for ports in item.ports.values() for given in ports}
    if volumes:
        state.volumes -= set(item.volumes.values())


def logs(state: State, *, target: str, **_: Any) -> Any:
    item = state.container(target)
    return 200, item.console.read_bytes()


def get_archive(state: State, *, target: str, query: dict[str, str], **_: Any) -> Any:
    item, inside = state.container(target), query["path"]
    path = item.path(inside)
    if not path.exists():
        raise RefusalError(404, f"Could not find the file {inside} in container {target}")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(path, arcname=pathlib.PurePosixPath(inside).name)
    stat = {"name": path.name, "size": path.stat().st_size, "mode": path.stat().st_mode}
    header = base64.b64encode(json.dumps(stat).encode()).decode()
    return 200, packed.getvalue(), {"X-Docker-Container-Path-Stat": header}


def put_archive(state: State, *, target: str, query: dict[str, str], body: Any, **_: Any) -> Any:
    path = state.container(target).path(query["path"])
    if not path.is_dir():
        raise RefusalError(404, f"Could not find the file {query['path']} in container {target}")
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        # Python before 3.11.4 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(path)
    return 200, None


def list_networks(state: State, *, query: dict[str, str], **_: Any) -> Any:
    """All of them, or those that one of the patterns finds."""
    patterns = wanted(query, "name") or [""]
    return [net for net in state.networks if any(re.search(it, net["Name"]) for it in patterns)]


def create_network(state: State, *, body: Any, **_: Any) -> Any:
    """Names are not unique, as in the real engine."""
    return 201, {"Id": state.add_network(body["Name"])["Id"], "Warning": ""}


def list_volumes(state: State, **_: Any) -> Any:
    return {"Volumes": [{"Name": name} for name in state.volumes], "Warnings": None}


def delete_volume(state: State, *, target: str, **_: Any) -> Any:
    if target not in state.volumes:
        raise RefusalError(404, f"get {target}: no such volume")
    users = [item.id for item in state.containers.values() if target in item.volumes.values()]
    if users:
        raise RefusalError(409, f"remove {target}: volume is in use - [{', '.join(users)}]")
    state.volumes.remove(target)
    return 204, None


def inspect_image(state: State, *, target: str, **_: Any) -> Any:
    return state.image(target)


def pull_image(state: State, *, query: dict[str, str], **_: Any) -> Any:
    del state, query
    raise RefusalError(
        500,
        'Get "https://registry.example/v2/": dial tcp: lookup registry.example on '
        "127.0.0.53:53: server misbehaving",
    )


def load_images(state: State, *, body: Any, **_: Any) -> Any:
    """`docker load`: the tags come back, the digests do not."""
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        [item] = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
    image = {"Id": "sha256:" + item["Config"].removesuffix(".json"), "RepoDigests": []}
    state.images.append({**image, **{name: item[name] for name in ("RepoTags", "Kubernetes")}})
    return 200, json.dumps({"stream": f"Loaded image: {item['RepoTags'][0]}\n"}).encode()


ROUTES: list[tuple[str, str, Any]] = [
    ("GET", r"/version", version),
    ("GET", r"/info", info),
    ("GET", r"/containers/json", list_containers),
    ("POST", r"/containers/create", create_container),
    ("POST", r"/containers/([^/]+)/start", start_container),
    ("GET", r"/containers/([^/]+)/json", inspect_container),
    ("GET", r"/containers/([^/]+)/logs", logs),
    ("GET", r"/containers/([^/]+)/archive", get_archive),
    ("PUT", r"/containers/([^/]+)/archive", put_archive),
    ("POST", r"/containers/([^/]+)/exec", create_exec),
    ("POST", r"/exec/([^/]+)/start", start_exec),
    ("GET", r"/exec/([^/]+)/json", inspect_exec),
    ("DELETE", r"/containers/([^/]+)", delete_container),
    ("GET", r"/networks", list_networks),
    ("POST", r"/networks/create", create_network),
    ("GET", r"/volumes", list_volumes),
    ("DELETE", r"/volumes/([^/]+)", delete_volume),
    ("POST", r"/images/create", pull_image),
    ("POST", r"/images/load", load_images),
    ("GET", r"/images/(.+)/json", inspect_image),
]


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    state: State

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *_: Any) -> None:
        return

    def _serve(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        body = self._body()
        try:
            path = re.sub(r"^/v[\d.]+", "", url.path)
            status, content, *headers = self._answer(path, url.query, body)
        except RefusalError as refusal:
            status, content, headers = refusal.status, {"message": str(refusal)}, []
        self._send(status, content, headers[0] if headers else {})

    do_GET = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815

    def _answer(self, path: str, query: str, body: bytes) -> Any:
        for method, pattern, function in ROUTES:
            match = re.fullmatch(pattern, path)
            if match and method == self.command:
                is_json = "json" in (self.headers.get("Content-Type") or "")
                arguments = {
                    "target": urllib.parse.unquote(match[1]) if match.groups() else "",
                    "query": dict(urllib.parse.parse_qsl(query)),
                    "body": json.loads(body) if is_json and body else body,
                }
                with self.state.guard:
                    answer = function(self.state, **arguments)
                return answer if isinstance(answer, tuple) else (200, answer)
        raise RefusalError(404, "page not found")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send(self, status: int, content: Any, headers: dict[str, str]) -> None:
        is_raw = isinstance(content, bytes)
        raw = content if is_raw else b"" if content is None else json.dumps(content).encode()
        self.send_response(status)
        kind = "application/octet-stream" if is_raw else "application/json"
        for name, value in {"Content-Type": kind, "Api-Version": API_VERSION, **headers}.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    for name in ("describe", "faults"):
        parser.add_argument(f"--{name}", default="{}")
    parser.add_argument("--images", default="[]")
    options = parser.parse_args()
    Handler.state = State(options)

    def on_signal(*_: Any) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, on_signal)
    try:
        with Server(options.socket, Handler) as server:
            server.serve_forever(poll_interval=0.1)
    finally:
        for item in Handler.state.containers.values():
            item.stop()


if __name__ == "__main__":
    main()
