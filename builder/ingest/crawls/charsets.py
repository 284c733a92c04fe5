"""Decodes the bytes of a page to text.

The charset is given by the byte order mark, otherwise by the label in a header, otherwise by the
meta element of the page, otherwise by its XML declaration. Without any of these, it is UTF-8 if the
bytes are valid UTF-8; otherwise, it is detected statistically, which is unreliable for short texts.
Labels are interpreted according to the WHATWG Encoding Standard: `iso-8859-1` means windows-1252,
and `utf-16` in a page means UTF-8. Labels that the standard does not define, such as `base64`, are
ignored.
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
"""Maps encodings of the WHATWG Encoding Standard to the Python codecs that decode them. Python's
codecs of the same names reject some of the bytes that the standard allows."""
MAC_CYRILLIC = dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac-cyrillic")
"""Maps WHATWG encoding labels that resiliparse does not support to Python codecs."""
DECLARATION_SEARCH_BYTES = 2048
"""Number of leading bytes of a page that are searched for a charset declaration."""
_DECLARATION = re.compile(rb"charset|encoding", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*?\sencoding\s*=\s*[\"']([^\"'>]+)")
_NON_ASCII, _ESCAPED = re.compile(r"[^\x00-\x7f]"), re.compile(r"[\udc80-\udcff]")
_C1 = {code: chr(code) if character == "\ufffd" else character for code, character in C1.items()}
_UNESCAPED = {chr(0xDC00 + byte): _C1.get(byte, chr(byte)) for byte in range(0x80, 0x100)}
"""Maps the surrogate with which Python escapes a non-UTF-8 byte to the windows-1252 character of
that byte."""


def python_codec(label: str | None) -> str | None:
    """Return the name of the Python codec for a WHATWG encoding label; None for unknown labels.

    Labels that the standard maps to its replacement decoder, and `x-user-defined`, are treated as
    unknown.
    """
    name = map_encoding_to_html5(label or "", fallback_utf8=False)
    name = name or MAC_CYRILLIC.get((label or "").strip().lower())
    return SUPERSETS.get(name, name) if name else None


def decode(body: bytes, label: str | None, *, is_html: bool = True) -> str:
    """Decode the bytes of a page with its declared or detected charset.

    Args:
        body: Bytes of the page.
        label: Charset label from a header; None if no header has one.
        is_html: Whether to look for a charset declaration in the page.
    """
    mark, encoding = next(((m, e) for m, e in BYTE_ORDER_MARKS if body.startswith(m)), (b"", None))
    data = body[len(mark) :]
    encoding = encoding or python_codec(label)
    if encoding is None and is_html and _DECLARATION.search(body[:DECLARATION_SEARCH_BYTES]):
        encoding = _declared_codec(body)
    text = _decode_mixed_utf8(data) if encoding in (None, UTF8) else None
    return (
        _decode_with_fallbacks(data, encoding or _detect_codec(body, is_html=is_html))
        if text is None
        else text
    )


def _declared_codec(body: bytes) -> str:
    """Return the codec that the meta element or the XML declaration of a page declares."""
    xml = _XML_DECLARATION.match(body)
    if xml is not None and b"charset" in body[:DECLARATION_SEARCH_BYTES].lower():
        xml = None
    codec = None if xml is None else python_codec(xml[1].decode("ascii", "replace"))
    codec = codec or _detect_codec(body, is_html=True)
    # a declaration that can be read as ASCII cannot be in UTF-16
    return UTF8 if codec.startswith("utf-16") else codec


def _detect_codec(body: bytes, *, is_html: bool) -> str:
    """Return the most likely codec; if `is_html`, prefer the codec that the page declares."""
    return python_codec(detect_encoding(body, from_html_meta=is_html)) or UTF8


def _decode_with_fallbacks(data: bytes, encoding: str) -> str:
    """Decode bytes with a codec; if some bytes are invalid, try UTF-8, then windows-1252."""
    if encoding == WINDOWS_1252:
        return _decode_windows_1252(data)
    for name in (encoding, UTF8, WINDOWS_1252):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    return data.decode(encoding, "replace")


def _decode_windows_1252(data: bytes) -> str:
    """Decode windows-1252 according to the standard: undefined bytes become C1 characters."""
    try:
        return data.decode(WINDOWS_1252)
    except UnicodeDecodeError:
        return data.decode("latin-1").translate(_C1)


def _decode_mixed_utf8(data: bytes) -> str | None:
    """Decode UTF-8 text in which some characters may be encoded in windows-1252.

    Pages that were assembled from several sources contain such text. An incomplete character at the
    end is dropped. Return None if all bytes are ASCII, or if at least half of the non-ASCII
    characters are not valid UTF-8.
    """
    if data.isascii():
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        text, _ = codecs.utf_8_decode(data, "surrogateescape", False)
    wrong, non_ascii = (len(pattern.findall(text)) for pattern in (_ESCAPED, _NON_ASCII))
    return _ESCAPED.sub(lambda match: _UNESCAPED[match[0]], text) if non_ascii > 2 * wrong else None
