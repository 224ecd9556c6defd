"""The part of kube-controller-manager that other programs wait for: every namespace gets its
`default` ServiceAccount.

python -m tests.stand_ins.controllers KUBECONFIG
"""

import pathlib
import sys
import time

from harness import errors
from harness.client import apis, transports

INTERVAL_S = 0.1


def serve(api: apis.Api) -> None:
    done: set[str] = set()
    while True:
        there = {item["metadata"]["name"] for item in api.list(apis.NAMESPACES).items}
        for name in there - done:
            try:
                api.create(apis.SERVICE_ACCOUNTS, {"metadata": {"name": "default"}}, namespace=name)
            except apis.ApiError as error:
                if not error.is_already_exists:
                    continue  # it is going away; or try again
        done = there
        time.sleep(INTERVAL_S)


def main(kubeconfig: pathlib.Path) -> None:
    while True:
        try:
            serve(apis.Api(transports.connect(kubeconfig)))
        except errors.HarnessError:
            time.sleep(INTERVAL_S)  # the API server is not there yet


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
