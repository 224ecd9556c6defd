"""Draws classes and ResourceClaims: requests, alternatives, constraints, configuration."""

from typing import Any

from tests.model_based.allocation import dice, drawn_slices, selections
from tests.support import api_objects

Object = dict[str, Any]
CLASSES = ("plain", "kind-x")
SELECTIVE = [text for text in selections.SELECTORS if text != selections.FAILING]


def classes() -> list[Object]:
    """Return a class for every device, and one with a selector; both have configuration."""
    selector = next(iter(selections.SELECTORS))
    made = [
        api_objects.device_class(name="plain"),
        api_objects.device_class(selector, name="kind-x"),
    ]
    for item in made:
        item["spec"]["config"] = [_opaque(f"of class {item['metadata']['name']}")]
    return made


def claim(drawn: dice.Dice, name: str) -> Object:
    requests = [_request(drawn, f"r{n}") for n in range(drawn.one_of((1, 1, 1, 2, 2)))]
    made = api_objects.claim(
        name, version=1, requests=requests, constraints=_constraints(drawn, requests)
    )
    if drawn.sometimes("configuration", 3):
        made["spec"]["devices"]["config"] = _config(drawn, requests)
    return made


def _constraints(drawn: dice.Dice, requests: list[Object]) -> list[Object]:
    found = []
    for _ in range(drawn.one_of((0, 0, 0, 0, 1, 1, 2))):
        key = drawn.one_of(("matchAttribute", "distinctAttribute"))
        names = (*3 * [drawn_slices.NUMA], "a.example.com/version", "a.example.com/ready")
        made: Object = {key: drawn.named(key, drawn.one_of(names))}
        if drawn.sometimes("constraint for some requests", 3):
            made["requests"] = [_name(drawn, requests)]
        found.append(made)
    return found


def _name(drawn: dice.Dice, requests: list[Object]) -> str:
    chosen = drawn.one_of(requests)
    name = str(chosen["name"])
    if "firstAvailable" in chosen and drawn.sometimes("an alternative is named", 2):
        return f"{name}/{drawn.one_of(chosen['firstAvailable'])['name']}"
    return name


def _config(drawn: dice.Dice, requests: list[Object]) -> list[Object]:
    found = []
    for number in range(drawn.number(1, 2)):
        made = _opaque(f"of claim {number}")
        if drawn.number(0, 3):
            names = [_name(drawn, requests) for _ in range(drawn.number(1, 3))]
            made["requests"] = list(dict.fromkeys(names))
            if len(made["requests"]) > 1:
                drawn.features["configuration of several requests"] += 1
        found.append(made)
    return found


def _opaque(text: str) -> Object:
    return {"opaque": {"driver": "a.example.com", "parameters": {"text": text}}}


def _request(drawn: dice.Dice, name: str) -> Object:
    if drawn.sometimes("alternatives", 3):
        count = drawn.one_of((2, 2, 3))
        return {
            "name": name,
            "firstAvailable": [{"name": f"s{n}", **_option(drawn)} for n in range(count)],
        }
    admin = {"adminAccess": True} if drawn.sometimes("admin access", 6) else {}
    return {"name": name, "exactly": _option(drawn) | admin}


def _option(drawn: dice.Dice) -> Object:
    made: Object = {"deviceClassName": drawn.one_of(("plain", "plain", "plain", "kind-x"))}
    if drawn.sometimes("all devices", 6):
        made["allocationMode"] = "All"
    else:
        made |= {"allocationMode": "ExactCount", "count": drawn.one_of((1, 1, 1, 1, 2, 3))}
    if drawn.sometimes("selector", 4):
        failing = drawn.sometimes("selector that may fail", 12)
        text = selections.FAILING if failing else drawn.one_of(SELECTIVE)
        made["selectors"] = [{"cel": {"expression": text}}]
    if drawn.sometimes("toleration", 2):
        made["tolerations"] = [_toleration(drawn)]
    if drawn.sometimes("capacity request", 4):
        amounts = ("1", "2", "750m", "1600m", "1Gi", "0", "4611686018427387904")
        made["capacity"] = {"requests": {"mem": drawn.one_of(amounts)}}
    return made


def _toleration(drawn: dice.Dice) -> Object:
    if drawn.sometimes("toleration of everything", 4):
        return {"operator": "Exists"}
    made: Object = {"key": "k", "operator": "Exists"}
    if drawn.sometimes("toleration of a value", 3):
        made = {"key": "k", "operator": "Equal", "value": drawn.one_of(("v", "w"))}
    if drawn.sometimes("toleration of an effect", 3):
        made["effect"] = drawn.one_of(("NoSchedule", "NoExecute"))
    return made
