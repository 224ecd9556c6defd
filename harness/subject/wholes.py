"""The processes of the subject, and the dataclasses of the classes that each is made of."""

from collections.abc import Mapping
from typing import Any

from harness.subject.claim_control import claim_controllers
from harness.subject.scheduling import schedulers

OF_PROCESSES: Mapping[str, type[Any]] = {
    "scheduler": schedulers.SchedulerParts,
    "claim-controller": claim_controllers.ControllerParts,
}
