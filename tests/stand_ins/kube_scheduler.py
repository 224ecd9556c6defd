"""Stands in for a kube-scheduler binary: its flags, its strict configuration, its ends. It
schedules with the Python scheduler.

Documented behaviour of the real one: it rejects unknown flags and unknown fields with exit code 1;
`--version` prints one line; without leader election, SIGTERM ends it with exit code 1 as well
("finished without leader elect").
"""

import argparse
import json
import pathlib
import sys
from typing import Any

import jsonschema

from harness.subject.process import subject_process

VERSION = "Kubernetes v1.36.4"
SCHEMA = pathlib.Path(__file__).with_name("kube-scheduler-config-v1.schema.json")


class Flags(argparse.ArgumentParser):
    """Refuses as pflag does."""

    def error(self, message: str) -> None:  # type: ignore[override]
        sys.exit(f"Error: {message}")


def timeouts(profile: dict[str, Any]) -> dict[str, float]:
    """The durations of DynamicResourcesArgs, all in milliseconds."""
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


def main() -> int:
    flags = Flags(prog="kube-scheduler", allow_abbrev=False, add_help=False)
    flags.add_argument("--version", action="store_true")
    flags.add_argument("--config", type=pathlib.Path)
    flags.add_argument("--secure-port", type=int, default=10259)
    flags.add_argument("--feature-gates", default="")
    flags.add_argument("--v", "-v", type=int, default=0)
    given, unknown = flags.parse_known_args()
    if unknown:
        sys.exit(f"Error: unknown flag: {unknown[0].partition('=')[0]}")
    if given.version:
        print(VERSION)
        return 0
    configuration = json.loads(given.config.read_text())
    try:
        jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(configuration)
    except jsonschema.ValidationError as error:
        sys.exit(
            f'E1121 10:00:00.000000 1 run.go:72] "command failed" err="strict decoding error: {error.message}"'
        )
    if configuration.get("leaderElection", {}).get("leaderElect", True):
        sys.exit("this stand-in does not elect leaders")
    connection = configuration["clientConnection"]
    (profile,) = configuration["profiles"]
    subject_process.run_scheduler(
        subject_process.SubjectOptions(
            kubeconfig=pathlib.Path(connection["kubeconfig"]),
            scheduler_name=profile["schedulerName"],
            **timeouts(profile),
        )
    )
    print('E1121 10:00:00.000000 1 run.go:72] "command failed" err="finished without leader elect"')
    return 1


if __name__ == "__main__":
    sys.exit(main())
