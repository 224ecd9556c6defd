"""The decoded form of API objects."""

from typing import Any

Document = dict[str, Any]
"""A decoded JSON object; keys and values as in the API's JSON."""
