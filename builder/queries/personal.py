"""Detects personal data in query texts by regular expressions and check digits.

Regular expressions run on whole columns in Polars, in linear time on any input. Texts that may
contain a number with a check digit are then verified one by one.

Kinds: e-mail addresses; French and international phone numbers, except French 08 numbers, which are
service numbers; IBAN (ISO 13616, mod-97 check); French social security numbers (NIR, check digits
97 - n mod 97); payment cards (ISO/IEC 7812, Luhn check); public IPv4 and IPv6 addresses.
"""

import ipaddress
import re
from collections.abc import Callable, Iterator

import polars as pl

from builder.queries.iban import IBAN_LENGTHS

KINDS = ("email", "phone", "iban", "nir", "card", "ip")

EMAIL = r"[\p{L}\p{N}_%+\-.]\s?@\s?[\p{L}\p{N}\-]+(?:\s?\.\s?[\p{L}\p{N}\-]+)*\s?\.\s?\p{L}{2,}"
PHONE = (
    r"(?:^|[^\d])"
    r"(?:(?:\+|00)[ .\-]?33[ .\-]*(?:\(0\)|0)?[ .\-]*|\(?0)[1-79]\)?"
    r"(?:(?: ?\d){8}|(?:(?:\s{1,3}|\s?[.\-]\s?)\d{2}){4}|(?:/\d{2}){4})"
    r"(?:$|[^\d])"
)
FRENCH_MOBILE_WITHOUT_PLUS = r"(?:^|[^\d])33 ?[67](?:\d{8}|(?: \d{2}){4})(?:$|[^\d])"
"""Pattern of French mobile numbers whose plus sign was lost when a URL was decoded."""
FOREIGN_PHONE = r"(?:^|[^\d])(?:\+|00)[1-9](?:[ .\-/()]{0,2}\d){7,13}(?:$|[^\d])"
PHONES = (PHONE, FRENCH_MOBILE_WITHOUT_PLUS, FOREIGN_PHONE)
SUSPECT = (
    r"(?:\d[\s.\-]{0,2}){13}"
    r"|\b[A-Za-z]{2}\s?\d{2}(?:[\s.\-]?[A-Za-z0-9]){11}"
    r"|\b[1-478][\s.\-]?\d{2}[\s.\-]?\d{2}[\s.\-]?2[AaBb]"
    r"|\d{1,3}(?:\.\d{1,3}){3}"
    r"|[0-9A-Fa-f]*:[0-9A-Fa-f]*:"
)

NORMALIZATIONS = ((r"\p{Cf}", ""), (r"[\p{Pd}\x{2212}_]", "-"), (r"[·•]", "."))
"""Replacements for invisible characters, and for characters that look like a hyphen or period."""

_GROUP = re.compile(r"\d+(?:[AB]\d*)?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s.\-]{1,2}")
_IBAN_START = re.compile(r"(?<![A-Z0-9])([A-Z]{2})[\s.\-]?\d{2}")
_LONGEST_IBAN = 2 * max(IBAN_LENGTHS.values())
_NIR = re.compile(r"[1-478]\d{2}(?:0[1-9]|1[0-2]|[2-9]\d)(?:\d{2}|2[AB])\d{6}\d{2}")
_IPV4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]+")
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")
"""Range from which public IPv6 addresses are assigned (RFC 4291). Addresses outside this range are
valid, but may be parts of program code: `d::` in `std::vector`."""
_CARD = re.compile(
    r"4\d{15}(?:\d{3})?|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|3(?:0|6|8)\d{12}"
    r"|(?:35|50|5[6-9]|6\d)\d{14}(?:\d{3})?"
)


def detect_personal_data(texts: pl.Series) -> pl.Series:
    """Detect the kind of personal data in each text.

    Args:
        texts: Texts as typed; Unicode compatibility forms (such as full-width digits) and
            separators (`NORMALIZATIONS`) are normalized before detection.

    Returns:
        For each text, one of `KINDS`; null if the text contains no personal data.
    """
    text = pl.col("text").str.normalize("NFKC")
    for pattern, plain in NORMALIZATIONS:
        text = text.str.replace_all(pattern, plain)
    frame = texts.alias("text").to_frame().select(text)
    text = pl.col("text")
    verified = pl.when(text.str.contains(SUSPECT)).then(text)
    return frame.select(
        pl.when(text.str.contains(EMAIL))
        .then(pl.lit("email"))
        .otherwise(verified.map_elements(_detect_id_number, return_dtype=pl.String))
        .fill_null(
            pl.when(pl.any_horizontal(text.str.contains(pattern) for pattern in PHONES)).then(
                pl.lit("phone")
            )
        )
        .alias("personal_data")
    )["personal_data"]


def _detect_id_number(text: str) -> str | None:
    """Return the kind of the first valid identification number in a text; None if there is none."""
    upper = text.upper()
    return next((kind for kind, contains in _VERIFIERS if contains(upper)), None)


def _join_digit_groups(text: str, min_length: int, max_length: int) -> Iterator[str]:
    """Join adjacent groups of digits; yield each number of `min_length` to `max_length` digits."""
    groups = list(_GROUP.finditer(text))
    for first, start in enumerate(groups):
        joined, end = "", start.start()
        for group in groups[first : first + max_length]:
            if joined and not _SEPARATOR.fullmatch(text, end, group.start()):
                break
            joined, end = joined + group[0], group.end()
            if len(joined) > max_length:
                break
            if len(joined) >= min_length:
                yield joined


def _has_iban(text: str) -> bool:
    """Return whether an uppercase text contains a valid IBAN."""
    starts = (match.start() for match in _IBAN_START.finditer(text))
    return any(_starts_with_iban(text[start : start + _LONGEST_IBAN]) for start in starts)


def _starts_with_iban(text: str) -> bool:
    """Return whether a text starts with a valid IBAN."""
    length = IBAN_LENGTHS.get(text[:2])
    if length is None:
        return False
    compact = re.sub(r"[\s.\-]", "", text)[:length]
    if len(compact) < length or not re.fullmatch(r"[A-Z0-9]+", compact):
        return False
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def _has_social_security_number(text: str) -> bool:
    """Return whether a text contains a valid French social security number."""
    return any(_is_social_security_number(number) for number in _join_digit_groups(text, 15, 15))


def _is_social_security_number(number: str) -> bool:
    """Return whether 15 characters are a French social security number with valid check digits."""
    if not _NIR.fullmatch(number):
        return False
    digits = number[:13].replace("2A", "19").replace("2B", "18")
    return 97 - int(digits) % 97 == int(number[13:])


def _has_card_number(text: str) -> bool:
    """Return whether a text contains a valid payment card number."""
    numbers = _join_digit_groups(text, 14, 19)
    return any(_CARD.fullmatch(number) and _is_luhn_valid(number) for number in numbers)


def _is_luhn_valid(number: str) -> bool:
    """Return whether the last digit is a valid Luhn check digit (ISO/IEC 7812-1, annex B)."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in number[::-2])) % 10 == 0


def _has_ip_address(text: str) -> bool:
    """Return whether a text contains a public IP address."""
    addresses = (match[0] for pattern in (_IPV4, _IPV6) for match in pattern.finditer(text))
    return any(_is_public_ip(address.strip(".")) for address in addresses)


def _is_public_ip(address: str) -> bool:
    """Return whether a text is a public (globally reachable) IPv4 or IPv6 address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return parsed.is_global and (parsed.version == 4 or parsed in _PUBLIC_IPV6)


_VERIFIERS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("iban", _has_iban),
    ("nir", _has_social_security_number),
    ("card", _has_card_number),
    ("ip", _has_ip_address),
)
