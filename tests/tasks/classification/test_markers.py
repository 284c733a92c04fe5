"""Emoji and emoticons: what is found, the label it gives, the text that is left."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.tasks.classification.markers import (
    Marker,
    MarkerList,
    distant_label,
    read_markers,
    remove_matches,
)

OWN = read_markers()


def found(text, markers=OWN):
    return [text[item.start : item.end] for item in markers.find_all(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nice :)", [":)"]),
        ("nice :))", [":))"]),
        ("nice :)))))))", [":)))))))"]),
        ("thanks:)", [":)"]),
        ("so good :-)).", [":-))"]),
        ("lol xD", ["xD"]),
        ("lol xDDDD!", ["xDDDD"]),
        (":):(", [":)", ":("]),
        (":D:D", [":D", ":D"]),
        ("<3<3", ["<3", "<3"]),
        ("i <3 you", ["<3"]),
        ("(: hi", ["(:"]),
        ("): no", ["):"]),
        ("oh no )-:", [")-:"]),
        (">:( no", [">:("]),
        ("</3", ["</3"]),
        ("ugh :-/", [":-/"]),
        ("T_T", ["T_T"]),
        ("a😀b", ["😀"]),
        ("great 👍🏽👍🏽 day", ["👍🏽", "👍🏽"]),
        ("❤", ["❤"]),
        ("❤️", ["❤️"]),
        ("❤️\u200d🩹", ["❤️\u200d🩹"]),
    ],
)
def test_markers_are_found(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org",
        "see http:// now",
        "https://example.org/:) there",
        "www.example.org/😀",
        "ratio 10:(3)",
        "(see note 1:)",
        "path/to:/x",
        "C:\\dir",
        "(Reuters): markets fall",
        "see (this!): it",
        "list a) b) c):",
        "xDirect",
        "exD",
        "AD: sale",
        "Group D: France",
        "R&D: we hire",
        "NOT_TO",
        "a-_-b",
        "---",
        ":)x",
        "*:)*",
        "❤️\u200d🔥",
        "🧑\u200d❤️\u200d🧑",
        "nothing",
        "",
    ],
)
def test_what_only_looks_like_a_marker(text):
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [(":)", "positive"), (":( 👎", "negative"), (":) :(", "both"), ("😀😡", "both"), ("x", "none")],
)
def test_labels(text, expected):
    assert distant_label(OWN.find_all(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("great :) day", "great day"),
        ("great 👍🏽👍🏽 day", "great day"),
        (":) great", "great"),
        ("great :(", "great"),
        ("a😀b", "ab"),
        ("line\n:)\nline", "line\nline"),
        ("keep  both spaces :)", "keep  both spaces"),
        ("a :😀) b", "a b"),
    ],
)
def test_texts_without_markers(text, expected):
    assert OWN.remove_all(text) == expected


def test_the_longest_listed_marker_counts():
    markers = MarkerList(
        [Marker(":)", "emoticon", "positive"), Marker(":))", "emoticon", "negative")]
    )
    assert distant_label(markers.find_all("a :)")) == "positive"
    assert distant_label(markers.find_all("a :))")) == "negative"
    assert distant_label(markers.find_all("a :)))")) == "negative"


def test_lists_of_one_kind():
    emoji = MarkerList([Marker("😀", "emoji", "positive")])
    faces = MarkerList([Marker("xD", "emoticon", "positive")])
    assert found("😀 xD", emoji) == ["😀"]
    assert found("😀 xD", faces) == ["xD"]


@pytest.mark.parametrize("emoji", ["❤\ufe0f", "😮\u200d💨", "🇫🇷"])
def test_an_emoji_of_several_characters_is_found(emoji):
    assert found(f"a {emoji} b", MarkerList([Marker(emoji, "emoji", "positive")])) == [emoji]


alphabet = st.sampled_from([*":;=()-/<>3DxpT_^*'\\ a1😀😡❤\ufe0f\u200d🏽", ":)", ":((", "👍"])


@given(st.lists(alphabet, max_size=25).map("".join))
def test_nothing_is_left_after_stripping(text):
    assert OWN.find_all(OWN.remove_all(text)) == []


@given(st.lists(alphabet, max_size=25).map("".join))
def test_finds_are_in_order_and_do_not_overlap(text):
    items = OWN.find_all(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(items))
    assert remove_matches(text, []) == text.strip()


@given(st.lists(alphabet, max_size=25).map("".join))
def test_the_quick_look_misses_no_marker(text):
    if OWN.find_all(text):
        assert any(needle in text for needle in OWN.prefilter_strings)


def test_every_own_marker_is_found_alone_with_its_polarity():
    for marker in OWN.markers:
        items = OWN.find_all(f"so {marker.text} there")
        assert [item.polarity for item in items] == [marker.polarity], marker


def test_own_list_is_sorted_and_has_both_sides():
    counts = {
        side: sum(m.polarity == side for m in OWN.markers) for side in ("positive", "negative")
    }
    assert min(counts.values()) >= 40


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["marker\tpolarity"], "line 1: expected header"),
        (["marker\tkind\tpolarity\tname", "😀\temoji\tgood\tgrin"], "line 2: expected marker"),
        (["marker\tkind\tpolarity\tname", "😀\temoji\tpositive"], "line 2: expected marker"),
        (
            ["marker\tkind\tpolarity\tname", "❤\temoji\tpositive\ta", "❤️\temoji\tnegative\tb"],
            "line 3: expected distinct markers",
        ),
        (
            ["marker\tkind\tpolarity\tname", "a b\temoticon\tpositive\ta"],
            "line 2: expected distinct",
        ),
        (["marker\tkind\tpolarity\tname"], "at least one marker"),
        (["marker\tkind\tpolarity\tname", "😀\tsmiley\tpositive\ta"], "line 2: expected marker"),
        (["marker\tkind\tpolarity\tname", "😀\temoji\tpositive\ta\tb"], "line 2: expected marker"),
        (["marker\tkind\tpolarity\tname", "\temoji\tpositive\ta"], "line 2: expected distinct"),
        (["marker\tkind\tpolarity\tname", "\ufe0f\temoji\tpositive\ta"], "2: expected distinct"),
    ],
)
def test_wrong_lists_are_named(tmp_path, lines, message):
    path = tmp_path / "markers.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(FormatError, match=message):
        read_markers(path)
