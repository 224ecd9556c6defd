"""CDI files, by which a driver puts devices and their parameters into containers.

As upstream's DRA test driver: one file for each request of a claim, whose environment holds the
opaque parameters of the claim as `user_<key>` and those of its classes as `admin_<key>`, and
`claim_<claim>_<request>=true`. A parameter that is no text is there as JSON.
"""

import contextlib
import glob
import os
import pathlib
import re
from collections.abc import Iterable, Mapping

import msgspec

from harness import writing
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object

VERSION = "0.3.0"
"""Version of the CDI specification; every container runtime with CDI reads it."""
CLASS = "test"
_PREFIXES = {"FromClaim": "user", "FromClass": "admin"}
_NUL = "\0"
_NO_NAME = re.compile(r"[^a-zA-Z0-9]")


def environments(claim: Object) -> dict[tuple[str, str], dict[str, str]]:
    """Return (driver, request) -> the environment for a container that uses it.

    Raises PreparationError if the parameters for one of the drivers cannot be variables.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    allocated = claim["status"]["allocation"].get("devices", {})
    for result in allocated.get("results") or []:
        request = base(result["request"])
        environment = found.setdefault((result["driver"], request), {})
        for config in allocated.get("config") or []:
            if _is_meant(config, result):
                environment |= _parameters(config)
        name = _NO_NAME.sub("_", f"claim_{claim['metadata']['name']}_{request}")
        environment[name] = "true"
    return found


def write(
    folder: pathlib.Path, driver: str, uid: str, environments: Mapping[str, Mapping[str, str]]
) -> None:
    """Write the files of a claim: one for each request, with its environment.

    Raises StorageError or UnwritableError if a file cannot be written.
    """
    if not os.path.isdir(folder):  # noqa: PTH112 - for each claim
        with writing.explained(folder):
            folder.mkdir(parents=True, exist_ok=True)
    for request, environment in environments.items():
        kind, _, device = device_id(driver, uid, request).partition("=")
        edits = {"env": [f"{name}={value}" for name, value in sorted(environment.items())]}
        document = {
            "cdiVersion": VERSION,
            "kind": kind,
            "devices": [{"name": device, "containerEdits": edits}],
        }
        path = _path(folder, driver, uid, request)
        with writing.explained(path):
            writing.write_whole(path, msgspec.json.encode(document))


def remove(folder: pathlib.Path, driver: str, uid: str, requests: Iterable[str] = ()) -> None:
    """Remove the files of a claim for these requests; none: for any.

    Raises StorageError or UnwritableError if one stays.
    """
    pattern = f"{glob.escape(f'{folder}/{driver}-{uid}')}-*.json"
    paths = [_path(folder, driver, uid, request) for request in requests]
    for found in paths or glob.glob(pattern):  # noqa: PTH207
        with writing.explained(found), contextlib.suppress(FileNotFoundError):
            os.unlink(found)  # noqa: PTH108 - for each claim


def _path(folder: pathlib.Path, driver: str, uid: str, request: str) -> str:
    return f"{folder}/{driver}-{uid}-{request}.json"


def device_id(driver: str, uid: str, request: str) -> str:
    return f"{driver}/{CLASS}=claim-{uid}-{request}"


def base(request: str) -> str:
    """Return the request of a result without the alternative: `gpu` for `gpu/large`."""
    return request.partition("/")[0]


def _is_meant(config: Object, result: Object) -> bool:
    opaque, requests = config.get("opaque"), config.get("requests")
    if opaque is None or opaque["driver"] != result["driver"]:
        return False
    request = result["request"]
    return not requests or any(name in (request, base(request)) for name in requests)


def _parameters(config: Object) -> dict[str, str]:
    parameters = config["opaque"].get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict) or any("=" in name for name in parameters):
        raise _invalid("as an object without = in names", parameters)
    prefix = _PREFIXES[config["source"]]
    found = {
        f"{prefix}_{name}": value if isinstance(value, str) else _json(value)
        for name, value in parameters.items()
    }
    if any(_NUL in text for text in (*found, *found.values())):
        raise _invalid("without the character NUL, which no variable can have", parameters)
    return found


def _invalid(expected: str, parameters: object) -> preparations.PreparationError:
    return preparations.PreparationError(
        "InvalidParameters", f"expected opaque parameters {expected}, got {_json(parameters):.200}"
    )


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
