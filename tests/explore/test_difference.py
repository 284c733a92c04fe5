"""Word-level differences: nothing is lost, the least is marked, and the work is bounded."""

from hypothesis import given
from hypothesis import strategies as st

from builder.explore.word_diff import CONTEXT_WORDS, MAX_WORDS, diff_words, split_words

WORDS = st.lists(st.sampled_from(["a", "le", "chat", "dort", "\n", "12 %"]), max_size=60)


def test_by_hand() -> None:
    found = diff_words("Le chat dort bien.", "Le chien dort bien.")
    assert found.runs == (
        ("same", "Le "),
        ("removed", "chat "),
        ("added", "chien "),
        ("same", "dort bien."),
    )
    assert (found.removed, found.added, found.omitted) == (1, 1, 0)


def test_stray_words_belong_to_the_change_around_them() -> None:
    found = diff_words("un deux trois de quatre cinq six", "a b c de e f g")
    assert found.runs == (
        ("removed", "un deux trois de quatre cinq six"),
        ("added", "a b c de e f g"),
    )
    assert (found.removed, found.added) == (6, 6)  # the word in both is no difference


def test_white_space_alone_is_no_difference() -> None:
    assert diff_words("a  b\nc", "a b c").runs == (("same", "a b c"),)


def test_long_runs_are_shortened_next_to_changes_alone() -> None:
    words = [f"w{n} " for n in range(300)]
    found = diff_words("".join(words), "".join([*words[:150], "new ", *words[150:]]))
    gaps = [text for kind, text in found.runs if kind == "gap"]
    assert gaps == [f" [{150 - CONTEXT_WORDS} unchanged words] "] * 2


@given(WORDS, WORDS)
def test_both_texts_can_be_read_off(old: list[str], new: list[str]) -> None:
    before, after = " ".join(old), " ".join(new)
    runs = diff_words(before, after).runs
    kept = [split_words(text) for kind, text in runs if kind in ("same", "added")]
    assert [w.strip() for part in kept for w in part] == after.split()
    removed = sum(len(split_words(text)) for kind, text in runs if kind == "removed")
    same = sum(len(split_words(text)) for kind, text in runs if kind == "same")
    assert removed + same == len(before.split())


def test_work_is_bounded() -> None:
    before = " ".join(f"a{n % 7}" for n in range(200_000))
    after = " ".join(f"a{n % 11}" for n in range(200_000))
    found = diff_words(before, after)
    assert found.omitted == 2 * (200_000 - MAX_WORDS)
    assert len(found.runs) <= 2 * MAX_WORDS
