"""Texts taken apart and put together: no sentence, line or character is lost on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.translation.batches import batch_by_length
from builder.translation.boundaries import sentence_end_offsets
from builder.translation.cutting import (
    is_untranslatable,
    separate_untranslatable_parts,
    split_to_size,
)
from builder.translation.forms import restore_case_and_punctuation
from builder.translation.layout import normalize_text, single_sentence_layout, split_into_sentences
from builder.translation.quality import (
    has_length_mismatch,
    has_markup,
    is_repetitive,
    is_untranslated,
    max_repetitions,
    quality_flags,
)
from builder.translation.wrapping import (
    continues_on_next_line,
    is_wrapped_at_margin,
    reinsert_line_breaks,
)


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("Il dort. Elle mange ! Et toi ?", ["Il dort.", "Elle mange !", "Et toi ?"]),
        ("M. Roux et Mme. Petit rient. Enfin.", ["M. Roux et Mme. Petit rient.", "Enfin."]),
        ("Voir p. 12 et art. 3 du code.", ["Voir p. 12 et art. 3 du code."]),
        ("« Oui. » Il part.", ["« Oui. »", "Il part."]),
        ("Le prix est de 3.50 euros. 20 places.", ["Le prix est de 3.50 euros.", "20 places."]),
        ("- un élément", ["un élément"]),
        ("J. R. Martin écrit.", ["J. R. Martin écrit."]),
        ("Il fait 20 °C. Demain aussi.", ["Il fait 20 °C.", "Demain aussi."]),
        ("1. Ouvrir la porte. 2. Entrer.", ["Ouvrir la porte.", "2. Entrer."]),
        ("Voir www.exemple.fr. Merci.", ["Voir www.exemple.fr.", "Merci."]),
        ("Nom\tPrix\t\tVille.\tParis", ["Nom", "Prix", "Ville.", "Paris"]),
        ("\t12 \t ", ["12"]),
        ("   ", []),
        ("Voir l'art. Il dort.", ["Voir l'art.", "Il dort."]),
        ("Voir vol. IV de l'atlas. Fin.", ["Voir vol. IV de l'atlas.", "Fin."]),
        ("Voir au vol. L'eau dort.", ["Voir au vol.", "L'eau dort."]),
        ("Il mesure 3 m. Il dort.", ["Il mesure 3 m.", "Il dort."]),
        ("Il fait 20 C. Demain aussi.", ["Il fait 20 C.", "Demain aussi."]),
        ("Il vit av. J.-C. Ensuite il dort.", ["Il vit av. J.-C. Ensuite il dort."]),
        ("XXVIII. Le chat dort.", ["XXVIII. Le chat dort."]),
        ("XXXVIII. Le chat dort.", ["XXXVIII.", "Le chat dort."]),
        ("1234. Le chat dort.", ["1234.", "Le chat dort."]),
        ('Il dit " Oui. " Elle part.', ['Il dit " Oui. "', "Elle part."]),
        ('" Oui ", dit-il. " Non "', ['" Oui ", dit-il.', '" Non "']),
        ('Il dort. " Oui "', ["Il dort.", '" Oui "']),
        ("Bon... Oui.", ["Bon...", "Oui."]),
        ("Bon. - non.", ["Bon.", "- non."]),
        ("Il vient (hier.) (Elle part.)", ["Il vient (hier.)", "(Elle part.)"]),
        ("Le chat dort. elle part.", ["Le chat dort. elle part."]),
        ("Le chat dort.Elle part.", ["Le chat dort.Elle part."]),
    ],
)
def test_sentences_of_a_line(line: str, sentences: list[str]) -> None:
    assert [segment.text for segment in split_into_sentences(line).segments] == sentences


def test_lines_broken_by_a_margin_are_one_sentence_and_break_again() -> None:
    text = "Le petit chien noir de la voisine qui mange dans le\njardin de la maison. Fin."
    layout = split_into_sentences(text)
    assert [segment.text for segment in layout.segments] == [
        "Le petit chien noir de la voisine qui mange dans le jardin de la maison.",
        "Fin.",
    ]
    english = "The neighbour's small black dog that eats in the garden of the house."
    filled = layout.fill([english, "End."])
    assert filled.count("\n") == 1
    assert filled.replace("\n", " ") == f"{english} End."


def test_headings_and_items_keep_their_lines_and_marks() -> None:
    text = "TITRE\n\n  - un chat\n  - un chien\n\n1) Première étape\nFin"
    layout = split_into_sentences(text)
    assert len(layout.segments) == 5
    upper = [segment.text.upper() for segment in layout.segments]
    assert layout.fill(upper) == "TITRE\n\n  - UN CHAT\n  - UN CHIEN\n\n1) PREMIÈRE ÉTAPE\nFIN"


LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@given(st.text().map(lambda text: text.replace("\x1f", "")))
def test_a_text_filled_with_its_own_sentences_is_the_text(text: str) -> None:
    """But for U+001F, a space to some: documents have no such control characters."""
    layout = split_into_sentences(text)
    filled = layout.fill([segment.text for segment in layout.segments])
    assert normalize_text(filled) == normalize_text(text)
    for end in LINE_ENDS:
        assert filled.count(end) == text.count(end)


@given(st.lists(st.sampled_from(["Il dort.", "un deux", "dans le", "- x", "", "3.", "A. B."])))
def test_lines_are_kept(lines: list[str]) -> None:
    text = "\n".join(lines)
    layout = split_into_sentences(text)
    assert layout.fill(["x"] * len(layout.segments)).count("\n") == text.count("\n")
    assert layout.fill([""] * len(layout.segments)).count("\n") == text.count("\n")


@given(st.text(alphabet="aB .!?«»\"'1-\t", max_size=60))
def test_sentence_ends_ascend_within_the_line(line: str) -> None:
    ends = sentence_end_offsets(line)
    assert ends == sorted(set(ends))
    assert all(0 < end <= len(line) for end in ends)


def test_tabs_between_cells_are_kept() -> None:
    """The cells of a row were one sentence, and the tabs between them spaces."""
    assert (
        split_into_sentences("Nom\t\tPrix\n12\t").fill(["Name", "Price", "12"])
        == "Name\t\tPrice\n12\t"
    )


def test_a_query_is_one_sentence() -> None:
    layout = single_sentence_layout("  qui est M. Roux ?  Où\tva-t-il\x00 ")
    (segment,) = layout.segments
    assert segment.text == "qui est M. Roux ? Où va-t-il"
    assert segment.cleaned
    assert single_sentence_layout(" \x00").segments == ()


@given(st.text(alphabet="ab ,;é", max_size=80), st.integers(1, 9))
def test_halves_are_short_and_whole(text: str, most: int) -> None:
    parts = split_to_size(text, most, len)
    assert "".join(parts) == text
    assert all(len(part) <= max(most, 1) for part in parts)


def test_a_single_character_is_not_cut() -> None:
    assert split_to_size("abc", 8, lambda _: 9) == ["a", "b", "c"]


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    text = "un deux trois quatre, et cinq six sept"
    assert split_to_size(text, 24, len) == ["un deux trois quatre,", " et cinq six sept"]


def test_addresses_are_copied_and_words_are_not() -> None:
    parts = separate_untranslatable_parts(
        "Voir https://a.example/x?y=1, puis écrire à b@c.example."
    )
    assert "".join(part for part, _ in parts) == (
        "Voir https://a.example/x?y=1, puis écrire à b@c.example."
    )
    assert [part for part, copied in parts if copied] == [
        "https://a.example/x?y=1",
        "b@c.example",
        ".",
    ]


@pytest.mark.parametrize("text", ["12,5 %", "https://a.example", "a.b@c.example", "---", "x" * 90])
def test_what_has_no_word(text: str) -> None:
    assert is_untranslatable(text)
    assert not is_untranslatable(f"{text} mot")


@pytest.mark.parametrize(
    ("output", "source", "expected"),
    [
        ("The red house", "la maison rouge", "the red house"),
        ("The red house", "La maison rouge", "The red house"),
        ("I am here", "je suis là", "I am here"),
        ("NASA is here", "la NASA est là", "NASA is here"),
        ("12 %", "12 %", "12 %"),
        ("", "la maison", ""),
        ("The end.", "La fin", "The end"),
        ("THE END", "LA FIN DU MONDE", "THE END"),
    ],
)
def test_case_and_full_stop_of_the_source_are_restored(
    output: str, source: str, expected: str
) -> None:
    assert restore_case_and_punctuation(output, source) == expected


@pytest.mark.parametrize(
    ("line", "continues"),
    [
        ("Nous marchons longtemps, tranquillement ensemble", True),  # 4 spaces
        ("Nous marchons longuement, tranquillementensemble", False),  # 3 spaces
        ("Nous marchons longtemps, bien lentement, bien loin", True),
        ("Nous marchons si lentement ensemble", False),  # shorter than 45 characters
    ],
)
def test_a_wrapped_line_is_long_and_has_several_words(line: str, continues: bool) -> None:
    assert continues_on_next_line(line, "vers la mer", is_wrapped=True) is continues
    assert not continues_on_next_line(line, "vers la mer", is_wrapped=False)
    assert not continues_on_next_line(line, "Vers la mer", is_wrapped=True)


@pytest.mark.parametrize(
    ("line", "next_line", "continues"),
    [
        ("Il vient de", "Paris", True),
        ("Il vient de", "« Paris »", True),
        ("Il vient de", "... Paris", False),
        ("de", "Paris", False),  # a line of one word
        ("Il vient de", "- Paris", False),  # an item of a list
        ("Il vient de", "2. Paris", False),
        ("Il vient de:", "paris", False),
        ("Il vient de", "", False),
        ("", "Paris", False),
    ],
)
def test_a_phrase_goes_on_after_an_article_or_a_preposition(
    line: str, next_line: str, continues: bool
) -> None:
    assert continues_on_next_line(line, next_line, is_wrapped=False) is continues


@pytest.mark.parametrize(
    ("long", "short", "wrapped"), [(1, 49, True), (1, 48, False), (0, 1, True)]
)
def test_one_line_in_fifty_may_be_longer_than_a_margin(
    long: int, short: int, wrapped: bool
) -> None:
    """A line of 100 characters is not longer, and empty lines do not count."""
    lines = ["x" * 101] * long + ["x" * 100] * short + ["  "] * 9
    assert is_wrapped_at_margin(lines) is wrapped


@pytest.mark.parametrize(
    ("breaks", "expected"),
    [
        ([(4, "\n")], "aaaa\nbbbb cccc dddd"),
        ([(11, "\n")], "aaaa bbbb\ncccc dddd"),
        ([(12, "\n")], "aaaa bbbb cccc\ndddd"),
        ([(1, "\n"), (2, "\n  ")], "aaaa\nbbbb\n  cccc dddd"),
        ([(n, str(n)) for n in (1, 2, 3, 4)], "aaaa1bbbb2cccc3dddd4"),
    ],
)
def test_lines_break_at_the_nearest_space(breaks: list[tuple[int, str]], expected: str) -> None:
    assert reinsert_line_breaks("aaaa bbbb cccc dddd", breaks, 19) == expected


def test_line_breaks_of_a_source_of_another_length_are_proportional() -> None:
    assert reinsert_line_breaks("aaaa bbbb cccc dddd", [(5, "\n")], 10) == "aaaa bbbb\ncccc dddd"
    assert reinsert_line_breaks("a b", [(0, "\n")], 0) == "a\nb"


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("", 1),
        ("a b c", 1),
        ("a A b", 2),
        ("a a b a a a c", 3),
        ("a b a b", 3),  # a phrase counts once more
        ("a b a b a b", 4),
        ("a b a c", 1),
        ("a b c a b c", 3),
        (" ".join("abcdefghijkl" * 2), 3),
        (" ".join("abcdefghijklm" * 2), 1),  # thirteen words
    ],
)
def test_repetitions_of_words_and_phrases_by_hand(text: str, most: int) -> None:
    assert max_repetitions(text) == most


@pytest.mark.parametrize(
    ("output", "source", "repetitive"),
    [
        ("no no no no", "non", True),
        ("no no no", "non", False),
        ("no no no no", "non non non non", False),
        ("no no no no no", "non non non non", True),
        ("ha" * 8, "rire", True),
        ("ha" * 7, "rire", False),
        ("ha" * 8, "ha" * 8, False),
    ],
)
def test_four_repetitions_are_a_defect_unless_the_source_has_them(
    output: str, source: str, repetitive: bool
) -> None:
    assert is_repetitive(output, source) is repetitive


@pytest.mark.parametrize(
    ("length", "source_length", "mismatch"),
    [
        (34, 100, False),  # 0.4 * 100 - 6
        (33, 100, True),
        (202, 100, False),  # 1.9 * 100 + 12
        (203, 100, True),
        (0, 15, False),
        (0, 16, True),
    ],
)
def test_translations_have_about_the_length_of_their_source(
    length: int, source_length: int, mismatch: bool
) -> None:
    assert has_length_mismatch("x" * length, "y" * source_length) is mismatch


@pytest.mark.parametrize(
    ("output", "source", "untranslated"),
    [
        ("le chat et la souris", "Le chat et la souris", True),
        ("le chat dort", "Le chat dort", True),  # a copy with one French word
        ("le chat dort", "Le chat mange", False),
        ("le chat et the mouse", "Le chat et la souris", False),  # two French, one English
        ("le chat et la the mouse", "x", True),
        ("Paris Texas", "Paris Texas", False),
    ],
)
def test_what_is_still_french(output: str, source: str, untranslated: bool) -> None:
    assert is_untranslated(output, source) is untranslated


@pytest.mark.parametrize(
    ("text", "found"),
    [("a <b>x</b>", True), ("</TEXT>", True), ("<br/>", True), ("1 < 2 > 0", False)],
)
def test_tags_are_told_from_comparisons(text: str, found: bool) -> None:
    assert has_markup(text) is found


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("aaaa bbbb: cccc dddd eeee", "aaaa bbbb:"),  # before any other boundary
        ("aaaa bbbb, cccc, et dddd eeee", "aaaa bbbb, cccc,"),
        ("aaaa bbbb, cccc dddd eeee", "aaaa bbbb,"),
        ("aaaa bbbb et cccc dddd", "aaaa bbbb"),
        ("aaaa bbbb cccc dddd", "aaaa bbbb"),
        ("a, bbbbbbbbbbbbbbbbbbbbbbbb", "a, bbbbbbbbbb"),  # not within the first quarter
        ("aaaa bbbb cccc dddd eeee: f", "aaaa bbbb cccc"),  # nor within the last
        ("bbbbbbbbb", "bbbb"),
        (" ab", " "),
    ],
)
def test_where_a_long_sentence_is_cut(text: str, part: str) -> None:
    assert split_to_size(text, len(text) - 1, len)[0] == part


@pytest.mark.parametrize(
    ("output", "source", "is_query", "expected"),
    [
        ("The U.S. army", "l’armée", False, "the U.S. army"),
        ("A house", "une maison", False, "a house"),
        ("IBM wins", "elle gagne", False, "IBM wins"),
        ("Red House", "maison rouge", True, "red house"),
        ("Red House", "Maison rouge", True, "Red House"),
        ("It is Mr.", "c'est M", False, "it is Mr."),
        ("It ends...", "ça finit", False, "it ends..."),
        ("It ends.", "Ça finit.", False, "It ends."),
        ("12", "la maison", False, "12"),
        ("The house", "12", False, "The house"),
        ("End now", "LA FIN", False, "End now"),  # five letters
        ("End now", "LA FINE", False, "END NOW"),
    ],
)
def test_the_form_of_a_translation_follows_its_source(
    output: str, source: str, is_query: bool, expected: str
) -> None:
    assert restore_case_and_punctuation(output, source, is_query=is_query) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x" * 79, [("x" * 79, False)]),
        ("x" * 80, [("x" * 80, True)]),
        ("(voir https://a.example/b).", [("(voir ", False), ("https://a.example/b", True)]),
        ("www.a.example et https://b.example", [("www.a.example", True), (" et ", False)]),
        ("mot", [("mot", False)]),
        ("", []),
    ],
)
def test_parts_that_are_copied(text: str, parts: list[tuple[str, bool]]) -> None:
    found = separate_untranslatable_parts(text)
    assert found[: len(parts)] == parts
    assert "".join(part for part, _ in found) == text


def test_lines_are_joined_up_to_four_thousand_characters() -> None:
    """Every line but the last ends in an article, so that its sentence continues."""
    line = "Le chat noir mange la"
    lines = [line] * 400
    groups = [segment.text for segment in split_into_sentences("\n".join(lines)).segments]
    assert [len(group.split()) // 5 for group in groups] == [191, 191, 18]  # 191 * 21 > 4000


@pytest.mark.parametrize(
    ("text", "segment", "gaps"),
    [
        (" a\u200b b\x07 c ", ("a b c", True), (" ", " ")),
        ("- a b", ("a b", False), ("- ", "")),
        ("\x07\n a", ("a", False), ("\n ", "")),
        ("e\u0301t\u00e9", ("\u00e9t\u00e9", False), ("", "")),
    ],
)
def test_a_sentence_is_normalized_and_the_text_around_it_is_kept(
    text: str, segment: tuple[str, bool], gaps: tuple[str, str]
) -> None:
    layout = split_into_sentences(text)
    assert [(found.text, found.cleaned) for found in layout.segments] == [segment]
    assert layout.gaps == gaps


@pytest.mark.parametrize(
    ("output", "source", "flags"),
    [
        ("", "Une phrase.", {"empty_output"}),
        ("Room 12 at 9:30.", "Salle 21 à 3h09.", set()),  # the same digits
        ("Room 12.", "Salle 13.", {"numbers_differ"}),
        ("Room 12.", "Salle 122.", {"numbers_differ"}),
        ("no no no no", "non merci", {"repetition"}),
        ("le chat et la souris", "le chat et la souris", {"copied_source"}),
        ("one two three four five six seven eight nine ten", "Une phrase.", {"length_ratio"}),
    ],
)
def test_flags_of_a_translation(output: str, source: str, flags: set[str]) -> None:
    assert quality_flags(output, source) == flags


@pytest.mark.parametrize(
    ("lengths", "most_sentences", "batches"),
    [
        ([3, 5, 3, 5, 3, 1], None, [[1], [3], [0, 2], [4], [5]]),
        ([3, 5, 3, 5, 3, 1], 1, [[1], [3], [0], [2], [4], [5]]),
        ([2, 2, 2, 2], None, [[0, 1, 2], [3]]),
        ([2, 2, 2, 2], 2, [[0, 1], [2, 3]]),
        ([2, 2, 2, 2], 9, [[0, 1, 2], [3]]),
        ([9], None, [[0]]),
        ([0, 0], None, [[0, 1]]),
        ([], None, []),
    ],
)
def test_a_batch_has_sentences_of_one_length_and_at_most_six_tokens(
    lengths: list[int], most_sentences: int | None, batches: list[list[int]]
) -> None:
    assert list(batch_by_length(lengths, 6, most_sentences)) == batches
