"""What stands for each sentence, by what went wrong; the memory; nothing is decoded twice."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from builder.parameters import TranslationParameters
from builder.translation.memory import TranslationMemory
from builder.translation.parts import ModelOutput
from builder.translation.records import sentence_rows, translation_rows
from builder.translation.sentences import TextKind
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
