"""The example of a DRA driver, as far as no driver is started; tests/e2e has the rest."""

import pathlib
import subprocess
import sys
import tempfile
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "dra-driver"
PROTOS = ROOT / "harness" / "cluster" / "kubelet_api" / "protos"


def described(folder: pathlib.Path, *names: str) -> dict[str, Any]:
    """Method -> kind and shape of its messages, as protoc understands the files."""
    with tempfile.TemporaryDirectory() as temporary:
        output = pathlib.Path(temporary, "set")
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}"]
        subprocess.run([*command, f"--descriptor_set_out={output}", *names], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    for file in files:
        pool.Add(file)
    found = [
        pool.FindServiceByName(f"{file.package}.{service.name}")
        for file in files
        for service in file.service
    ]
    return {
        f"/{service.full_name}/{method.name}": (shape(method.input_type), shape(method.output_type))
        for service in found
        for method in service.methods
    }


def shape(message: Any) -> dict[int, Any]:
    """Number of a field -> its name, type, and the shape of its message; no name of a message."""
    return {
        field.number: (
            field.name,
            field.type,
            field.is_repeated,
            shape(field.message_type) if field.message_type else None,
        )
        for field in message.fields
    }


def without_share_id(found: Any) -> Any:
    if isinstance(found, dict):
        return {
            number: without_share_id(field)
            for number, field in found.items()
            if field[:1] != ("share_id",)
        }
    return tuple(map(without_share_id, found)) if isinstance(found, tuple) else found


def test_it_has_the_names_and_numbers_of_the_protocol() -> None:
    example = described(EXAMPLE, "dra.proto", "registration.proto")
    ours = described(PROTOS, "dra_v1.proto", "registration_v1.proto")
    assert example != ours, "the guide says that share_id is left out"
    assert example == {method: without_share_id(found) for method, found in ours.items()}
    assert len(example) == 4
