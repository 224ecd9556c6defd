"""Stands in for a kube-controller-manager binary: its flags, and claims from templates."""

import pathlib
import sys

from harness import processes
from harness.client import apis, transports
from harness.subject.claim_control import claim_controllers
from tests.stand_ins import pflag

VERSION = "Kubernetes v1.36.4"
CONTROLLERS = {"*", "resourceclaim-controller"}
USER_AGENT = "kube-controller-manager/v1.36.4 (linux/amd64) kubernetes/0000000"


def main() -> int:
    flags = pflag.parse("kube-controller-manager", sys.argv[1:])
    pflag.require_gates(flags.get("feature-gates", ""))
    if "version" in flags:
        print(VERSION)
        return 0
    if unknown := {*flags.get("controllers", "*").split(",")} - CONTROLLERS:
        pflag.fail(f'"{unknown.pop()}" is not in the list of known controllers')
    kubeconfig = pathlib.Path(pflag.kubeconfig(flags.get("kubeconfig", "")))
    if flags.get("leader-elect", "true") != "false":
        sys.exit("this stand-in does not elect leaders")
    stopped = processes.StopEvent()
    api = apis.Api(transports.connect(kubeconfig, user_agent=USER_AGENT))
    claims = claim_controllers.ClaimController(api, claim_controllers.ControllerOptions())
    claims.start()
    stopped.wait()
    claims.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
