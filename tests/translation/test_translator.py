"""What stands for each sentence, by what went wrong; the memory; nothing is decoded twice."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from builder.parameters import TranslationParameters
from builder.translation import translator as translator_module
from builder.translation.memory import TranslationMemory
from builder.translation.outcomes import (
    FlaggedOutput,
    choose_better_output,
    clean_and_flag_output,
    fallback_policy,
)
from builder.translation.parts import ModelOutput, SplitSentence, join_parts
from builder.translation.records import sentence_rows, translation_rows
from builder.translation.sentences import TextKind, TranslatedSentence, Translation
from builder.translation.sqlite_cache import cache_key
from builder.translation.translator import BLOCK, Translator
from schemas import SENTENCE_FLAGS

LONG = "Le chat noir de la voisine dort dans le jardin."
GOOD = "The black cat of the neighbour sleeps in the garden."


class FakeEngine:
    """Answers from two dictionaries and remembers what it was asked."""

    def __init__(
        self, first: dict[str, ModelOutput], second: dict[str, ModelOutput] | None = None
    ) -> None:
        self.answers = (first, second or {})
        self.asked: list[str] = []
        self.identity = {"model": "m1", "compute_type": "int8"}

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        self.asked += sentences
        return [self.answers[is_retry].get(s, ModelOutput(f"{s} in English", 5)) for s in sentences]


@pytest.fixture
def memory(tmp_path: Path) -> TranslationMemory:
    return TranslationMemory(tmp_path / "memory.sqlite")


@pytest.fixture
def translate(memory: TranslationMemory) -> Callable[..., Any]:
    """Translate one text with given answers; the sentences."""

    def run(text: str, first: Any = (), second: Any = (), **params: Any) -> Any:
        engine = FakeEngine(dict(first), dict(second))
        translator = Translator(engine, memory, TranslationParameters(**params))  # type: ignore[arg-type]
        return translator.translate([text], params.pop("form", TextKind.TEXT))[0]

    return run


@pytest.mark.parametrize(
    ("output", "flag", "policy", "english"),
    [
        (ModelOutput("", 9, empty=True), "empty_output", "source", LONG),
        (ModelOutput("", 9, empty=True), "empty_output", "drop", ""),
        (ModelOutput("The black cat", 9, truncated=True), "truncated", "source", LONG),
        (ModelOutput("The black cat", 9, truncated=True), "truncated", "drop", ""),
        (ModelOutput("the cat " * 9, 9), "repetition", "source", LONG),
        (ModelOutput("The cat.", 9), "length_ratio", "keep", "The cat."),
        (ModelOutput(LONG, 9), "copied_source", "keep", LONG),
        (ModelOutput(GOOD.replace("cat", "7 cats"), 9), "numbers_differ", "source", LONG),
        (ModelOutput(GOOD, 9, unknown=True), "unknown_characters", "keep", GOOD),
        (
            ModelOutput(GOOD.replace(" cat ", "\ufffd\ufffd cat "), 9),
            "unknown_characters",
            "keep",
            GOOD,
        ),
        (ModelOutput("\ufffd", 9), "empty_output", "source", LONG),
    ],
)
def test_each_flag_has_its_policy(
    translate: Any, output: ModelOutput, flag: str, policy: str, english: str
) -> None:
    same = {LONG: output}
    found = translate(LONG, same, same, **{f"on_{flag}": policy})
    (sentence,) = found.sentences
    assert flag in sentence.flags
    assert sentence.english == english == found.text
    assert ("source_kept" in sentence.flags) == (policy == "source")
    assert ("dropped" in sentence.flags) == (policy == "drop")


def test_the_second_decoding_stands_where_it_is_better(translate: Any) -> None:
    bad, good = {LONG: ModelOutput("the the the the the", 9)}, {LONG: ModelOutput(GOOD, 9)}
    (sentence,) = translate(LONG, bad, good).sentences
    assert (sentence.english, sentence.flags) == (GOOD, ("retried",))


def test_without_retry_the_first_stands(translate: Any) -> None:
    bad, good = {LONG: ModelOutput("the the the the the", 9)}, {LONG: ModelOutput(GOOD, 9)}
    (sentence,) = translate(LONG, bad, good, retry=False, on_repetition="keep").sentences
    assert sentence.english == "the the the the the"
    assert set(sentence.flags) == {"repetition"}


def test_the_defects_of_published_translations_are_flagged(translate: Any) -> None:
    head = "Le chat noir " * 31
    lines = [
        head + "dort," + " et encore" * 20 + ".",
        head + "mange.",
        head + "joue.",
        "This line is already English and it should not be translated again.",
        "Il dit\x07 bonjour à tous </DOC> <DOCNO>7</DOCNO>",
        "0123456789 " * 900,
        "https://a.example/page",
    ]
    text = "\n".join(lines)
    found = translate(text, {head.strip() + " mange.": ModelOutput("", 99, empty=True)})
    assert found.text.count("\n") == text.count("\n")
    flags = [set(sentence.flags) for sentence in found.sentences]
    english = [sentence.english for sentence in found.sentences]
    assert len(found.sentences) == len(lines)
    assert english[1] != english[2]
    assert "english" in flags[3]
    assert english[3] == lines[3]
    assert {"control_characters", "markup"} <= flags[4]
    assert flags[5] == flags[6] == {"untranslatable"}
    assert "\x07" not in found.text
    assert translate("").text == ""
    assert translate(" \n\n").sentences == ()


def test_queries_keep_their_form(memory: TranslationMemory) -> None:
    answers = {
        "météo paris": ModelOutput("Weather Paris.", 2),
        "le chat ? il dort": ModelOutput("The.", 5),
    }
    engine = FakeEngine(answers)
    translator = Translator(engine, memory, TranslationParameters())  # type: ignore[arg-type]
    found = translator.translate(["météo paris", "le chat ? il dort", "404"], TextKind.QUERY)
    assert [t.text for t in found][::2] == ["weather paris", "404"]
    assert [len(t.sentences) for t in found] == [1, 1, 1]


def test_nothing_is_decoded_twice(memory: TranslationMemory) -> None:
    texts = [f"Phrase numéro {n} du texte." for n in range(30)]
    first, second = FakeEngine({}), FakeEngine({})
    for engine in (first, second):
        translator = Translator(engine, memory, TranslationParameters(retry=False))  # type: ignore[arg-type]
        found = translator.translate([*texts, *texts])
        assert [t.text for t in found] == [f"{text[:-1]}. in English" for text in texts] * 2
    assert sorted(first.asked) == sorted(texts)
    assert second.asked == []
    assert translator.counts.decoded == 0
    other = FakeEngine({})
    other.identity["model"] = "m2"
    Translator(other, memory, TranslationParameters(retry=False)).translate(texts)  # type: ignore[arg-type]
    assert sorted(other.asked) == sorted(texts)
    wider = FakeEngine({})
    Translator(wider, memory, TranslationParameters(retry=False, beam_size=4)).translate(texts)  # type: ignore[arg-type]
    assert sorted(wider.asked) == sorted(texts)


def test_a_block_is_kept_whole_when_the_next_one_fails(memory: TranslationMemory) -> None:
    class Failing(FakeEngine):
        def translate(
            self, sentences: Sequence[str], *, is_retry: bool = False
        ) -> list[ModelOutput]:
            if self.asked:
                raise KeyboardInterrupt
            return super().translate(sentences, is_retry=is_retry)

    texts = [f"Phrase {n} du texte" for n in range(BLOCK + 5)]
    params = TranslationParameters(retry=False)
    with pytest.raises(KeyboardInterrupt):
        Translator(Failing({}), memory, params).translate(texts)  # type: ignore[arg-type]
    assert len(memory) == BLOCK
    rest = FakeEngine({})
    Translator(rest, memory, params).translate(texts)  # type: ignore[arg-type]
    assert len(rest.asked) == 5


def test_a_damaged_memory_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "m.sqlite"
    outputs = {
        "un": ModelOutput("one", 1, split=True),
        "deux": ModelOutput("two", 2, truncated=True),
    }
    with TranslationMemory(path) as memory:
        memory.add("s", outputs)
        assert memory.lookup("s", ["un", "deux", "trois"]) == outputs
        assert memory.lookup("t", ["un"]) == {}
        memory._connection.execute(
            "UPDATE outputs SET text = 'uno' WHERE key = ?", [cache_key("s", "un")]
        )
        assert memory.lookup("s", ["un", "deux"]) == {"deux": outputs["deux"]}
    path.write_bytes(b"not a database at all" * 100)
    with TranslationMemory(path) as memory:
        assert len(memory) == 0
        memory.add("s", outputs)
        assert memory.lookup("s", ["un"]) == {"un": outputs["un"]}


def test_rows_tell_everything_of_a_document(translate: Any) -> None:
    text = translate("Un chat. 12.\nVide.", {"Vide.": ModelOutput("", 1, empty=True)}, retry=False)
    title = translate("Titre")
    rows = sentence_rows(["d0"], {"text": [text], "title": [title]}).to_pylist()
    assert [(row["field"], row["sentence"], row["fr"]) for row in rows] == [
        ("text", 0, "Un chat."),
        ("text", 1, "12."),
        ("text", 2, "Vide."),
        ("title", 0, "Titre"),
    ]
    assert rows[2]["en"] == "Vide."
    (whole,) = translation_rows(["d0"], {"text": [text], "title": [title]}).to_pylist()
    assert (whole["sentences"], whole["translated"], whole["copied"]) == (4, 2, 1)
    assert (whole["source_kept"], whole["dropped"]) == (1, 0)
    assert whole["flags"] == sorted(set(whole["flags"]), key=SENTENCE_FLAGS.index)
    assert {"untranslatable", "empty_output", "source_kept"} <= set(whole["flags"])


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (
            [("Voir", False), (" https://a.example ", True), ("le chat", False)],
            ModelOutput("See https://a.example the cat", 5, False, False, True, False),
        ),
        (
            [("le chat", False), (" et ", False)],
            ModelOutput("the cat", 6, False, True, True, True),
        ),
        ([("le chat", False)], ModelOutput("The cat.", 3, unknown=True)),
        ([("12", True)], ModelOutput("12", 0)),
    ],
)
def test_the_parts_of_a_sentence_are_joined(
    parts: list[tuple[str, bool]], joined: ModelOutput
) -> None:
    outputs = {
        "Voir": ModelOutput("See", 2),
        "le chat": ModelOutput("The cat.", 3, unknown=True),
        " et ": ModelOutput("", 3, truncated=True),
    }
    assert join_parts(SplitSentence(tuple(parts), False), outputs) == joined
    split = join_parts(SplitSentence((*parts, ("12", True)), True), outputs)
    assert (split.split, split.pieces) == (True, joined.pieces)


def _flagged(*flags: str) -> FlaggedOutput:
    return FlaggedOutput(ModelOutput(" ".join(flags)), frozenset(flags))


@pytest.mark.parametrize(
    ("first", "second", "is_second"),
    [
        (("repetition",), (), True),
        ((), (), False),
        ((), ("repetition",), False),
        (("empty_output",), ("truncated", "repetition"), True),
        (("truncated",), ("empty_output",), False),
        (("copied_source",), ("numbers_differ",), True),
        (("numbers_differ",), ("copied_source",), False),
        (("numbers_differ",), (), True),
        (("unknown_characters",), (), False),
        (("length_ratio", "numbers_differ"), ("length_ratio",), True),
    ],
)
def test_the_translation_with_the_lesser_defects_is_better(
    first: tuple[str, ...], second: tuple[str, ...], is_second: bool
) -> None:
    chosen = choose_better_output(_flagged(*first), _flagged(*second))
    if is_second:
        expected = FlaggedOutput(ModelOutput(" ".join(second)), frozenset({*second, "retried"}))
        assert chosen == expected
    else:
        assert chosen == _flagged(*first)


@pytest.mark.parametrize(
    ("flags", "policy"),
    [
        ({"truncated"}, "source"),
        ({"truncated", "repetition"}, "drop"),
        ({"length_ratio"}, "keep"),
        ({"length_ratio", "truncated"}, "source"),
        ({"split", "retried"}, "keep"),
        (set(), "keep"),
    ],
)
def test_the_strictest_policy_of_the_flags_counts(flags: set[str], policy: str) -> None:
    params = TranslationParameters(on_truncated="source", on_repetition="drop")
    assert fallback_policy(frozenset(flags), params) == policy


@pytest.mark.parametrize(
    ("output", "flags"),
    [
        (ModelOutput(GOOD), set()),
        (ModelOutput(GOOD, split=True), {"split"}),
        (ModelOutput(GOOD, truncated=True), {"truncated"}),
        (ModelOutput(GOOD, empty=True), {"empty_output"}),
        (ModelOutput(GOOD, unknown=True), {"unknown_characters"}),
        (ModelOutput(f"{GOOD} 7"), {"numbers_differ"}),
    ],
)
def test_what_the_engine_tells_of_an_output_is_a_flag(output: ModelOutput, flags: set[str]) -> None:
    found = clean_and_flag_output(LONG, output)
    assert (found.output, found.flags) == (output, flags)
    assert found.should_retry == bool(flags & {"truncated", "empty_output"})


def test_work_is_counted_and_reported_block_by_block(
    memory: TranslationMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator_module, "BLOCK", 2)
    reported: list[int] = []
    params = TranslationParameters(retry=False)
    for sentences, counts, pieces in (
        ("Un chat\nDeux chats\nTrois chats\nUn chat", (3, 3, 15), [10, 5]),
        ("Un chat\nQuatre chats", (2, 1, 5), [5]),
    ):
        translator = Translator(FakeEngine({}), memory, params, reported.append)  # type: ignore[arg-type]
        translator.translate([sentences])
        found = translator.counts
        assert (found.asked, found.decoded, found.pieces) == counts
        assert reported == pieces
        reported.clear()


def test_an_english_sentence_is_copied_unless_the_output_of_the_model_is_wanted(
    translate: Any,
) -> None:
    english = "This line is already English and it should not be translated again."
    (copied,) = translate(english).sentences
    assert (copied.english, copied.flags) == (english, ("english",))
    (kept,) = translate(english, on_english="keep", retry=False).sentences
    assert kept.english == f"{english[:-1]}. in English"


def test_translations_with_other_options_are_told_apart(memory: TranslationMemory) -> None:
    params = TranslationParameters(source_prefix="fra_Latn", max_source_pieces=64, beam_size=2)
    translator = Translator(FakeEngine({}), memory, params)  # type: ignore[arg-type]
    assert translator.cache_namespace() == (
        "model=m1 compute_type=int8 source_prefix=fra_Latn target_prefix=None "
        "max_source_pieces=64 max_target_pieces=256 decoding=2 batching=exact"
    )
    assert translator.cache_namespace(is_retry=True).endswith(
        " decoding={'beam_size': 4, 'no_repeat_ngram_size': 4} batching=exact"
    )


def test_more_sentences_than_a_statement_takes_are_looked_up(memory: TranslationMemory) -> None:
    outputs = {f"Phrase {n}": ModelOutput(f"Sentence {n}", n) for n in range(1001)}
    memory.add("s", outputs)
    assert memory.lookup("s", list(outputs)) == outputs


def test_rows_that_cannot_be_added_whole_are_not_added(memory: TranslationMemory) -> None:
    def rows() -> Iterator[tuple[Any, ...]]:
        yield b"k", "a", 1, 0, 1
        raise KeyboardInterrupt

    statement = "INSERT INTO outputs VALUES (?, ?, ?, ?, ?)"
    with pytest.raises(KeyboardInterrupt):
        memory._insert_rows(statement, rows())  # type: ignore[arg-type]
    assert len(memory) == 0
    assert not memory._connection.in_transaction
    assert cache_key("a", "b") != cache_key("a\nb", "")
    assert len(cache_key("a", "b")) == 16


def test_the_outcomes_of_the_sentences_of_a_document_are_counted() -> None:
    def text(*flags: tuple[str, ...]) -> Translation:
        return Translation("", tuple(TranslatedSentence("f", "e", of) for of in flags))

    fields = {
        "text": [
            text((), ("english",), ("untranslatable", "markup"), ("repetition", "source_kept")),
            text(),
        ],
        "title": [text(("split",), ("dropped",)), text(("untranslatable",))],
    }
    assert translation_rows(["d1", "d2"], fields).to_pylist() == [
        {
            "id": "d1",
            "sentences": 6,
            "translated": 2,
            "copied": 2,
            "source_kept": 1,
            "dropped": 1,
            "flags": [
                "untranslatable",
                "english",
                "markup",
                "split",
                "repetition",
                "source_kept",
                "dropped",
            ],
        },
        {
            "id": "d2",
            "sentences": 1,
            "translated": 0,
            "copied": 1,
            "source_kept": 0,
            "dropped": 0,
            "flags": ["untranslatable"],
        },
    ]
    assert translation_rows([], {}).num_rows == 0
    assert sentence_rows(["d1"], {"title": [text(("split",))]}).to_pylist() == [
        {
            "id": "d1",
            "field": "title",
            "sentence": 0,
            "fr": "f",
            "en": "e",
            "flags": ["split"],
        }
    ]
