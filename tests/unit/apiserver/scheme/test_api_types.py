"""The types of the API, read from the published definitions."""

from harness.apiserver.scheme import api_types, resources


def test_zero_values_are_fresh():
    spec = api_types.of(resources.CLAIMS)
    spec.zero()["status"]["changed"] = True

    assert spec.zero()["status"] == {}


def test_every_reference_leads_to_a_definition():
    seen = set()
    waiting = [api_types.definition(name) for name in api_types.raw()]
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        waiting += [field.type for field in here.fields.values()]
        waiting += [here.item] if here.item else []

    assert len(seen) > len(api_types.raw())
