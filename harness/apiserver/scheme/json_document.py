"""The type of decoded API objects; a module of its own, so that everything may import it."""

from typing import Any

Document = dict[str, Any]
"""A decoded JSON object with the API's own field names."""
