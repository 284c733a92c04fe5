"""Report."""

import html
import json
from typing import Any


def render_report(drift: dict[str, Any]) -> str:
    """Report."""
    return "<!doctype html><title>x</title><pre>" + html.escape(json.dumps(drift, indent=1))
