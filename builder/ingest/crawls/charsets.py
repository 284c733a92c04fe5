"""Bytes of a page -> its text.

The charset comes from a byte order mark, then from the label in a header, then from the page: meta,
then whether it is UTF-8 (which text in another charset hardly is by chance), then statistics, which
err on short texts. Labels mean what the WHATWG Encoding Standard says: `iso-8859-1` is
windows-1252. Labels that the standard lacks, such as `base64`, are no labels.
"""

import codecs
import re

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from builder.ingest.texts import C1

MARKS = (
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
"""Codecs of Python that decode all that the standard's decoder of that name does."""
MAC_CYRILLIC = dict.fromkeys(("x-mac-cyrillic", "x-mac-ukrainian"), "mac-cyrillic")
"""Labels of the standard that resiliparse lacks."""
DECLARED_WITHIN = 2048
"""Bytes in which a page may declare its charset."""
_DECLARED = re.compile(rb"charset|encoding", re.IGNORECASE)
_NON_ASCII, _ESCAPED = re.compile(r"[^\x00-\x7f]"), re.compile(r"[\udc80-\udcff]")
_C1 = {code: chr(code) if character == "\ufffd" else character for code, character in C1.items()}
_UNESCAPED = {0xDC00 + byte: _C1.get(byte, chr(byte)) for byte in range(0x80, 0x100)}
"""Python's escape of a byte that is not UTF-8, to the windows-1252 character of that byte."""


def codec_of(label: str | None) -> str | None:
    """Python's codec for a label of the WHATWG Encoding Standard; None where it has no such label.

    Labels of its replacement decoder, and `x-user-defined`, count as none.
    """
    name = map_encoding_to_html5(label or "", fallback_utf8=False)
    name = name or MAC_CYRILLIC.get((label or "").strip().lower())
    return SUPERSETS.get(name, name) if name else None


def decode(body: bytes, label: str | None, *, is_html: bool = True) -> str:
    """The text of bytes; where they are wrong in their charset, others are tried first.

    Args:
        body: The bytes.
        label: The charset that a header declares, if any.
        is_html: Whether the bytes may declare a charset themselves.
    """
    mark, encoding = next(((m, e) for m, e in MARKS if body.startswith(m)), (b"", None))
    data = body[len(mark) :]
    encoding = encoding or codec_of(label)
    if encoding is None and is_html and _DECLARED.search(body[:DECLARED_WITHIN]):
        encoding = _detected(body, is_html=True)
    text = _from_utf8(data) if encoding in (None, UTF8) else None
    return _decoded(data, encoding or _detected(body, is_html=is_html)) if text is None else text


def _detected(body: bytes, *, is_html: bool) -> str:
    """The charset that a page declares, or that its bytes look like."""
    return codec_of(detect_encoding(body, from_html_meta=is_html)) or UTF8


def _decoded(data: bytes, encoding: str) -> str:
    """Text in a charset, or in UTF-8 or windows-1252 where only that decodes every byte."""
    if encoding == WINDOWS_1252:
        return data.decode("latin-1").translate(_C1)
    for name in (encoding, UTF8, WINDOWS_1252):
        try:
            return data.decode(name)
        except UnicodeDecodeError:
            continue
    return data.decode(encoding, "replace")


def _from_utf8(data: bytes) -> str | None:
    """Text of bytes whose non-ASCII characters are all or mostly UTF-8; None where they are not.

    The other bytes, left by templates that mix charsets, are windows-1252. A last character that is
    cut is dropped.
    """
    if data.isascii():
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        text, _ = codecs.utf_8_decode(data, "surrogateescape", False)
    wrong, non_ascii = (len(pattern.findall(text)) for pattern in (_ESCAPED, _NON_ASCII))
    return text.translate(_UNESCAPED) if non_ascii > 2 * wrong else None
