"""Decodes the bytes of a page to text.

The charset is taken from the byte order mark, else from the label in a header, else from the page:
its meta element, then whether the bytes are valid UTF-8, then statistics (unreliable for short
texts). Labels are interpreted as in the WHATWG Encoding Standard, where `iso-8859-1` means
windows-1252; labels that the standard does not define, such as `base64`, are ignored.
"""

import codecs
import re

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from builder.ingest.texts import C1

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
UTF8, WINDOWS_1252 = "utf-8", "cp1252"
SUPERSETS = {
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gbk": "gb18030",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
}
"""Python codecs that decode at least what the decoder of that name in the WHATWG Encoding Standard
decodes."""
MAC_CYRILLIC = dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac-cyrillic")
"""Labels of the WHATWG Encoding Standard that resiliparse does not support."""
DECLARATION_SEARCH_BYTES = 2048
"""Length in bytes of the prefix in which a page may declare its charset."""
_DECLARATION = re.compile(rb"charset|encoding", re.IGNORECASE)
_NON_ASCII, _ESCAPED = re.compile(r"[^\x00-\x7f]"), re.compile(r"[\udc80-\udcff]")
_C1 = {code: chr(code) if character == "\ufffd" else character for code, character in C1.items()}
_UNESCAPED = {0xDC00 + byte: _C1.get(byte, chr(byte)) for byte in range(0x80, 0x100)}
"""Python's surrogate escape of a non-UTF-8 byte -> the windows-1252 character of that byte."""


def python_codec(label: str | None) -> str | None:
    """Return Python's codec for a WHATWG encoding label; None if the label is unknown.

    Labels of the standard's replacement decoder, and `x-user-defined`, count as unknown.
    """
    name = map_encoding_to_html5(label or "", fallback_utf8=False)
    name = name or MAC_CYRILLIC.get((label or "").strip().lower())
    return SUPERSETS.get(name, name) if name else None


def decode(body: bytes, label: str | None, *, is_html: bool = True) -> str:
    """Decode bytes as the declared or detected charset.

    Args:
        body: Bytes of the page.
        label: Charset label from a header, if any.
        is_html: Whether to look for a charset declaration within the bytes.
    """
    mark, encoding = next(((m, e) for m, e in BYTE_ORDER_MARKS if body.startswith(m)), (b"", None))
    data = body[len(mark) :]
    encoding = encoding or python_codec(label)
    if encoding is None and is_html and _DECLARATION.search(body[:DECLARATION_SEARCH_BYTES]):
        encoding = _detect_codec(body, is_html=True)
    text = _decode_mixed_utf8(data) if encoding in (None, UTF8) else None
    return (
        _decode_as(data, encoding or _detect_codec(body, is_html=is_html)) if text is None else text
    )


def _detect_codec(body: bytes, *, is_html: bool) -> str:
    """Return the codec that a page declares, or that fits its bytes best."""
    return python_codec(detect_encoding(body, from_html_meta=is_html)) or UTF8


def _decode_as(data: bytes, encoding: str) -> str:
    """Decode bytes as the given charset or, if some are invalid in it, as UTF-8 or windows-1252."""
    if encoding == WINDOWS_1252:
        return data.decode("latin-1").translate(_C1)
    for name in (encoding, UTF8, WINDOWS_1252):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    return data.decode(encoding, "replace")


def _decode_mixed_utf8(data: bytes) -> str | None:
    """Decode bytes that mix UTF-8 and windows-1252; return None if most are not UTF-8.

    Bytes in windows-1252 are left by templates that mix charsets. An incomplete last character is
    dropped.
    """
    if data.isascii():
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        text, _ = codecs.utf_8_decode(data, "surrogateescape", False)
    wrong, non_ascii = (len(pattern.findall(text)) for pattern in (_ESCAPED, _NON_ASCII))
    return text.translate(_UNESCAPED) if non_ascii > 2 * wrong else None
