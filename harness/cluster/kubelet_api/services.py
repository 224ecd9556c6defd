"""The services of the protocol: paths of their methods, types of their messages, by version.

`DRA` has those of drivers by the names that one lists in `PluginInfo.supported_versions`: v1 is in
kubelets from 1.34 on, v1beta1 from 1.32 on.
"""

from typing import Any, NamedTuple

from harness import errors

try:
    from google.protobuf import message
except ImportError as error:
    raise errors.MissingExtraError("protobuf", "driver") from error

from harness.cluster.kubelet_api import calls
from harness.cluster.kubelet_api.generated import dra_v1_pb2, registration_v1_pb2

PLUGIN_TYPE = "DRAPlugin"
"""`PluginInfo.type` of a DRA driver."""


class Method(NamedTuple):
    """One method of a service."""

    path: str
    """`/package.Service/Method`."""
    request: type[message.Message]
    answer: type[message.Message]


class DraService(NamedTuple):
    """The service of a driver, in one version."""

    name: str
    """As in `supported_versions`: `v1.DRAPlugin`."""
    prepare: Method
    unprepare: Method
    has_shares: bool
    """Its devices have a `share_id`; all else of its messages is as in the other version."""


def decoded(kind: type[message.Message], content: bytes) -> Any:
    """Return a message of a type. Raises CallError for bytes that are none."""
    try:
        return kind.FromString(content)
    except message.DecodeError:
        text = f"expected a {kind.DESCRIPTOR.name}, got {len(content)} bytes that are none"
        raise calls.CallError("INTERNAL", text) from None


def _method(messages: Any, service: str, name: str) -> Method:
    found = messages.DESCRIPTOR.services_by_name[service].methods_by_name[name]
    return Method(
        f"/{found.containing_service.full_name}/{name}",
        getattr(messages, found.input_type.name),
        getattr(messages, found.output_type.name),
    )


def _dra(version: str, *, has_shares: bool) -> DraService:
    prepare, unprepare = (
        found._replace(path=found.path.replace(".v1.", f".{version}."))
        for name in ("NodePrepareResources", "NodeUnprepareResources")
        if (found := _method(dra_v1_pb2, "DRAPlugin", name))
    )
    return DraService(f"{version}.DRAPlugin", prepare, unprepare, has_shares)


DRA = {
    service.name: service
    for service in (_dra("v1", has_shares=True), _dra("v1beta1", has_shares=False))
}
"""Name -> service, newest first, as drivers list them: kubelets use the first that they know."""

DEVICE: Any = dra_v1_pb2.Device
"""A prepared device in an answer."""

GET_INFO = _method(registration_v1_pb2, "Registration", "GetInfo")
NOTIFY = _method(registration_v1_pb2, "Registration", "NotifyRegistrationStatus")
