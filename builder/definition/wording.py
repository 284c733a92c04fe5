"""Rewrites Pydantic validation errors for users who edit TOML definitions."""

from collections.abc import Mapping
from typing import Any

from builder.text.names import PATTERN_DESCRIPTIONS

EXPECTED = {
    "int_parsing": "expected an integer",
    "int_type": "expected an integer",
    "int_from_float": "expected an integer",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "bool_parsing": "expected true or false",
    "bool_type": "expected true or false",
    "string_type": "expected a string in quotes",
    "tuple_type": "expected a list in brackets",
    "dict_type": "expected a section",
    "model_type": "expected a section",
    "greater_than": "expected more than {gt}",
    "greater_than_equal": "expected at least {ge}",
    "less_than": "expected less than {lt}",
    "less_than_equal": "expected at most {le}",
    "literal_error": "expected {expected}",
    "enum": "expected {expected}",
    "string_pattern_mismatch": "expected {pattern}",
    "string_too_short": "expected at least {min_length} characters",
    "too_short": "expected a list of length {min_length} or more",
    "too_long": "expected a list of at most {max_length} values",
    "finite_number": "expected a finite number",
}
"""Message template by Pydantic error type; placeholders are filled from the error context."""


def rephrase_error(error: Mapping[str, Any]) -> str:
    """Return the message for one Pydantic error, with the expected and the found value.

    The found value is left out if it is the whole definition.
    """
    template = EXPECTED.get(error["type"])
    if template is None:
        expected = str(error["msg"]).removeprefix("Value error, ")
    else:
        context = dict(error.get("ctx", {}))
        if "pattern" in context:
            pattern = context["pattern"]
            context["pattern"] = PATTERN_DESCRIPTIONS.get(pattern, f"a string matching {pattern}")
        expected = template.format(**context)
    return f"{expected}; found {error['input']!r:.80}" if error["loc"] else expected
