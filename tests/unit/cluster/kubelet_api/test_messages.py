"""Messages of the kubelet's protocol: names and numbers, bytes, and our words for them."""

import filecmp
import json
import pathlib
from typing import Any

import hypothesis
import pytest
from google.protobuf import json_format
from hypothesis import strategies

from harness.cluster.kubelet_api import messages, preparations, services
from tools import compile_protos

V1, V1BETA1 = services.DRA.values()
GENERATED = compile_protos.API / "generated"


def test_the_committed_modules_are_what_protoc_makes(tmp_path: pathlib.Path) -> None:
    compile_protos.compile_into(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == sorted(path.name for path in GENERATED.glob("*_pb2.py*"))
    assert filecmp.cmpfiles(tmp_path, GENERATED, names, shallow=False) == (names, [], [])


def test_paths_of_methods() -> None:
    prefix = "/k8s.io.kubelet.pkg.apis.dra"
    assert list(services.DRA) == ["v1.DRAPlugin", "v1beta1.DRAPlugin"]
    assert V1.prepare.path == f"{prefix}.v1.DRAPlugin/NodePrepareResources"
    assert V1BETA1.unprepare.path == f"{prefix}.v1beta1.DRAPlugin/NodeUnprepareResources"
    assert services.GET_INFO.path == "/pluginregistration.Registration/GetInfo"
    assert services.NOTIFY.path == "/pluginregistration.Registration/NotifyRegistrationStatus"


def test_bytes_as_they_are_documented() -> None:
    """Tag and length of each field by hand, as the encoding of protobuf has them."""
    claims = [preparations.ClaimReference("ns", "c", "u-1")]
    asked = messages.request(V1.prepare, claims)
    assert asked.SerializeToString() == b"\n\x0c\n\x02ns\x12\x03u-1\x1a\x01c"
    device = preparations.PreparedDevice(
        request_names=("gpu",), pool="p", device="d", cdi_device_ids=("v/c=n",), share_id="s"
    )
    entry = b"\n\x03gpu\x12\x01p\x1a\x01d\x22\x05v/c=n"
    for service, content in ((V1, entry + b"*\x01s"), (V1BETA1, entry)):
        answer = messages.prepare_answer(service, {"u-1": (device,)})
        one = b"\n" + bytes([len(content)]) + content
        pair = b"\n\x03u-1\x12" + bytes([len(one)]) + one
        assert answer.SerializeToString() == b"\n" + bytes([len(pair)]) + pair


TEXTS = strategies.text(max_size=20)
DEVICES = strategies.builds(
    preparations.PreparedDevice,
    request_names=strategies.lists(TEXTS, max_size=3).map(tuple),
    pool=TEXTS,
    device=TEXTS,
    cdi_device_ids=strategies.lists(TEXTS, max_size=3).map(tuple),
    share_id=strategies.none() | TEXTS,
)
RESULTS = strategies.dictionaries(
    TEXTS, strategies.lists(DEVICES, max_size=3).map(tuple) | TEXTS, max_size=4
)


def spoken(result: Any) -> Any:
    if isinstance(result, str):
        return preparations.PreparationError("Broken", result)
    return result


def comparable(results: Any) -> Any:
    return {
        uid: str(result) if isinstance(result, preparations.PreparationError) else result
        for uid, result in results.items()
    }


@hypothesis.given(RESULTS)
def test_answers_survive_bytes_and_json(results: dict[str, Any]) -> None:
    said = {uid: spoken(result) for uid, result in results.items()}
    answer = messages.prepare_answer(V1, said)
    expected = comparable(said) | {u: "Broken" for u, result in results.items() if result == ""}
    decoded = V1.prepare.answer.FromString(answer.SerializeToString())
    assert comparable(messages.prepared(decoded)) == expected
    text = json.loads(json_format.MessageToJson(answer))  # protobuf's own other form
    assert comparable(messages.prepared(json_format.ParseDict(text, V1.prepare.answer()))) == (
        expected
    )


@pytest.mark.parametrize(
    ("text", "reason", "words"),
    [
        ("DeviceHeld: it is\nin use: yes", "DeviceHeld", "it is\nin use: yes"),
        ("no such device", "DriverError", "no such device"),
        ("gpu: gone", "DriverError", "gpu: gone"),
        ("A b: c", "DriverError", "A b: c"),
    ],
)
def test_an_error_that_begins_with_a_reason_has_it(text: str, reason: str, words: str) -> None:
    answer: Any = V1.unprepare.answer()
    answer.claims["u"].error = text
    error = messages.unprepared(answer)["u"]
    assert error is not None
    assert (error.reason, str(error)) == (reason, words)
    assert messages.unprepare_answer(V1, {"u": error}) == answer
