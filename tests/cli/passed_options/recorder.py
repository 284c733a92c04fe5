"""Types of the functions that record what a command passes to them."""

from collections.abc import Callable
from typing import Any

Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]
Recorder = Callable[..., Calls]
