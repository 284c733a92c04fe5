"""New pieces in old pieces."""

from workflows.train_translator.segments import best_segmentation

KNOWN = {
    **{f"<0x{byte:02X}>": (0.0, byte) for byte in range(256)},
    "▁gâ": (-2.0, 300),
    "teau": (-3.0, 301),
    "▁": (-1.0, 302),
    "gâteau": (-9.0, 303),
    "x": (-1.0, 304),
}


def test_a_known_piece_is_itself() -> None:
    assert best_segmentation("teau", KNOWN) == [301]


def test_a_new_piece_is_its_most_probable_segmentation() -> None:
    assert best_segmentation("▁gâteau", KNOWN) == [300, 301]


def test_a_missing_character_is_its_bytes() -> None:
    assert best_segmentation("xé", KNOWN) == [304, 0xC3, 0xA9]
