"""CDI files, by which a driver puts devices and their parameters into containers.

As upstream's DRA test driver: one file for each request of a claim, whose environment holds the
opaque parameters of the claim as `user_<key>` and those of its classes as `admin_<key>`, and
`claim_<claim>_<request>=true`. A parameter that is no text is there as JSON.
"""

import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
        request = _base(result["request"])
        environment = found.setdefault((result["driver"], request), {})
        for config in allocated.get("config") or []:
            if _is_meant(config, result):
                environment |= _parameters(config)
        name = _NO_NAME.sub("_", f"claim_{claim['metadata']['name']}_{request}")
        environment[name] = "true"
    return found


def write(folder: pathlib.Path, claim: Object) -> list[pathlib.Path]:
    """Write the files of a claim; return their paths.

    Raises PreparationError for parameters that cannot be variables, and StorageError or
    UnwritableError if a file cannot be written.
    """
    uid, paths = claim["metadata"]["uid"], []
    for (driver, request), environment in environments(claim).items():
        path = folder / f"{driver}-{uid}-{request}.json"
        document = _document(driver, _device(uid, request), environment)
        with writing.explained(path):  # only ever read whole: a container starts afterwards
            path.write_bytes(msgspec.json.encode(document))
        paths.append(path)
    return paths


def prepared_devices(claim: Object) -> Iterator[preparations.PreparedDevice]:
    """Yield the devices of a claim as its driver answers, each with the CDI id of its request."""
    uid = claim["metadata"]["uid"]
    for result in claim["status"]["allocation"].get("devices", {}).get("results") or []:
        request = _base(result["request"])
        yield preparations.PreparedDevice(
            request_names=(request,),
            pool=result["pool"],
            device=result["device"],
            cdi_device_ids=(f"{_kind(result['driver'])}={_device(uid, request)}",),
            share_id=result.get("shareID"),
        )


def find(folder: pathlib.Path, uid: str) -> list[pathlib.Path]:
    """Return the files of a claim that an earlier process has written."""
    return list(folder.glob(f"*-{uid}-*.json"))


def remove(paths: Iterable[pathlib.Path]) -> None:
    """Remove the files of a claim."""
    for path in paths:
        path.unlink(missing_ok=True)


def _document(driver: str, device: str, environment: Mapping[str, str]) -> dict[str, Any]:
    variables = [f"{name}={value}" for name, value in sorted(environment.items())]
    edits = {"env": variables}
    return {
        "cdiVersion": VERSION,
        "kind": _kind(driver),
        "devices": [{"name": device, "containerEdits": edits}],
    }


def _kind(driver: str) -> str:
    return f"{driver}/{CLASS}"


def _device(uid: str, request: str) -> str:
    return f"claim-{uid}-{request}"


def _is_meant(config: Object, result: Object) -> bool:
    """Return whether a configuration is for this result: its driver and its request."""
    opaque, requests = config.get("opaque"), config.get("requests")
    if opaque is None or opaque["driver"] != result["driver"]:
        return False
    return not requests or _is_named(result["request"], requests)


def _is_named(request: str, names: Iterable[str]) -> bool:
    return any(name in (request, _base(request)) for name in names)


def _base(request: str) -> str:
    """Return the request of a result without the alternative: `gpu` for `gpu/large`."""
    return request.partition("/")[0]


def _parameters(config: Object) -> dict[str, str]:
    parameters = config["opaque"].get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict) or any("=" in name for name in parameters):
        raise _invalid("as an object without = in names", parameters)
    prefix = _PREFIXES[config["source"]]
    found = {f"{prefix}_{name}": _text(value) for name, value in parameters.items()}
    if any(_NUL in text for text in (*found, *found.values())):
        raise _invalid("without the character NUL, which no variable can have", parameters)
    return found


def _invalid(expected: str, parameters: object) -> preparations.PreparationError:
    shown = msgspec.json.encode(parameters).decode()
    return preparations.PreparationError(
        "InvalidParameters", f"expected opaque parameters {expected}, got {shown:.200}"
    )


def _text(value: object) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value, order="sorted").decode()
