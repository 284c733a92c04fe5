"""Formats numbers for reports; most functions format a missing number (None) as a dash."""

MIN_FIXED_SCORE = 5e-5
"""Smallest positive number that does not become 0 when rounded to four decimals."""
DASH = "\N{EN DASH}"


def format_count(count: int | None) -> str:
    """Format an integer with thousands separators, such as `12,345`."""
    return DASH if count is None else f"{count:,}"


def format_signed_integer(number: int | None) -> str:
    """Format an integer with its sign, such as `+12`."""
    return DASH if number is None else f"{number:+,}".replace("-", "\N{MINUS SIGN}")


def format_signed_decimal(number: float | None, digits: int = 4) -> str:
    """Format a number with its sign, such as `+0.0843`; 0 has no sign."""
    if number is None:
        return DASH
    text = f"{number:+z.{digits}f}".replace("-", "\N{MINUS SIGN}")
    return text if text.strip("+0.") else text[1:]


def format_percent(fraction: float | None, digits: int = 1) -> str:
    """Format a fraction as a percentage such as `34.2 %`; only exact 0 and 1 become 0 and 100 %."""
    if fraction is None:
        return DASH
    least = 10**-digits
    if 0 < fraction * 100 < least:
        return f"< {least:.{digits}f} %"
    if 100 - least < fraction * 100 < 100:
        return f"> {100 - least:.{digits}f} %"
    return f"{100 * fraction:.{digits}f} %"


def format_decimal(number: float | None, digits: int = 3) -> str:
    """Format a number with a fixed number of decimals, such as `0.843`."""
    return DASH if number is None else f"{number:z.{digits}f}"


def pluralize(number: int, singular: str, plural: str | None = None) -> str:
    """Format a count with a noun in the singular or plural, such as `1 page` or `2 pages`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def format_score(score: float) -> str:
    """Format a score with four decimals, or in scientific notation if it would round to 0."""
    return f"{score:.1e}" if 0 < abs(score) < MIN_FIXED_SCORE else f"{score:z.4f}"
