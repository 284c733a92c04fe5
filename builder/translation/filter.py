"""Translates a stream line by line, as a filter in a pipeline.

Input: a binary stream of UTF-8 lines, such as standard input. Output: one translation per line, in
blocks. A block consists of the lines available so far, so that interactive input is translated
immediately and piped input in batches. Each line is a separate text: a sentence wrapped over two
lines is translated as two texts, because the second line may not have arrived.
"""

from collections.abc import Iterator
from typing import BinaryIO

from builder.errors import FormatError
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation.engines import load_engine
from builder.translation.memory import TranslationMemory
from builder.translation.sentences import TextKind, Translation
from builder.translation.stage import MEMORY
from builder.translation.standalone import model_folder
from builder.translation.translator import Translator

CHUNK = 1 << 16
"""Maximum number of bytes per read."""
STREAM = "standard input"


def translate_stream(
    stream: BinaryIO,
    params: TranslationParameters,
    limits: ResourceLimits,
    *,
    kind: str = TextKind.TEXT,
) -> Iterator[list[Translation]]:
    """Translate the lines of a stream as they arrive.

    Args:
        stream: Binary stream of UTF-8 lines; its `read1` returns the bytes that have arrived.
        params: Parameters of the `[translate]` section; must name a model.
        limits: Number of threads, and the folder for temporary files.
        kind: Kind of each line: `text` or `query`.

    Yields:
        Lists of translations, one per line that has arrived since the previous list.

    Raises:
        UsageError: no model is named, or its folder does not exist.
        FormatError: the folder is not a translation model, or a line is not UTF-8.
    """
    engine = load_engine(model_folder(params), params, limits.threads)
    with TranslationMemory(limits.scratch / MEMORY) as memory:
        translator = Translator(engine, memory, params)
        for lines in read_line_blocks(stream):
            yield translator.translate(lines, TextKind(kind))


def read_line_blocks(stream: BinaryIO) -> Iterator[list[str]]:
    """Yield blocks of lines without line endings, as the lines arrive on a stream.

    Raises:
        FormatError: a line is not UTF-8.
    """
    rest, count = b"", 0
    while chunk := stream.read1(CHUNK):  # type: ignore[attr-defined]
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield [_decode_line(line, count + n) for n, line in enumerate(lines, 1)]
            count += len(lines)
    if rest:
        yield [_decode_line(rest, count + 1)]


def _decode_line(line: bytes, line_number: int) -> str:
    try:
        return line.decode("utf-8-sig" if line_number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"expected UTF-8 text: {error}", STREAM, line_number) from None
