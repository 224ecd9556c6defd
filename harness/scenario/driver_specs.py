"""The keys of `driver` in a scenario file: how the fake kubelets and their DRA driver behave."""

from typing import Annotated

import pydantic

from harness.scenario.fields import Probability, Seconds, Spec


class CallSpec(Spec):
    """Delays and failures of one kind of call to the driver."""

    delay_s: Seconds = 0.0
    """Seconds that each call takes longer."""
    failure_probability: Annotated[Probability, pydantic.Field(lt=1)] = 0.0
    """Probability that a call fails; the kubelet tries again. Less than 1, so that runs end."""
    blocked_from_s: Seconds | None = None
    """Seconds from the start of the kubelets after which calls wait; None: they never do."""
    blocked_s: Seconds = 0.0
    """Length of that time, in seconds; all calls that waited go on after it."""
    failing_from_s: Seconds | None = None
    """Seconds from the start of the kubelets after which every call fails; None: they never do."""
    failing_s: Seconds = 0.0
    """Length of that time, in seconds."""

    @property
    def can_wait(self) -> bool:
        return self.delay_s > 0 or self.blocked_from_s is not None


class ConditionsSpec(Spec):
    """How allocated devices with binding conditions become ready, or fail to."""

    delay_s: Seconds = 0.05
    """Least seconds from the allocation until the driver reports the devices' conditions."""
    delay_s_max: Seconds = 0.2
    """Most seconds."""
    failure_probability: Annotated[Probability, pydantic.Field(lt=1)] = 0.0
    """Probability that the driver reports the failure conditions instead. Less than 1, so that runs
    end."""
    silence_probability: Annotated[Probability, pydantic.Field(lt=1)] = 0.0
    """Probability that the driver never reports anything, so that the pod's time is up some day
    (`subject.binding_timeout_s`)."""


class DriverSpec(Spec):
    """The DRA driver of the fake nodes, and how their containers end."""

    exclusivity: bool = False
    """The driver refuses a device that another claim holds prepared. Like upstream's test driver,
    it does not by default, so that a run goes on after a double allocation."""
    termination_s: Seconds = 0.0
    """Seconds that the containers of a running pod run on after its deletion was asked for, also
    when it was deleted by force and the API shows it no longer."""
    prepare: CallSpec = CallSpec()
    """Calls that prepare a claim."""
    unprepare: CallSpec = CallSpec()
    """Calls that unprepare a claim."""
    conditions: ConditionsSpec = ConditionsSpec()
    """How devices with binding conditions (`pools.more`) become ready."""
    device_status: bool = False
    """Prepare reports on its devices in `status.devices` of the claim, by server-side apply. The
    test driver inside the kubelets reports nothing: it needs `subject.driver = "socket"`."""
