"""Exec plugins of a kubeconfig: programs that print an `ExecCredential`.

A plugin runs for the first request, when its credentials have expired, and after the API server has
rejected them with 401. The protocol is client.authentication.k8s.io/v1 and v1beta1.
"""

import dataclasses
import datetime
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from harness import errors

TIMEOUT_S = 60.0
"""Time limit for one run of a plugin, which may call a cloud provider."""
_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_CLUSTER_KEYS = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
)
_WORDS_MAX = 500


@dataclasses.dataclass(frozen=True, slots=True)
class Credentials:
    """A token, or a client certificate with its key in PEM. The repr omits the secrets."""

    token: str = dataclasses.field(default="", repr=False)
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)


class Command(NamedTuple):
    """The `exec` section of a kubeconfig's user. The repr shows no environment."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    info: str
    """The input of the plugin, as JSON, with the cluster if it asks for it."""
    install_hint: str

    def __repr__(self) -> str:
        return f"Command({self.argv!r})"


def read(section: Mapping[str, Any], cluster: Mapping[str, Any], where: str) -> Command:
    """Return the command of an `exec` section. Raises KubeconfigError if it cannot be run."""
    name, version = section.get("command"), section.get("apiVersion")
    if not isinstance(name, str) or not name or version not in _VERSIONS:
        raise errors.KubeconfigError(
            f"{where}: expected an exec plugin that uses {' or '.join(_VERSIONS)}, got {name!r} with "
            f"{version!r}: update the plugin and generate the kubeconfig again"
        )
    spec: dict[str, Any] = {"interactive": False}
    if section.get("provideClusterInfo"):
        spec["cluster"] = _cluster_info(cluster)
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": spec}
    return Command(
        argv=(name, *(str(part) for part in section.get("args") or ())),
        environment=tuple((item["name"], item["value"]) for item in section.get("env") or ()),
        info=json.dumps(info),
        install_hint=str(section.get("installHint") or "install it").strip(),
    )


def _cluster_info(cluster: Mapping[str, Any]) -> dict[str, Any]:
    info = {key: cluster[key] for key in _CLUSTER_KEYS if key in cluster}
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == f"{_GROUP}/exec":
            info["config"] = extension.get("extension")
    return info


class Plugin:
    """A plugin and its current credentials. Thread-safe."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._guard = threading.Lock()
        self._identity: Credentials | None = None
        self._expires: datetime.datetime | None = None

    def current(self) -> Credentials:
        """Return valid credentials; run the plugin if there are none.

        Raises KubeconfigError if the plugin fails.
        """
        with self._guard:
            now, expires = datetime.datetime.now(datetime.UTC), self._expires
            if self._identity is None or (expires is not None and expires <= now):
                self._identity, self._expires = _run(self._command)
            return self._identity

    def invalidate(self, identity: Credentials) -> None:
        """Drop credentials that the server has rejected, so that the plugin runs again."""
        with self._guard:
            if self._identity == identity:
                self._identity = None


def _run(command: Command) -> tuple[Credentials, datetime.datetime | None]:
    told = {"KUBERNETES_EXEC_INFO": command.info}
    try:
        ended = subprocess.run(
            command.argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **dict(command.environment), **told},
            timeout=TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError as error:
        raise _unusable(command, f"it was not found: {command.install_hint}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unusable(command, f"it could not be run ({error})") from error
    if ended.returncode:
        words = ended.stderr.decode(errors="replace").strip()[-_WORDS_MAX:]
        why = f"it exited with code {ended.returncode}: {words or '(no output)'}"
        raise _unusable(command, why)
    return _decode(command, ended.stdout)


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime.datetime | None = None


class _Answer(msgspec.Struct):
    kind: Literal["ExecCredential"]
    status: _Status = msgspec.field(default_factory=_Status)


_answers = msgspec.json.Decoder(_Answer)


def _decode(command: Command, output: bytes) -> tuple[Credentials, datetime.datetime | None]:
    try:
        found = _answers.decode(output).status
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = f"its output is not an ExecCredential in JSON ({error})"
        raise _unusable(command, why) from error
    certificate, key = found.client_certificate_data, found.client_key_data
    if bool(certificate) != bool(key) or not (found.token or key):
        raise _unusable(command, "it printed neither a token nor a certificate with its key")
    credentials = Credentials(found.token, certificate.encode(), key.encode())
    return credentials, found.expiration_timestamp


def _unusable(command: Command, why: str) -> errors.KubeconfigError:
    return errors.KubeconfigError(
        f"expected credentials from the exec plugin {command.argv[0]}, but {why}"
    )
