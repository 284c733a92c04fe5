"""Word-level differences: nothing is lost, the least is marked, and the work is bounded."""

import pytest
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


@pytest.mark.parametrize(
    ("unchanged", "runs"),
    [
        (120, ["same", "removed", "same", "removed", "same"]),
        (121, ["same", "removed", "same", "gap", "same", "removed", "same"]),
    ],
)
def test_forty_words_are_shown_on_either_side_of_a_change(unchanged: int, runs: list[str]) -> None:
    """A gap hides at least 41 words: fewer are shown."""
    between = "".join(f"w{n} " for n in range(unchanged))
    found = diff_words(f"a x {between}y b", f"a {between}b").runs
    assert [kind for kind, _ in found] == runs
    if unchanged == 121:
        assert found[2] == ("same", "".join(f"w{n} " for n in range(40)))
        assert found[3] == ("gap", " [41 unchanged words] ")
        assert found[4] == ("same", "".join(f"w{n} " for n in range(81, 121)))


@pytest.mark.parametrize(("unchanged", "gaps"), [(80, 0), (81, 2)])
def test_only_the_words_next_to_the_change_are_shown_at_the_ends(unchanged: int, gaps: int) -> None:
    before = "".join(f"a{n} " for n in range(unchanged))
    after = "".join(f"b{n} " for n in range(unchanged))
    runs = diff_words(f"{before}old {after}", f"{before}new {after}").runs
    hidden = [("gap", " [41 unchanged words] ")] if gaps else []
    left = "".join(f"a{n} " for n in range(41 if gaps else 0, unchanged))
    right = "".join(f"b{n} " for n in range(40 if gaps else unchanged))
    change = [("removed", "old "), ("added", "new ")]
    assert list(runs) == [*hidden, ("same", left), *change, ("same", right), *hidden]


def test_texts_without_a_difference_are_shown_whole() -> None:
    text = "".join(f"w{n} " for n in range(300))
    assert diff_words(text, text).runs == (("same", text),)


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        ("a b c s t d e f", "u v w s t x y z", "removed added"),
        ("a b c s t r d e f", "u v w s t r x y z", "removed added same removed added"),
        ("a b s t d e f", "s t x y z", "removed same removed added"),  # two words changed
        ("a b c s t d e", "u v w s t", "removed added same removed"),
        ("a b c s t d e f", "s t", "removed added"),
        ("a b c s t d e", "s t", "removed same removed"),
    ],
)
def test_changes_of_more_than_two_words_are_joined_across_two_words(
    before: str, after: str, kinds: str
) -> None:
    assert " ".join(kind for kind, _ in diff_words(before, after).runs) == kinds


@pytest.mark.parametrize(("words", "omitted"), [(4000, 0), (4001, 1), (4003, 3)])
def test_words_after_the_four_thousandth_are_counted(words: int, omitted: int) -> None:
    long = "".join(f"w{n} " for n in range(words))
    assert diff_words(long, "w0").omitted == omitted
    assert diff_words("w0", long).omitted == omitted


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
