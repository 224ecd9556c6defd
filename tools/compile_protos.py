"""Make the messages of the kubelet's protocol from their .proto files.

`.venv/bin/python tools/compile_protos.py` writes harness/cluster/kubelet_api/generated.
"""

import pathlib

import grpc_tools
from grpc_tools import protoc

API = pathlib.Path(__file__).parents[1] / "harness/cluster/kubelet_api"
PROTOS = API / "protos"


def compile_into(folder: pathlib.Path) -> None:
    """Write the modules and their types; raises RuntimeError if a file is wrong."""
    files = [str(path) for path in sorted(PROTOS.glob("*.proto"))]
    included = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    places = [f"-I{PROTOS}", f"-I{included}", f"--python_out={folder}", f"--pyi_out={folder}"]
    if protoc.main(["protoc", *places, *files]) != 0:
        raise RuntimeError("protoc: see above")


if __name__ == "__main__":
    compile_into(API / "generated")
