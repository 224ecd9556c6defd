"""The driver as a process, claims for it, and a kubelet that speaks only the protocol."""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from harness import clocks, processes
from harness.client import apis
from harness.cluster.kubelet_api import calls, channels, messages, preparations, services

TIMEOUT_S = 60
NAME, NODE = "gpu.example", "worker-0"
V1 = services.DRA["v1.DRAPlugin"]
Answer = dict[str, Any]


class Driver:
    """`flake-hunt part driver` in folders of its own, whose paths are short enough for sockets."""

    def __init__(self, kubeconfig: pathlib.Path, folder: pathlib.Path) -> None:
        self.kubeconfig, self.folder = kubeconfig, folder
        self.settings = folder / "settings.json"
        self.set()
        self.cdi = folder / "cdi"
        self.options: tuple[str, ...] = ()
        self.running: dict[str, subprocess.Popen[str]] = {}

    def set(self, **settings: Any) -> None:
        """Write the settings file, whole or not at all."""
        draft = self.settings.with_suffix(".new")
        draft.write_text(json.dumps(settings))
        draft.replace(self.settings)

    def command(self, *options: str) -> list[str]:
        named = {
            "--kubeconfig": self.kubeconfig,
            "--node": NODE,
            "--driver-name": NAME,
            "--state": self.folder / "state",
            "--settings": self.settings,
        }
        words = [str(word) for pair in named.items() for word in pair]
        folders = {"plugins_dir": self.folder / "p", "registry_dir": self.folder / "r"}
        words += processes.changed(cdi_dir=self.cdi, **folders)
        return [sys.executable, "-m", "harness", "part", "driver", *words, *options]

    def start(self, *options: str, instance: str = "") -> None:
        """Start an instance, and wait until it is ready."""
        ready = self.folder / f"ready{instance}"
        ready.unlink(missing_ok=True)
        more = ["--set", f"instance={instance}"] if instance else []
        self.running[instance] = subprocess.Popen(
            [*self.command(*options), *more, "--set", f"ready_file={ready}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        process = self.running[instance]
        clocks.wait_until(
            lambda: ready.exists() or process.poll() is not None,
            timeout_s=TIMEOUT_S,
            why="the driver is ready",
        )
        assert process.poll() is None, process.communicate()[1]

    def stop(self, instance: str = "") -> str:
        """End an instance cleanly; return what it has written to stderr."""
        process = self.running.pop(instance)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=TIMEOUT_S)[1]
        assert process.returncode == 0, said
        return said

    def wait_killed(self) -> None:
        """Wait until the process has killed itself."""
        process = self.running.pop("")
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == -signal.SIGKILL

    def kill(self) -> None:
        for process in self.running.values():
            process.kill()
            if process.stderr is not None and not process.stderr.closed:
                process.communicate()

    def endpoint(self, instance: str = "") -> pathlib.Path:
        return self.folder / "p" / NAME / f"dra{instance and '-' + instance}.sock"

    def registration(self, instance: str = "") -> pathlib.Path:
        return self.folder / "r" / f"{NAME}{instance and '-' + instance}-reg.sock"

    # ------------------------------------------------------------- the kubelet

    def call(
        self, method: services.Method, request: Any, *, path: pathlib.Path | None = None
    ) -> Any:
        with channels.Channel(path or self.endpoint()) as channel:
            return channel.call(method, request, timeout_s=TIMEOUT_S)

    def prepare(self, *claims: Any, service: Any = V1, instance: str = "") -> Answer:
        asked = messages.request(service.prepare, map(reference, claims))
        answer = self.call(service.prepare, asked, path=self.endpoint(instance))
        return {uid: _spoken(result) for uid, result in messages.prepared(answer).items()}

    def unprepare(self, *claims: Any, service: Any = V1, instance: str = "") -> Answer:
        asked = messages.request(service.unprepare, map(reference, claims))
        answer = self.call(service.unprepare, asked, path=self.endpoint(instance))
        return {uid: _spoken(result) for uid, result in messages.unprepared(answer).items()}

    def documents(self) -> list[Any]:
        return [json.loads(path.read_bytes()) for path in sorted(self.cdi.glob("*.json"))]


def _spoken(result: Any) -> Any:
    return str(result) if isinstance(result, preparations.PreparationError) else result


def reference(claim: Any) -> preparations.ClaimReference:
    meta = claim["metadata"]
    return preparations.ClaimReference(meta["namespace"], meta["name"], meta["uid"])


def uid(claim: Any) -> str:
    return str(claim["metadata"]["uid"])


@contextlib.contextmanager
def driver(kubeconfig: pathlib.Path) -> Iterator[Driver]:
    """Provide a driver that is not started yet; nothing of it is left."""
    with tempfile.TemporaryDirectory(prefix="d") as folder:
        made = Driver(kubeconfig, pathlib.Path(folder))
        try:
            yield made
        finally:
            made.kill()


def claim(api: apis.Api, name: str, device: str = "d-0", **parameters: str) -> Any:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    made = api.create(
        apis.CLAIMS,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [request]}},
        },
        namespace="default",
    )
    result = {"request": "gpu", "driver": NAME, "pool": NODE, "device": device}
    opaque = {"driver": NAME, "parameters": parameters}
    devices: Any = {"results": [result]}
    if parameters:
        devices["config"] = [{"source": "FromClaim", "opaque": opaque}]
    return api.update_status(
        apis.CLAIMS,
        {
            **made,
            "status": {
                "allocation": {"devices": devices},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-of-p"}],
            },
        },
    )


def reallocate(api: apis.Api, claim: Any, *results: Any, reports: Any = ()) -> None:
    """Allocate other devices: each the first one of the claim, with these differences."""
    row, status = claim["status"]["allocation"]["devices"]["results"][0], claim["status"]
    freed = api.update_status(apis.CLAIMS, {**claim, "status": {}})
    allocation = {"devices": {"results": [{**row, **more} for more in results]}}
    new = {**status, "allocation": allocation, "devices": list(reports)}
    api.update_status(apis.CLAIMS, {**freed, "status": new})


def reports(api: apis.Api, claim: Any) -> Any:
    found = api.get(apis.CLAIMS, claim["metadata"]["name"], namespace="default")
    return found["status"].get("devices", [])


def remove(api: apis.Api, *claims: Any) -> None:
    for item in claims:
        found = api.get(apis.CLAIMS, item["metadata"]["name"], namespace="default")
        api.update_status(apis.CLAIMS, {**found, "status": {}})
        with apis.if_there():
            api.delete(apis.CLAIMS, item["metadata"]["name"], namespace="default")


def refused(call: Any) -> calls.CallError:
    try:
        call()
    except calls.CallError as error:
        return error
    raise AssertionError("expected a CallError")
