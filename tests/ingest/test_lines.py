"""Lines of raw files, whole and broken."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.ingest import lines as module
from builder.ingest.decompression import DecompressedStream, ZstdReader, read_head
from builder.ingest.lines import CHUNK, LineChunk, read_byte_chunks, read_line_chunks
from builder.io.sources import Source
from tests.thorough import examples

LINES = [b'{"a": 1}', b"", b"deux", "é\u2028ø".encode(), b"x" * 50]


def read(
    path: Path, most: int = 1000, chunk_bytes: int = CHUNK
) -> tuple[list[bytes | None], list[str]]:
    """All lines of a file, and its faults; line numbers are checked on the way."""
    found: list[bytes | None] = []
    faults = []
    for chunk in read_line_chunks(Source(path, path.name), most, chunk_bytes):
        block = chunk.to_block()
        assert block.first_line_number == len(found) + 1
        found += block.lines
        faults += [block.fault] if block.fault else []
    return found, faults


@pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("chunk", [1, 3, 4096])
def test_the_same_lines_whatever_the_packing(
    tmp_path: Path, packed: str, end: bytes, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SCAN_BYTES", 2)
    data = end.join(LINES) + end
    pack = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}[packed]
    path = tmp_path / "file"
    path.write_bytes(pack(data))
    assert read(path, chunk_bytes=chunk) == (LINES, [])


def test_the_last_line_may_lack_its_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\nb")
    assert read(tmp_path / "f") == ([b"a", b"b"], [])


def test_an_empty_file_has_no_line(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert read(tmp_path / "f") == ([], [])


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n")
    assert read(tmp_path / "f") == ([b"a", b"\xef\xbb\xbfb"], [])


@pytest.mark.parametrize("chunk", [1, 7, 11, 12, 4096])
def test_long_lines_are_skipped_and_counted(tmp_path: Path, chunk: int) -> None:
    lines = (b"a", b"x" * 100, b"b", b"z" * 10, b"z" * 11, b"", b"y" * 100)
    (tmp_path / "f").write_bytes(b"\n".join(lines))
    kept = [b"a", None, b"b", b"z" * 10, None, b"", None]
    assert read(tmp_path / "f", most=10, chunk_bytes=chunk) == (kept, [])


def test_chunks_end_with_a_line_and_only_the_last_may_be_unterminated(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"un\ndeux\n\ntrois\nquatre")
    found = [
        (chunk.first_line_number, bytes(chunk.data or b""), chunk.is_unterminated)
        for chunk in read_line_chunks(Source(path, "f"), 100, 5)
    ]
    assert found == [
        (1, b"un", False),
        (2, b"deux\n", False),
        (4, b"trois", False),
        (5, b"quatre", True),
    ]
    path.write_bytes(b"un\n")
    (whole,) = read_line_chunks(Source(path, "f"), 100, 5)
    assert (whole.first_line_number, len(whole), whole.is_unterminated) == (1, 1, False)


def test_lines_of_a_chunk_have_offsets_and_a_maximum_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SCAN_BYTES", 4)
    chunk = LineChunk(7, b"a\r\nbb\n\nccc\n{}", 3)
    assert chunk.line_ends.tolist() == [2, 5, 6, 10, 13]
    assert len(chunk) == 5
    assert chunk.slice_lines(0, 1) == b"a\r"
    assert chunk.slice_lines(1, 4) == b"bb\n\nccc"
    assert [chunk.get_line(index) for index in range(5)] == [b"a", b"bb", b"", b"ccc", b"{}"]
    short = LineChunk(7, b"a\nccc\nd", 2, starts_mid_line=True)
    assert [short.get_line(index) for index in range(3)] == [None, None, b"d"]
    assert short.to_block().lines == [None, None, b"d"]
    assert (len(LineChunk(7, None, 2)), LineChunk(7, None, 2).to_block().lines) == (0, [])
    assert (len(LineChunk(7, b"", 2)), LineChunk(7, b"", 2).to_block().lines) == (1, [b""])


def test_bytes_are_read_in_chunks_without_a_byte_order_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 4)
    source = Source(tmp_path / "f", "f")
    for data, chunks in (
        (b"abcdefghij", [b"abcd", b"efgh", b"ij"]),
        (b"\xef\xbb\xbfabcdef", [b"abcd", b"ef"]),
        (b"abcd\xef\xbb\xbfe", [b"abcd", b"\xef\xbb\xbfe"]),
        (b"\xef\xbb\xbf", []),
        (b"", []),
    ):
        source.path.write_bytes(data)
        assert list(read_byte_chunks(source)) == [(chunk, None) for chunk in chunks]
    source.path.write_bytes(gzip.compress(b"abcdef", 0)[:-8])
    assert list(read_byte_chunks(source)) == [(b"abcd", None), (b"ef", "file_truncated")]


def test_a_truncated_file_keeps_what_came_before(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % i for i in range(20_000))
    packed = gzip.compress(data)
    (tmp_path / "f").write_bytes(packed[: len(packed) // 2])
    found, faults = read(tmp_path / "f")
    assert faults == ["file_truncated"]
    assert len(found) > 8_000
    assert found == data.split(b"\n")[: len(found)]


def test_even_a_small_truncated_file_keeps_its_lines(tmp_path: Path) -> None:
    packed = gzip.compress(b"un\ndeux\ntrois\n", 0)
    (tmp_path / "f").write_bytes(packed[:-12])
    assert read(tmp_path / "f") == ([b"un", b"deux"], ["file_truncated"])


def test_a_damaged_file_stops_with_a_fault(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"line\n" * 100_000))
    packed[len(packed) // 2] ^= 0xFF
    packed[-6] ^= 0xFF
    (tmp_path / "f").write_bytes(packed)
    _, faults = read(tmp_path / "f")
    assert faults in (["file_damaged"], ["file_truncated"])


def test_a_bomb_stops_at_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_BOMB_BYTES", 1_000_000)
    monkeypatch.setattr(module, "CHUNK", 100_000)
    (tmp_path / "f").write_bytes(gzip.compress(b"0" * 9 + b"\n" * 50_000_000))
    found, faults = read(tmp_path / "f")
    assert faults == ["decompression_bomb"]
    assert len(found) < 50_000_000


@pytest.mark.parametrize(
    ("least", "ratio", "faults"),
    [
        (5000, 0, []),
        (4999, 0, ["decompression_bomb"]),
        (0, 1000, []),
        (0, 1, ["decompression_bomb"]),
    ],
)
def test_a_small_file_may_have_any_ratio_and_any_file_the_maximum_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: int, ratio: int, faults: list[str]
) -> None:
    monkeypatch.setattr(module, "MIN_BOMB_BYTES", least)
    monkeypatch.setattr(module, "MAX_COMPRESSION_RATIO", ratio)
    (tmp_path / "f").write_bytes(gzip.compress(b"\n" * 5000))
    assert read(tmp_path / "f") == ([b""] * 5000, faults)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read(tmp_path / "none")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_another_encoding_is_told(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "f").write_bytes((mark + '{"query": "été"}\n').encode(encoding))
    with pytest.raises(FormatError, match="expected text in UTF-8, found UTF-16; convert it"):
        read(tmp_path / "f")


@pytest.mark.parametrize(
    ("encoding", "name"), [("utf-16-le", "UTF-16LE"), ("utf-16-be", "UTF-16BE")]
)
def test_utf16_without_a_byte_order_mark_is_an_error(
    tmp_path: Path, encoding: str, name: str
) -> None:
    (tmp_path / "f").write_bytes("time,user,query\n1,u1,été\n".encode(encoding))
    with pytest.raises(FormatError) as error:
        read(tmp_path / "f")
    assert str(error.value).endswith(
        f"expected text in UTF-8, found UTF-16; convert it with iconv -f {name} -t UTF-8"
    )


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"").rstrip(b"\r"))))
def test_no_line_is_lost(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"_\n" + b"".join(line + b"\n" for line in lines))
    assert read(path) == ([b"_", *lines], [])


def test_a_zstd_file_is_decompressed_in_small_parts(tmp_path: Path) -> None:
    """64 KiB of a bomb become 2 GiB: not more than 32 MiB of them at once."""
    compressor, zeros = zstandard.ZstdCompressor(level=3).compressobj(), bytes(2**24)
    parts = [compressor.compress(zeros) for _ in range(24)]
    (tmp_path / "f").write_bytes(b"".join((*parts, compressor.flush())))
    assert (tmp_path / "f").stat().st_size < 2**14
    with ZstdReader(tmp_path / "f") as file:
        assert 2**20 <= len(file.read1(2**20)) <= 2**20 + 2**25


def test_what_a_damaged_zstd_file_holds_is_read_before_the_error(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % i for i in range(100_000))
    packed = zstandard.compress(data)
    for name, damaged, error in (
        ("cut", packed[: len(packed) // 2], EOFError),
        ("bad", packed[: len(packed) // 2] + b"\xff" * 1000, OSError),
    ):
        (tmp_path / name).write_bytes(damaged)
        with ZstdReader(tmp_path / name) as file:
            found = file.read1(len(data))
            assert len(found) > 100_000
            assert data.startswith(found)
            with pytest.raises(error):
                file.read1(1)


def test_parts_of_a_zstd_file_are_read_in_order_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(zstandard.compress(b"abcdef") + zstandard.compress(b"ghij"))
    with ZstdReader(tmp_path / "f") as file:
        found = [file.read(size) for size in (2, 0, 5, -1, 3, -1)]
    assert found == [b"ab", b"", b"cdefg", b"hij", b"", b""]
    with ZstdReader(tmp_path / "f") as file:
        buffer = memoryview(bytearray(4))
        parts = [bytes(buffer[: file.readinto1(buffer)]) for _ in range(5)]
    assert b"".join(parts) == b"abcdefghij"
    assert (parts[0], parts[-1]) == (b"abcd", b"")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_stream_is_read_forward_only(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "f").write_bytes(pack(b"abcdef"))
    with DecompressedStream(Source(tmp_path / "f", "f")) as stream:
        assert (stream.tell(), stream.read(2), stream.tell()) == (0, b"ab", 2)
        assert (stream.read(-1), stream.tell()) == (b"cdef", 6)
        assert (stream.read(), stream.tell(), stream.fault) == (b"", 6, None)
        with pytest.raises(OSError, match=r"^cannot seek to offset 3 \(whence 1\): the stream is"):
            stream.seek(3, 1)


def test_a_stream_ends_at_the_first_damage(tmp_path: Path) -> None:
    whole = gzip.compress(b"abcdef", 0)
    for data, fault in ((whole[:-8], "file_truncated"), (whole[:-1] + b"x", "file_damaged")):
        (tmp_path / "f").write_bytes(data)
        with DecompressedStream(Source(tmp_path / "f", "f")) as stream:
            assert stream.read(6) == b"abcdef"
            assert (stream.read(), stream.fault) == (b"", fault)
            assert (stream.read(), stream.tell()) == (b"", 6)


def test_the_head_of_a_file_is_empty_if_it_is_damaged(tmp_path: Path) -> None:
    source = Source(tmp_path / "f", "f")
    for data, head in (
        (b"abcdef", b"abc"),
        (gzip.compress(b"abcdef"), b"abc"),
        (b"\x1f\x8b rubbish", b""),
        (gzip.compress(b"abcdef")[:5], b""),
        (gzip.compress(b"abcdef")[:10] + b"\xff\xff", b""),
        (b"\x28\xb5\x2f\xfdrubbish", b""),
    ):
        source.path.write_bytes(data)
        assert read_head(source, 3) == head
