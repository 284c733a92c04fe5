"""Map a new vocabulary to the pieces of an old one, to initialize embeddings.

In: two SentencePiece models. Out: for each piece of the new one, the old pieces whose mean
embedding it starts from: itself if the old one has it, otherwise its most probable segmentation.
"""

from pathlib import Path

import sentencepiece

Scores = dict[str, tuple[float, int]]
"""Log probability and number of a piece."""

MISSING = -100.0
"""Log probability of a character that the old vocabulary lacks."""


def mean_of_pieces(old: Path, new: Path) -> list[list[int]]:
    """Ids of the old pieces for every piece of a new vocabulary.

    Args:
        old: SentencePiece model with bytes for unknown characters.
        new: SentencePiece model of the new vocabulary.
    """
    before = sentencepiece.SentencePieceProcessor(model_file=str(old))
    after = sentencepiece.SentencePieceProcessor(model_file=str(new))
    known = {
        before.id_to_piece(number): (before.get_score(number), number)
        for number in range(before.get_piece_size())
    }
    pieces = (after.id_to_piece(number) for number in range(after.get_piece_size()))
    return [best_segmentation(piece, known) for piece in pieces]


def best_segmentation(piece: str, known: Scores) -> list[int]:
    """Most probable segmentation of a piece (Viterbi), with byte pieces for unknown characters."""
    if piece in known:
        return [known[piece][1]]
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, len(piece) + 1):
        score, numbers = best[end - 1]
        as_bytes = [known[f"<0x{byte:02X}>"][1] for byte in piece[end - 1].encode()]
        options = [(score + MISSING, numbers + as_bytes)]
        options += [
            (best[begin][0] + found[0], [*best[begin][1], found[1]])
            for begin in range(end)
            if (found := known.get(piece[begin:end])) is not None
        ]
        best.append(max(options))
    return best[-1][1]
