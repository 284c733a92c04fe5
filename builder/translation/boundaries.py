"""French sentence boundary detection.

Input: one line of text. Output: the offsets at which its sentences end. A sentence ends after
`.`, `!`, `?` or an ellipsis, and after any closing quotes and brackets that follow, if the next
word starts with an uppercase letter, a digit or an opening mark. A full stop after an abbreviation,
an initial, or a number at the start of the sentence does not end the sentence. A tab always ends a
sentence, because it separates the cells of a table.
"""

import re

ABBREVIATIONS = frozenset(
    re.split(
        r"\s+",
        "adj adm alin ann app apr arr auj av avr bd bibl bld boul bul cf ch chap cie circ cl coll "
        "comm concl cons cor corresp cpt déc dép dépt dir div dr drs éd edit édit env exc fasc "
        "févr fig gal gén gouv hab hon ibid incl inst introd inv janv jr juil jur lat lieut loc "
        "lt m ma masc math me mgr mlle mlles mm mme mmes ms mss n nº n° not nov num nº obs oct op "
        "p par parag ph pl pp préf prés prov ps r rd réf resp rte s sect somm spéc sq sqq ss st "
        "ste sté subst suiv suppl t tabl tél tit trad univ v vols vs x",
    )
)
"""Abbreviations, without their full stop, that seldom end a sentence."""
BEFORE_NUMBERS = frozenset("al art c col d dec doc ex l no nos tom vol".split())
"""Words that are abbreviations if a number follows, and mostly ordinary words otherwise."""

_CLOSING = r"(?:[”’\")\]]|\s?[»])*"
_OPENING = r"(?:[\"«“‘(\[]\s?)*"
_CANDIDATE = re.compile(
    rf"[.!?…]+{_CLOSING}(?=\s+{_OPENING}(?:[A-ZÀ-ÖØ-ÞŒ0-9¿¡])|\s+[-–—]\s|\s+\"\s)"
)
_CELL_END = re.compile(r"(?<=\S)\s*\t")
_SPACED_QUOTE = re.compile(r"\s\"(?=\s)")
_LAST_WORD = re.compile(r"([^\W\d_]+[°º]?)\.$")
_INITIALS = re.compile(r"(?:^|[\s.\-('’«])(?:[A-ZÀ-Þ]|Ch|Fr|Ph|Th|Chr|J\.?-[A-ZÀ-Þ])\.$")
_MEASURE = re.compile(r"[\d°] ?[CFKVWAmgL]\.$")
_OPENING_NUMBER = re.compile(r"^\W*(?:\d{1,3}|[IVXLC]{1,6})\.$")
_NUMBER = re.compile(r"\s+(?:\d|[IVXLC]+\b(?![’']))")


def sentence_end_offsets(line: str) -> list[int]:
    """Return the end offsets of all sentences in a line except the last one."""
    ends: list[int] = []
    start = 0
    for match in _CANDIDATE.finditer(line):
        end = match.end()
        if match[0] == "." and _is_abbreviation(line, start, end):
            continue
        quote = _SPACED_QUOTE.match(line, end)
        if quote is not None and line.count('"', start, end) % 2:
            end = quote.end()
        ends.append(end)
        start = end
    return sorted({*ends, *(match.start() for match in _CELL_END.finditer(line))})


def _is_abbreviation(line: str, start: int, end: int) -> bool:
    """Whether the full stop before offset `end` belongs to an abbreviation, initial or number.

    Args:
        line: Line of text.
        start: Offset at which the sentence starts.
        end: Offset after the full stop.
    """
    tail = line[max(start, end - 24) : end]
    found = _LAST_WORD.search(tail)
    if found is not None:
        word = found[1].lower()
        if word in ABBREVIATIONS or (word in BEFORE_NUMBERS and _NUMBER.match(line, end)):
            return not _MEASURE.search(tail)
    if _INITIALS.search(tail) and not _MEASURE.search(tail):
        return True
    return _OPENING_NUMBER.match(line[start : min(end, start + 24)]) is not None
