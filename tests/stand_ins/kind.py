"""A stand-in for the kind command v0.33.0, over whatever engine DOCKER_HOST names.

Subcommands, options, exit codes, order of steps, output and error texts are kind's
(cmd/kind/app/main.go, pkg/cmd/kind/*, pkg/cluster/internal/
{create,delete,providers/docker,kubeconfig}): errors go to stderr as `ERROR: …` with exit code 1,
with `Command Output: …` behind them when a docker command failed; a control plane that is not ready
in time is a warning and exit code 0; nothing is undone on signals.
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
PULLS = 5
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

    def names(self, cluster: str) -> list[str]:
        return [item["Names"][0].removeprefix("/") for item in self.nodes(cluster)]

    # ---------------------------------------------------------------------- create

    def create(self, options: argparse.Namespace) -> None:
        try:
            self._create(options)
        except KindError as failure:
            raise KindError(f"failed to create cluster: {failure}", failure.output) from failure

    def _create(self, options: argparse.Namespace) -> None:
        config = load(options.config)
        name = options.name or config.get("name") or "kind"
        if not re.fullmatch(r"[a-z0-9.-]+", name):
            raise KindError(
                f"'{name}' is not a valid cluster name, cluster names must match `^[a-z0-9.-]+$`"
            )
        if self.nodes(name):
            raise KindError(f'node(s) already exist for a cluster with the name "{name}"')
        say(f'Creating cluster "{name}" ...')
        try:
            self._provision(name, config, options)
        except KindError:
            if not options.retain:
                self.delete(argparse.Namespace(name=name, kubeconfig=options.kubeconfig))
            raise
        self._export_kubeconfig(name, options.kubeconfig)
        say(f'Set kubectl context to "kind-{name}"')

    def _provision(self, name: str, config: dict[str, Any], options: argparse.Namespace) -> None:
        node = (config.get("nodes") or [{}])[0]
        image = options.image or node.get("image") or "kindest/node:v1.37.0"
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
            for attempt in range(PULLS):
                try:
                    self.api.pull(image)
                    break
                except docker.errors.APIError as error:
                    if attempt == PULLS - 1:
                        say(f" ✗ Ensuring node image ({image.partition('@')[0]}) 🖼")
                        failure = docker_failure(f"pull {image}", error)
                        raise KindError(
                            f'failed to pull image "{image}": {failure}', failure.output
                        ) from error
                    time.sleep(0.05 * (attempt + 1))

    def _ensure_network(self) -> None:
        if not self.api.networks(names=["^kind$"]):
            try:
                self.api.create_network("kind", driver="bridge")
            except docker.errors.APIError as error:
                if "already exists" not in str(error.explanation):
                    failure = docker_failure("network create -d=bridge kind", error)
                    raise KindError(
                        f"failed to ensure docker network: {failure}", failure.output
                    ) from error

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
        gates = ",".join(
            f"{key}={str(on).lower()}"
            for key, on in sorted((config.get("featureGates") or {}).items())
        )
        runtime = ",".join(
            f"{key}={on}" for key, on in sorted((config.get("runtimeConfig") or {}).items())
        )
        patches = [
            *(config.get("kubeadmConfigPatches") or []),
            *(node.get("kubeadmConfigPatches") or []),
        ]
        made = kubeadm.patched(kubeadm.cluster_configuration(version, runtime, gates), patches)
        error = kubeadm.decoding_error(made)
        self._start_kubelet(container, kubernetes, patches)
        arguments = made["apiServer"]["extraArgs"]
        flags = (
            arguments
            if isinstance(arguments, dict)
            else {item["name"]: item["value"] for item in arguments}
        )
        if error is None and "audit-policy-file" in flags:
            error = self._start_auditing(container, flags)
        if error is not None:
            say(" ✗ Starting control-plane 🕹️")
            command = f"exec --privileged {container} kubeadm init --config=/kind/kubeadm.conf --skip-token-print --v=6"
            raise KindError(
                f'failed to init node with kubeadm: command "docker {command}" failed with error: exit status 1',
                error,
            )
        for component in ("kube-apiserver", "kube-controller-manager"):
            pod = yaml.safe_dump(kubeadm.manifest(component, made)).encode()
            self._write(container, "/etc/kubernetes", f"manifests/{component}.yaml", pod)

    def _start_kubelet(self, container: str, kubernetes: str, patches: list[str]) -> None:
        """kubeadm writes its configuration, and waits in vain for one that refuses the host."""
        cgroups = str(self.api.info()["CgroupVersion"])
        config = kubeadm.patched(kubeadm.kubelet_configuration(cgroups), patches)
        written = yaml.safe_dump(config).encode()
        self._write(container, "/", "var/lib/kubelet/config.yaml", written)
        refusal = kubeadm.kubelet_refusal(config, kubernetes, cgroups)
        if refusal is None:
            return
        self._write(container, "/", "kind/kubelet-journal", refusal.encode() + b"\n")
        say(" ✗ Starting control-plane 🕹️")
        raise KindError(
            f'failed to init node with kubeadm: command "docker exec --privileged {container} kubeadm init '
            '--config=/kind/kubeadm.conf --skip-token-print --v=6" failed with error: exit status 1',
            "[kubelet-check] Waiting for a healthy kubelet at http://127.0.0.1:10248/healthz. This can take up to 4m0s\n"
            "[kubelet-check] The kubelet is not healthy after 4m0.001s\n",
        )

    def _start_auditing(self, container: str, flags: dict[str, str]) -> str | None:
        """kube-apiserver does not start without its policy; with it, it writes from the first
        request on.
        """
        try:
            policy = yaml.safe_load(self._read(container, flags["audit-policy-file"]))
        except docker.errors.NotFound:
            return f'"command failed" err="loading audit policy file: failed to read file path {flags["audit-policy-file"]}'
        if policy.get("kind") != "Policy" or not policy.get("rules"):
            return '"command failed" err="loading audit policy file: loaded illegal policy with 0 rules from file"'
        line = json.dumps(
            {
                "kind": "Event",
                "apiVersion": "audit.k8s.io/v1",
                "stage": "ResponseComplete",
                "verb": "create",
            }
        )
        path = pathlib.PurePosixPath(flags["audit-log-path"])
        self._write(container, "/", str(path).lstrip("/"), line.encode() + b"\n")
        return None

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
        target = pathlib.Path(
            path or os.environ.get("KUBECONFIG") or pathlib.Path.home() / ".kube" / "config"
        )
        lock = target.with_name(target.name + ".lock")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            raise KindError(f"failed to lock config file: open {lock}: file exists") from None
        target.write_text(yaml.safe_dump(document))
        target.chmod(0o600)
        lock.unlink()

    # ----------------------------------------------------------------- the others

    def delete(self, options: argparse.Namespace) -> None:
        say(f'Deleting cluster "{options.name}" ...')
        names = self.names(options.name)
        for item in self.nodes(options.name):
            self.api.remove_container(item["Id"], v=True, force=True)
        if names:
            say(f"Deleted nodes: {json.dumps(names)}")

    def get_clusters(self, options: argparse.Namespace) -> None:
        found = {
            item["Labels"][CLUSTER]
            for item in self.api.containers(all=True, filters={"label": CLUSTER})
        }
        for name in sorted(found):
            print(name)
        if not found:
            say("No kind clusters found.")

    def export_logs(self, options: argparse.Namespace) -> None:
        names = self.names(options.name)
        if not names:
            raise KindError(f'unknown cluster "{options.name}"')
        folder = pathlib.Path(options.directory)
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            (folder / name / "inspect.json").write_text(
                json.dumps([self.api.inspect_container(name)])
            )
            (folder / name / "serial.log").write_bytes(self.api.logs(name))
            with contextlib.suppress(docker.errors.NotFound):
                journal = self._read(name, "/kind/kubelet-journal")
                (folder / name / "kubelet.log").write_bytes(journal)
        (folder / "docker-info.txt").write_text(json.dumps(self.api.info()))
        say(f'Exporting logs for cluster "{options.name}" to:')
        print(folder)

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


def load(path: str | None) -> dict[str, Any]:
    if not path:
        return {"kind": "Cluster", "apiVersion": "kind.x-k8s.io/v1alpha4"}
    document = yaml.safe_load(pathlib.Path(path).read_text())
    mistakes = list(
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).iter_errors(document)
    )
    if mistakes:
        raise KindError(
            f"unable to decode config: yaml: unmarshal errors:\n  {mistakes[0].message}"
        )
    return dict(document)


def duration(text: str) -> float:
    match = re.fullmatch(r"(\d+)(ms|s|m|h)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f'time: invalid duration "{text}"')
    return int(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="kind")
    verbs = made.add_subparsers(dest="verb", required=True)
    verbs.add_parser("version")
    create = (
        verbs.add_parser("create").add_subparsers(dest="noun", required=True).add_parser("cluster")
    )
    for name in ("--name", "--config", "--image", "--kubeconfig"):
        create.add_argument(name, default="")
    create.add_argument("--wait", type=duration, default=0.0)
    create.add_argument("--retain", action="store_true")
    delete = (
        verbs.add_parser("delete").add_subparsers(dest="noun", required=True).add_parser("cluster")
    )
    delete.add_argument("--name", default="kind")
    delete.add_argument("--kubeconfig", default="")
    verbs.add_parser("get").add_subparsers(dest="noun", required=True).add_parser("clusters")
    logs = verbs.add_parser("export").add_subparsers(dest="noun", required=True).add_parser("logs")
    logs.add_argument("directory")
    logs.add_argument("--name", default="kind")
    return made


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    options = parser().parse_args()
    if options.verb == "version":
        print(f"kind v{VERSION} go1.25.5 linux/amd64")
        return 0
    try:
        kind = Kind()
        {
            "create": kind.create,
            "delete": kind.delete,
            "get": kind.get_clusters,
            "export": kind.export_logs,
        }[options.verb](options)
    except KindError as failure:
        say(f"ERROR: {failure}")
        if failure.output is not None:
            say(f"\nCommand Output: {failure.output}")
        return 1
    except docker.errors.DockerException:
        address = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        say(
            'ERROR: failed to create cluster: failed to list nodes: command "docker ps -a" failed with error: exit status 1\n\n'
            f"Command Output: Cannot connect to the Docker daemon at {address}. Is the docker daemon running?"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
