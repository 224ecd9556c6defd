"""Stands in for a kube-scheduler binary: its flags, its strict configuration, its ends. It
schedules with the Python scheduler.

As the real one does: it refuses wrong flags below all of its usage, and unknown fields of its
configuration, with exit code 1; `--version` prints one line; without leader election, SIGTERM ends
it with exit code 1 as well ("finished without leader elect").

STAND_IN_RELEASE is the release that it says it is, and STAND_IN_REMEDIES what is mended in it.
"""

import json
import os
import pathlib
import sys
from typing import Any

import jsonschema

from harness.subject.process import subject_process
from tests.stand_ins import pflag

VERSION = f"Kubernetes v{os.environ.get('STAND_IN_RELEASE', '1.36.4')}"
REMEDIES = tuple(os.environ.get("STAND_IN_REMEDIES", "").split())
SCHEMA = pflag.HERE / "kube-scheduler-config-v1.schema.json"


def read(path: str) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(pathlib.Path(path).read_text())
    except OSError as error:
        pflag.fail(f"open {path}: {error.strerror.lower()}")
    except ValueError:
        pflag.fail("couldn't get version/kind; json parse error: unexpected end of JSON input")
    try:
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    except jsonschema.ValidationError as error:
        pflag.fail(_strictly(error))
    return document


def _strictly(error: jsonschema.ValidationError) -> str:
    if error.validator != "additionalProperties":
        return f"strict decoding error: {error.message}"
    known = error.schema["properties"]
    (name, *_) = sorted(set(error.instance) - set(known))
    where = ".".join(map(str, [*error.absolute_path, name]))
    return f'strict decoding error: unknown field "{where}"'


def timeouts(profile: dict[str, Any]) -> dict[str, float]:
    given = {
        key: value
        for item in profile.get("pluginConfig", ())
        for key, value in item["args"].items()
    }
    names = {"filterTimeout": "filter_timeout_s", "bindingTimeout": "binding_timeout_s"}
    return {
        names[key]: int(value.removesuffix("ms")) / 1000
        for key, value in given.items()
        if key in names
    }


def main() -> None:
    flags = pflag.parse("kube-scheduler", sys.argv[1:])
    pflag.require_gates(flags.get("feature-gates", ""))
    if "version" in flags:
        print(VERSION)
        return
    configuration = read(flags["config"]) if "config" in flags else {}
    connection = configuration.get("clientConnection", {})
    kubeconfig = pathlib.Path(pflag.kubeconfig(connection.get("kubeconfig", "")))
    if configuration.get("leaderElection", {}).get("leaderElect", True):
        sys.exit("this stand-in does not elect leaders")
    (profile,) = configuration["profiles"]
    subject_process.run_scheduler(
        subject_process.SubjectOptions(
            kubeconfig=kubeconfig,
            scheduler_name=profile["schedulerName"],
            remedies=REMEDIES,
            **timeouts(profile),
        )
    )
    pflag.fail("finished without leader elect")


if __name__ == "__main__":
    main()
