"""Stands in for a scheduler that gives up: `pod-0000` cannot be bound, and what has failed once is
never tried again. Arguments: kubeconfig, scheduler name, namespace.
"""

import pathlib
import sys
from typing import Any
from unittest import mock

from harness.subject.plugin import dynamic_resources, scheduling_attempts
from harness.subject.process import subject_process
from harness.subject.queueing import scheduling_queue

_pre_bind = dynamic_resources.DynamicResources.pre_bind


def pre_bind(self: Any, attempt: scheduling_attempts.Attempt) -> None:
    if attempt.pod["metadata"]["name"] == "pod-0000":
        raise scheduling_attempts.BindingError("no answer came")
    _pre_bind(self, attempt)


def failed(self: Any, queued: Any, **how: Any) -> None:
    """Do not return the pod to the queue, and retry no other one."""


def main() -> int:
    kubeconfig, name, namespace = sys.argv[1:]
    options = subject_process.SubjectOptions(
        kubeconfig=pathlib.Path(kubeconfig), scheduler_name=name, namespace=namespace
    )
    with (
        mock.patch.object(dynamic_resources.DynamicResources, "pre_bind", pre_bind),
        mock.patch.object(scheduling_queue.SchedulingQueue, "failed", failed),
    ):
        return subject_process.run_scheduler(options)


if __name__ == "__main__":
    sys.exit(main())
