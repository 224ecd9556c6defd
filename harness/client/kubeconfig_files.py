"""Finds, reads and writes kubeconfig files, and extracts one context into a file.

`write_for_client` writes a kubeconfig that impersonates the user `flake-hunt:<client>`, so that
client-go, kubectl and our own transports name the client in the header `Impersonate-User` of each
request, by which a carrier of faults knows its clients. The embedded API server takes nothing but
that name from the header. A real API server would make the client that user, without the rights of
the administrator: use these kubeconfigs with the embedded one only.
"""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors, regular_files, writing
from harness.faults import api_calls

Document = Mapping[str, Any]


def default_paths() -> list[pathlib.Path]:
    """Return the files that kubectl reads: those in KUBECONFIG, or else ~/.kube/config.

    Files that do not exist are omitted, unless none exists.
    """
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    paths = [pathlib.Path(part) for part in named] or [pathlib.Path.home() / ".kube" / "config"]
    existing = [path for path in paths if path.exists()]
    return existing or paths[:1]


def extracted(paths: Sequence[pathlib.Path], *, context: str = "") -> dict[str, Any]:
    """Return a kubeconfig with one context of some others; its paths are absolute.

    `context` empty: the current one. If several files define a name, the first one wins, as in
    kubectl.
    """
    documents = [(path, read(path)) for path in paths]
    name = context or next(
        (str(item["current-context"]) for _, item in documents if item.get("current-context")), ""
    )
    merged = {
        section: [
            _absolute(entry, path) for path, item in documents for entry in item.get(section) or []
        ]
        for section in ("contexts", "clusters", "users")
    }
    where = joined(paths)
    require_context(name, merged, where)
    chosen = named(merged, "contexts", name, where)
    inner = chosen.get("context") or {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [chosen],
        "clusters": [named(merged, "clusters", inner.get("cluster", ""), where)],
        "users": [named(merged, "users", inner["user"], where)] if inner.get("user") else [],
    }


def joined(paths: Sequence[pathlib.Path]) -> pathlib.Path:
    """Return the files that a user gave as one path, for messages."""
    return pathlib.Path(os.pathsep.join(map(str, paths)))


def write(path: pathlib.Path, document: Document) -> None:
    """Write a kubeconfig as JSON, which is valid YAML, atomically and with mode 0600.

    Raises OSError, and leaves no credentials behind, if the file cannot be written.
    """
    writing.write_private(path, json.dumps(document, indent=2).encode())


def of_server(
    cluster: Document, user: Document, *, name: str = "flake-hunt", namespace: str = ""
) -> dict[str, Any]:
    """Return a kubeconfig with one cluster and one user; `namespace`: that of its context."""
    context = {"cluster": name, "user": name} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [{"name": name, "context": context}],
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
    }


def _absolute(entry: Any, path: pathlib.Path) -> Any:
    if not isinstance(entry, dict):
        return entry
    changed: dict[str, Any] = json.loads(json.dumps(entry, default=str))
    folder = path.resolve().parent
    for kind, keys in (
        ("cluster", ("certificate-authority",)),
        ("user", ("client-certificate", "client-key", "tokenFile")),
    ):
        section = changed.get(kind)
        if not isinstance(section, dict):
            continue
        for key in keys:
            if section.get(key):
                section[key] = str(folder / section[key])
        command = (section.get("exec") or {}).get("command") or ""
        if "/" in command:
            section["exec"]["command"] = str(folder / command)
    return changed


def read(path: pathlib.Path) -> Document:
    """Return the content of a kubeconfig. Raises KubeconfigError if it is none, or unreadable."""
    try:
        text = regular_files.text(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise errors.KubeconfigError(
            f"expected a readable kubeconfig, but {path}: {why}. Name another one with --kubeconfig"
        ) from error
    document = _parse(text, path)
    if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
        raise errors.KubeconfigError(
            f"{path}: expected a kubeconfig (kind Config), got another document"
        )
    return document


def _parse(text: str, path: pathlib.Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    import yaml  # takes 40 ms, and the harness writes its own kubeconfigs as JSON

    try:
        return next(yaml.safe_load_all(text), None)  # of several documents the first, as kubectl
    except yaml.YAMLError as error:
        raise errors.KubeconfigError(f"{path}: expected YAML or JSON ({error})") from error


def require_context(name: str, document: Document, path: pathlib.Path) -> None:
    """Raise KubeconfigError if no context is named and the kubeconfig has no current one."""
    if not name:
        raise errors.KubeconfigError(
            f"{path}: expected a current-context, got none: choose one of its contexts "
            f"({_names(document, 'contexts') or 'it has none'}) with `kubectl config use-context NAME`"
        )


def named(document: Document, section: str, name: str, path: pathlib.Path) -> Document:
    """Return the entry of a name in `contexts`, `clusters` or `users`.

    Raises KubeconfigError if there is none.
    """
    for entry in document.get(section) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    raise errors.KubeconfigError(
        f"{path}: expected {name!r} among its {section}, which are: "
        f"{_names(document, section) or 'none'}"
    )


def _names(document: Document, section: str) -> str:
    entries = document.get(section) or []
    return ", ".join(str(entry.get("name")) for entry in entries if isinstance(entry, dict))


def write_for_client(source: pathlib.Path, *, client: str) -> pathlib.Path:
    """Write the kubeconfig of a client beside a cluster's and return its path.

    It has the current context of `source`, and mode 0600; an embedded cluster removes it with its
    own ones. Raises KubeconfigError if `source` is malformed or impersonates a user already,
    OSError if the file cannot be written.
    """
    path = source.with_name(f"{source.name}-{client}")
    document = extracted([source])
    if not document["users"]:
        document["users"] = [{"name": "client"}]
        document["contexts"][0]["context"]["user"] = "client"
    user: dict[str, Any] = document["users"][0].setdefault("user", {})
    if user.get("as"):
        raise errors.KubeconfigError(
            f"{source}: expected a user that impersonates no other one, so that requests can name "
            f"the client {client!r}, got `as: {user['as']}`: remove it"
        )
    user["as"] = api_calls.user_of(client)
    write(path, document)
    return path
