"""The check of admin access: a result has it exactly if its request asks for it.

The API promises (resource.k8s.io/v1, DeviceRequestAllocationResult.adminAccess): "AdminAccess
indicates that this device was allocated for administrative access. See the corresponding request
field for a definition of mode", and of that field (ExactDeviceRequest.adminAccess): "Claims with
AdminAccess […] ignore all ordinary claims to the device".

A result with admin access that no request asks for would hide a double allocation, because
`device_exclusivity` ignores results with admin access.
"""

from harness.checks.devices import allocation_judging, allocations


def _ask(grant: allocations.Grant) -> allocation_judging.Wrong | None:
    options = allocation_judging.chosen(grant)
    return allocation_judging.wrong(
        f"{result.id} was given {'with' if result.admin_access else 'without'} admin access, "
        f"which request {result.request} {'does not ask' if result.admin_access else 'asks'} for"
        for result in grant.results
        if bool(result.admin_access) is not bool(options[result.request].admin_access)
    )


CHECK = allocation_judging.of_each(
    name="granted_access",
    guarantee="N",
    promise="a device is allocated with admin access exactly if its request asks for that",
    good="admin access is where it was asked for, and nowhere else",
    ask=lambda grant, *_: _ask(grant),
)
