"""Objects of the API as JSON has them."""

from typing import Any

Object = dict[str, Any]
