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
    "*",
    "garbage-collector-controller",
    "namespace-controller",
    "serviceaccount-controller",
}
INTERVAL_S = 0.1


def main() -> int:
    flags = pflag.parse("kube-controller-manager", sys.argv[1:], with_usage=True)
    pflag.require_gates(flags.get("feature-gates", ""))
    if "version" in flags:
        print(VERSION)
        return 0
    chosen = flags.get("controllers", "*").split(",")
    if unknown := set(chosen) - CONTROLLERS:
        pflag.fail(f'"{unknown.pop()}" is not in the list of known controllers')
    kubeconfig = pathlib.Path(pflag.kubeconfig(flags.get("kubeconfig", "")))
    stopped = processes.stop_event()
    api = apis.Api(transports.connect(kubeconfig))
    with contextlib.ExitStack() as running:
        if "garbage-collector-controller" in chosen or "*" in chosen:
            running.enter_context(garbage_collection.Collector(api).running())
        if "*" in chosen:
            claims = claim_controllers.ClaimController(api, claim_controllers.ControllerOptions())
            claims.start()
            running.callback(claims.stop)
        look_after_namespaces(api, stopped)
    return 0


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
