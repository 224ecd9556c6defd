"""The Locust user classes of a scenario: of its profile, or of its locustfile or plug-in.

And the LoadTestShape of the latter, if it has one.
"""

from collections.abc import Mapping
from typing import Any

import locust

from harness.traffic import plugged_users, profiles, users


def of(traffic: Mapping[str, Any]) -> dict[str, type[users.ClaimUser]]:
    """Return the classes by their names; `traffic` is the table of a plan's settings.

    Raises PluginError if the locustfile or plug-in has none.
    """
    if traffic.get("locustfile"):
        return plugged_users.classes(traffic["locustfile"])
    return {"User": type("User", (profiles.BY_PROFILE[traffic["profile"]],), {})}


def shape_of(traffic: Mapping[str, Any]) -> dict[str, type[locust.LoadTestShape]]:
    """Return the shape by its name; empty: the scenario says how many users there are."""
    if traffic.get("locustfile"):
        return plugged_users.shape(traffic["locustfile"])
    return {}
