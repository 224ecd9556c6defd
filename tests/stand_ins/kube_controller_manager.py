"""Stands in for a kube-controller-manager binary: its flags, service accounts, claims from
templates, garbage, and the end of namespaces.
"""

import contextlib
import pathlib
import sys
import threading

from harness import processes
from harness.client import apis, transports
from harness.subject.claim_control import claim_controllers
from tests.stand_ins import garbage_collection, pflag
from tests.stand_ins.kube_apiserver import DELETED

VERSION = "Kubernetes v1.36.4"
CONTROLLERS = {
    "garbage-collector-controller",
    "namespace-controller",
    "resourceclaim-controller",
    "serviceaccount-controller",
}
USER_AGENT = "kube-controller-manager/v1.36.4 (linux/amd64) kubernetes/0000000"
INTERVAL_S = 0.1


def main() -> int:
    flags = pflag.parse("kube-controller-manager", sys.argv[1:], with_usage=True)
    pflag.require_gates(flags.get("feature-gates", ""))
    if "version" in flags:
        print(VERSION)
        return 0
    runs = enabled(flags.get("controllers", "*").split(","))
    kubeconfig = pathlib.Path(pflag.kubeconfig(flags.get("kubeconfig", "")))
    if flags.get("leader-elect", "true") != "false":
        sys.exit("this stand-in does not elect leaders")
    stopped = processes.StopEvent()
    api = apis.Api(transports.connect(kubeconfig, user_agent=USER_AGENT))
    with contextlib.ExitStack() as running:
        if "garbage-collector-controller" in runs:
            running.enter_context(garbage_collection.Collector(api).running())
        if "resourceclaim-controller" in runs:
            claims = claim_controllers.ClaimController(api, claim_controllers.ControllerOptions())
            claims.start()
            running.callback(claims.stop)
        if "namespace-controller" in runs:
            look_after_namespaces(api, stopped)
        stopped.wait()
    return 0


def enabled(chosen: list[str]) -> set[str]:
    """The controllers that run; end if one is not known."""
    if unknown := {word.removeprefix("-") for word in chosen} - {*CONTROLLERS, "*"}:
        pflag.fail(f'"{unknown.pop()}" is not in the list of known controllers')
    left_out = {word.removeprefix("-") for word in chosen if word.startswith("-")}
    return (CONTROLLERS if "*" in chosen else set(chosen)) - left_out


def look_after_namespaces(api: apis.Api, stopped: threading.Event) -> None:
    while not stopped.wait(INTERVAL_S):
        for space in api.list(apis.NAMESPACES).items:
            meta = space["metadata"]
            with contextlib.suppress(apis.ApiError):  # it has one, or it is gone
                if DELETED in meta.get("annotations", {}):
                    api.finalize_namespace({**space, "spec": {"finalizers": []}})
                else:
                    account = {"metadata": {"name": "default"}}
                    api.create(apis.SERVICE_ACCOUNTS, account, namespace=meta["name"])


if __name__ == "__main__":
    sys.exit(main())
