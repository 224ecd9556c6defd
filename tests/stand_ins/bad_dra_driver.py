"""Drivers that are no good, each in its way: on plain sockets, or by gRPC without messages.

python -m tests.stand_ins.bad_dra_driver WAY REGISTRY PLUGINS
"""

import os
import pathlib
import signal
import socket
import sys
import threading
from concurrent import futures

os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
import grpc

from harness.cluster.kubelet_api.generated import dra_v1_pb2 as dra
from harness.cluster.kubelet_api.generated import registration_v1_pb2 as registration

WAY, REGISTRY, PLUGINS = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
NAME = "bad.example.com"
HUGE_BYTES = 100 << 20


def silent(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    kept = []
    while True:
        kept.append(listener.accept())


def noisy(path):
    """Answer every connection with bytes that are no HTTP."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    while True:
        connection, _ = listener.accept()
        connection.sendall(os.urandom(4096))
        connection.close()


def answer_of(request, context):
    if WAY == "hangs":
        threading.Event().wait()
    if WAY == "dies":
        os._exit(7)
    if WAY == "nonsense":
        return b"\xff\xff\xff\xff no message \x00"
    if WAY == "huge":
        return b"\x0a\x80\x80\x80\x32" + bytes(HUGE_BYTES)
    answer = dra.NodePrepareResourcesResponse()
    answer.claims["not-a-claim-of-the-call"].devices.add(pool_name="p", device_name="d")
    return answer.SerializeToString()


def serve(path, package, methods):
    server = grpc.server(
        futures.ThreadPoolExecutor(16), options=[("grpc.max_send_message_length", -1)]
    )
    handlers = {name: grpc.unary_unary_rpc_method_handler(do) for name, do in methods.items()}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(package, handlers)])
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


def info(request, context):
    found = registration.PluginInfo(type="DRAPlugin", name=NAME, endpoint=str(endpoint()))
    found.supported_versions.append("v1.DRAPlugin")
    return found.SerializeToString()


def endpoint():
    return PLUGINS / NAME / "dra.sock"


def main():
    path = REGISTRY / f"{NAME}-reg.sock"
    if WAY == "ends":
        sys.exit("no such device node")
    if WAY in ("silent", "noisy"):
        {"silent": silent, "noisy": noisy}[WAY](path)
    calls = dict.fromkeys(("NodePrepareResources", "NodeUnprepareResources"), answer_of)
    kept = [serve(endpoint(), "k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin", calls)]
    methods = {"GetInfo": info, "NotifyRegistrationStatus": lambda request, context: b""}
    kept.append(serve(path, "pluginregistration.Registration", methods))
    signal.pause()


if __name__ == "__main__":
    main()
