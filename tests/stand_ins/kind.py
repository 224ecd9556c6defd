"""A stand-in for the kind command v0.33.0, over whatever engine DOCKER_HOST names.

Subcommands, options, exit codes, order of steps, output and error texts are kind's
(cmd/kind/app/main.go, pkg/cmd/kind/*, pkg/cluster/internal/
{create,delete,providers/docker,kubeconfig}): errors go to stderr as `ERROR: …` with exit code 1,
with `Command Output: …` behind them when a docker command failed; a control plane that is not ready
in time is a warning and exit code 0; nothing is undone on signals. Only what Flake Hunt calls is
here: `kind version`, `kind create cluster --retain` and `kind export logs`.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import signal
import sys
import tarfile
import time
from typing import Any

import docker
import docker.errors
import jsonschema
import yaml

from tests.stand_ins import kubeadm

VERSION = os.environ.get("STAND_IN_KIND_VERSION", "0.33.0")
CLUSTER, ROLE = "io.x-k8s.kind.cluster", "io.x-k8s.kind.role"
BOOTED = re.compile(r"Reached target .*Multi-User System.*|detected cgroup v1")
SCHEMA = pathlib.Path(__file__).with_name("kind-config-v1alpha4.schema.json")


class KindError(Exception):
    """An error with, perhaps, the output of the docker command that failed."""

    def __init__(self, message: str, output: str | None = None) -> None:
        super().__init__(message)
        self.output = output


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def docker_failure(command: str, error: Exception, code: int = 1) -> KindError:
    said = getattr(error, "explanation", None) or str(error)
    return KindError(
        f'command "docker {command}" failed with error: exit status {code}',
        f"Error response from daemon: {said}",
    )


class Kind:
    """The command with its connection to the engine."""

    def __init__(self) -> None:
        if os.environ.get("KIND_EXPERIMENTAL_PROVIDER", "docker") != "docker":
            raise KindError(
                'failed to list nodes: exec: "podman": executable file not found in $PATH'
            )
        self.engine = docker.from_env(timeout=60)
        self.api = self.engine.api

    def nodes(self, cluster: str) -> list[dict[str, Any]]:
        filters = {"label": f"{CLUSTER}={cluster}"}
        return list(self.api.containers(all=True, filters=filters))

    def create(self, options: argparse.Namespace) -> None:
        try:
            self._create(options)
        except KindError as failure:
            raise KindError(f"failed to create cluster: {failure}", failure.output) from failure

    def _create(self, options: argparse.Namespace) -> None:
        config, name = load(options.config), options.name
        if not re.fullmatch(r"[a-z0-9.-]+", name):
            raise KindError(
                f"'{name}' is not a valid cluster name, cluster names must match `^[a-z0-9.-]+$`"
            )
        if self.nodes(name):
            raise KindError(f'node(s) already exist for a cluster with the name "{name}"')
        say(f'Creating cluster "{name}" ...')
        self._provision(name, config, options)
        self._export_kubeconfig(name, options.kubeconfig)
        say(f'Set kubectl context to "kind-{name}"')

    def _provision(self, name: str, config: dict[str, Any], options: argparse.Namespace) -> None:
        node = config["nodes"][0]
        image = node["image"]
        self._ensure_image(image)
        self._ensure_network()
        self._run_node(name, image, node)
        container = f"{name}-control-plane"
        self._wait_for_boot(container)
        say(" ✓ Preparing nodes 📦 ")
        self._kubeadm_init(container, config, node)
        say(" ✓ Starting control-plane 🕹️")
        self._wait_for_ready(container, options.wait)

    def _ensure_image(self, image: str) -> None:
        say(f" • Ensuring node image ({image.partition('@')[0]}) 🖼  ...")
        try:
            self.api.inspect_image(image)
        except docker.errors.ImageNotFound:
            try:
                self.api.pull(image)
            except docker.errors.APIError as error:
                failure = docker_failure(f"pull {image}", error)
                message = f'failed to pull image "{image}": {failure}'
                raise KindError(message, failure.output) from error

    def _ensure_network(self) -> None:
        """Two that look at once make two networks."""
        if not self.api.networks(names=["^kind$"]):
            time.sleep(0.5)
            self.api.create_network("kind", driver="bridge")

    def _run_node(self, name: str, image: str, node: dict[str, Any]) -> None:
        binds = [
            f"{item['hostPath']}:{item['containerPath']}{':ro' if item.get('readOnly') else ''}"
            for item in node.get("extraMounts") or []
        ]
        container = f"{name}-control-plane"
        host = self.api.create_host_config(
            binds=binds, privileged=True, port_bindings={"6443/tcp": ("127.0.0.1", None)}
        )
        try:
            made = self.api.create_container(
                image,
                name=container,
                hostname=container,
                volumes=["/var"],
                ports=[(6443, "tcp")],
                host_config=host,
                labels={CLUSTER: name, ROLE: "control-plane"},
            )
            self.api.start(made["Id"])
        except docker.errors.APIError as error:
            say(" ✗ Preparing nodes 📦 ")
            failure = docker_failure(f"run --name {container} … {image}", error, 125)
            raise KindError(str(failure), f"docker: {failure.output}") from error

    def _wait_for_boot(self, container: str) -> None:
        deadline = time.monotonic() + 1  # kind waits for 30 s
        while time.monotonic() < deadline:
            if BOOTED.search(self.api.logs(container).decode()):
                return
            time.sleep(0.05)
        say(" ✗ Preparing nodes 📦 ")
        raise KindError(f'could not find a log line that matches "{BOOTED.pattern}"')

    def _kubeadm_init(self, container: str, config: dict[str, Any], node: dict[str, Any]) -> None:
        kubernetes = self._read(container, "/kind/version").decode()
        version = kubeadm.config_version(tuple(map(int, VERSION.split("."))), kubernetes)  # type: ignore[arg-type]
        gates = {key: str(on).lower() for key, on in (config.get("featureGates") or {}).items()}
        runtime = config.get("runtimeConfig") or {}
        written = kubeadm.cluster_configuration(version, _flags(runtime), _flags(gates))
        patches = node.get("kubeadmConfigPatches") or []
        made = kubeadm.patched(written, patches)
        self._start_kubelet(container, kubernetes, patches)
        self._start_auditing(container, kubeadm.arguments(made, "apiServer"))
        for component in ("kube-apiserver", "kube-controller-manager"):
            pod = yaml.safe_dump(kubeadm.manifest(component, made)).encode()
            self._write(container, "/etc/kubernetes", f"manifests/{component}.yaml", pod)

    def _start_kubelet(self, container: str, kubernetes: str, patches: list[str]) -> None:
        """kubeadm writes its configuration, and waits in vain for one that refuses the host."""
        cgroups = str(self.api.info()["CgroupVersion"])
        config = kubeadm.patched(kubeadm.kubelet_configuration(cgroups), patches)
        written = yaml.safe_dump(config).encode()
        self._write(container, "/", "var/lib/kubelet/config.yaml", written)
        if refusal := kubeadm.kubelet_refusal(config, kubernetes, cgroups):
            self._write(container, "/", "kind/kubelet-journal", refusal.encode() + b"\n")
            waited = "The kubelet is not healthy after 4m0.001s"
            raise kubeadm_failure(container, f"[kubelet-check] {waited}\n")

    def _start_auditing(self, container: str, flags: dict[str, str]) -> None:
        """kube-apiserver does not start without its policy; with it, it writes from the first
        request on.
        """
        if "audit-policy-file" not in flags:
            return
        try:
            policy = yaml.safe_load(self._read(container, flags["audit-policy-file"]))
        except docker.errors.NotFound:
            policy = {}
        if policy.get("kind") != "Policy" or not policy.get("rules"):
            raise kubeadm_failure(container, '"command failed" err="loading audit policy file')
        event = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "stage": "ResponseComplete"}
        line = json.dumps(event | {"verb": "create"}).encode() + b"\n"
        self._write(container, "/", flags["audit-log-path"].lstrip("/"), line)

    def _wait_for_ready(self, container: str, wait: float) -> None:
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline:
            try:
                self._read(container, "/etc/kubernetes/admin.conf")
            except docker.errors.NotFound:
                time.sleep(0.05)
            else:
                say(" • Ready after 0s 💚")
                return
        if wait:
            say(" • WARNING: Timed out waiting for Ready ⚠️")

    def _export_kubeconfig(self, name: str, path: str) -> None:
        container = f"{name}-control-plane"
        self._wait_for_ready(container, 60)
        try:
            document = yaml.safe_load(self._read(container, "/etc/kubernetes/admin.conf"))
        except docker.errors.NotFound as error:
            raise KindError(
                f"failed to get cluster internal kubeconfig: {error.explanation}",
                self.api.logs(container).decode(errors="replace"),
            ) from None
        context = f"kind-{name}"
        document["clusters"][0]["name"] = document["users"][0]["name"] = context
        document["contexts"] = [{"name": context, "context": {"cluster": context, "user": context}}]
        document["current-context"] = context
        target = pathlib.Path(path or pathlib.Path.home() / ".kube" / "config")
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = target.with_name(target.name + ".lock")
        lock.touch(exist_ok=False)  # an interrupted kind leaves it
        target.write_text(yaml.safe_dump(document))
        target.chmod(0o600)
        lock.unlink()

    def export_logs(self, options: argparse.Namespace) -> None:
        nodes = self.nodes(options.name)
        if not nodes:
            raise KindError(f'unknown cluster "{options.name}"')
        for node in nodes:
            name = node["Names"][0].removeprefix("/")
            folder = pathlib.Path(options.directory) / name
            folder.mkdir(parents=True, exist_ok=True)
            described = json.dumps([self.api.inspect_container(name)])
            (folder / "inspect.json").write_text(described)
            (folder / "serial.log").write_bytes(self.api.logs(name))
            with contextlib.suppress(docker.errors.NotFound):
                journal = self._read(name, "/kind/kubelet-journal")
                (folder / "kubelet.log").write_bytes(journal)

    def _read(self, container: str, path: str) -> bytes:
        chunks, _ = self.api.get_archive(container, path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            stream = archive.extractfile(archive.getmembers()[0])
            return stream.read() if stream else b""

    def _write(self, container: str, folder: str, name: str, content: bytes) -> None:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        self.api.put_archive(container, folder, packed.getvalue())


def _flags(values: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(values.items()))


def kubeadm_failure(container: str, output: str) -> KindError:
    say(" ✗ Starting control-plane 🕹️")
    command = f"docker exec --privileged {container} kubeadm init --config=/kind/kubeadm.conf"
    failed = f'command "{command}" failed with error: exit status 1'
    return KindError(f"failed to init node with kubeadm: {failed}", output)


def load(path: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(pathlib.Path(path).read_text())
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    for mistake in validator.iter_errors(document):
        raise KindError(f"unable to decode config: yaml: unmarshal errors:\n  {mistake.message}")
    return document


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="kind")
    verbs = made.add_subparsers(dest="verb", required=True)
    verbs.add_parser("version")
    create = verbs.add_parser("create").add_subparsers(required=True).add_parser("cluster")
    for name in ("--name", "--config", "--kubeconfig"):
        create.add_argument(name, required=True)
    create.add_argument("--wait", type=lambda text: float(text.removesuffix("s")), required=True)
    create.add_argument("--retain", action="store_true", required=True)
    logs = verbs.add_parser("export").add_subparsers(required=True).add_parser("logs")
    logs.add_argument("directory")
    logs.add_argument("--name", required=True)
    return made


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = parser().parse_args()
    if options.verb == "version":
        print(f"kind v{VERSION} go1.25.5 linux/amd64")
        return 0
    try:
        kind = Kind()
        (kind.create if options.verb == "create" else kind.export_logs)(options)
    except KindError as failure:
        say(f"ERROR: {failure}")
        if failure.output is not None:
            say(f"\nCommand Output: {failure.output}")
        return 1
    except docker.errors.DockerException:
        address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        say(
            f"ERROR: Cannot connect to the Docker daemon at {address}. Is the docker daemon running?"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
