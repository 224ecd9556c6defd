"""The type of decoded API objects, in a separate module because every other package uses it."""

from typing import Any

Document = dict[str, Any]
"""A decoded JSON object with the API's own field names."""
