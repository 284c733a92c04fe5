"""Text encodings that a definition may name."""

import pytest
from pydantic import ValidationError

from builder.parameters import LogParameters


@pytest.mark.parametrize("name", ["auto", "utf-8", "utf-8-sig", "latin-1", "gb18030", "EUC_JP"])
def test_encodings_that_extend_ascii(name: str) -> None:
    assert LogParameters(encoding=name).encoding == name


@pytest.mark.parametrize("name", ["utf-16", "utf-32", "utf-7", "cp037", "raw_unicode_escape", "hz"])
def test_other_encodings_are_refused_with_advice(name: str) -> None:
    with pytest.raises(ValidationError, match=r"does not extend ASCII; convert .* with iconv"):
        LogParameters(encoding=name)


@pytest.mark.parametrize("name", ["", "none", "base64", "rot13"])
def test_non_text_codecs_are_rejected(name: str) -> None:
    with pytest.raises(ValidationError, match="no such text encoding; expected auto, utf-8"):
        LogParameters(encoding=name)
