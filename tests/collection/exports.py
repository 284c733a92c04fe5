"""Every file of the exports of a release of two months, by layout."""

import json

PAGE = "<DOC>\n<DOCNO>{0}</DOCNO>\n<DOCID>{0}</DOCID>\n<TEXT>\n{1}\n</TEXT>\n</DOC>\n"
TRAIN = "LongEval Train Collection"


def _topic(number: int, text: str) -> str:
    fields = f"<num> Number: {number}\n<title> Topic: {text}\n<desc> Description:\n\n"
    return f"<top>\n{fields}<narr> Narrative:\n\n</top>\n"


TREC = {
    "2022-06/en/documents/part-00000.trec": PAGE.format(7, "Water\nA page."),
    "2022-06/en/topics.trec": _topic(7, "fresh water"),
    "2022-06/en/topics.tsv": "7\tfresh water\n",
    "2022-06/fr/documents/part-00000.trec": PAGE.format(7, "Eau\nUne page.\nFin."),
    "2022-06/fr/documents/part-00001.trec": PAGE.format(8, "Deux &lt;DOC> &amp;lt;TEXT>."),
    "2022-06/fr/topics.trec": _topic(7, "eau &lt;top> douce") + _topic(8, "pain"),
    "2022-06/fr/topics.tsv": "7\teau <top> douce\n8\tpain\n",
    "2022-06/qrels.numbers.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/query_numbers.tsv": "7\t7\n8\t8\n",
    "2022-06/urls.tsv": "7\thttps://a.example/7\n8\thttps://a.example/8\n",
    "2022-07/en/documents/part-00000.trec": PAGE.format(9, "Salt."),
    "2022-07/en/topics.trec": _topic(9, "salt"),
    "2022-07/en/topics.tsv": "9\tsalt\n",
    "2022-07/fr/documents/part-00000.trec": PAGE.format(7, "Eau\nUne autre page."),
    "2022-07/fr/documents/part-00001.trec": PAGE.format(9, "Du sel."),
    "2022-07/fr/topics.trec": _topic(8, "pain") + _topic(9, "sel"),
    "2022-07/fr/topics.tsv": "8\tpain\n9\tsel\n",
    "2022-07/qrels.numbers.txt": "9 0 9 1\n",
    "2022-07/qrels.txt": "9 0 9 1\n",
    "2022-07/query_numbers.tsv": "8\t8\n9\t9\n",
    "2022-07/urls.tsv": "7\thttps://a.example/7\n9\thttps://a.example/9\n",
}


def _metadata(layout: str, snapshot: str, *prior: str) -> str:
    month = f'"snapshot": "{snapshot}", "timestamp": "{snapshot}"'
    listed = ", ".join(f'"{name}"' for name in prior)
    return f'{{"base": "{layout}", {month}, "prior-datasets": [{listed}]}}\n'


def _tags(number: int, text: str) -> str:
    return f"<top>\n<num>{number}</num>\n<title>{text}</title>\n</top>\n"


JUNE_JSON = (
    '[\n{{"id":"{0}7","contents":"Eau\\nUne page. \\n\\n  Fin."}},\n'
    '{{"id":"{0}8","contents":"Deux <DOC> &lt;TEXT>."}}\n]\n'
)
JULY_JSON = (
    '[\n{{"id":"{0}7","contents":"Eau\\nUne autre page."}},\n'
    '{{"id":"{0}9","contents":"Du sel."}}\n]\n'
)
JUNE_TREC = PAGE.format("{0}7", "Eau\nUne page. \n\n  Fin.") + PAGE.format(
    "{0}8", "Deux &lt;DOC> &amp;lt;TEXT>."
)
JULY_TREC = PAGE.format("{0}7", "Eau\nUne autre page.") + PAGE.format("{0}9", "Du sel.")
WATER_JSON = '[\n{{"id":"{0}7","contents":"Water\\nA page."}}\n]\n'
SALT_JSON = '[\n{{"id":"{0}9","contents":"Salt."}}\n]\n'

PUBLISH, JULY, FILE = "publish", "test-collection/A-2022-07", "collector_kodicare_1.txt"
EARLY = {
    "longeval-relevance-judgements/a-2022-07.txt": "9 0 9 1\n",
    "longeval-relevance-judgements/heldout-test.txt": "8 0 8 0\n",
    f"{PUBLISH}/English/Documents/Json/{FILE}.json": WATER_JSON.format(""),
    f"{PUBLISH}/English/Documents/Trec/{FILE}": PAGE.format(7, "Water\nA page."),
    f"{PUBLISH}/English/Queries/heldout.trec": "",
    f"{PUBLISH}/English/Queries/heldout.tsv": "",
    f"{PUBLISH}/English/Queries/queries.trec": _tags(7, "fresh water"),
    f"{PUBLISH}/English/Queries/queries.tsv": "7\tfresh water\n",
    f"{PUBLISH}/English/Queries/train.trec": _tags(7, "fresh water"),
    f"{PUBLISH}/English/Queries/train.tsv": "7\tfresh water\n",
    f"{PUBLISH}/English/etc/metadata.json": _metadata("longeval-2023", "2022-06"),
    f"{PUBLISH}/French/Documents/Json/{FILE}.json": JUNE_JSON.format(""),
    f"{PUBLISH}/French/Documents/Trec/{FILE}": JUNE_TREC.format(""),
    f"{PUBLISH}/French/Qrels/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{PUBLISH}/French/Qrels/train.txt": "7 0 7 2\n7 0 8 1\n",
    f"{PUBLISH}/French/Queries/heldout.trec": _tags(8, "pain"),
    f"{PUBLISH}/French/Queries/heldout.tsv": "8\tpain\n",
    f"{PUBLISH}/French/Queries/queries.trec": _tags(7, "eau &lt;top> douce") + _tags(8, "pain"),
    f"{PUBLISH}/French/Queries/queries.tsv": "7\teau <top> douce\n8\tpain\n",
    f"{PUBLISH}/French/Queries/train.trec": _tags(7, "eau &lt;top> douce"),
    f"{PUBLISH}/French/Queries/train.tsv": "7\teau <top> douce\n",
    f"{PUBLISH}/French/etc/metadata.json": _metadata("longeval-2023", "2022-06"),
    f"{PUBLISH}/French/urls.txt": "7\thttps://a.example/7\n8\thttps://a.example/8\n",
    f"{JULY}/English/Documents/Json/{FILE}.json": SALT_JSON.format(""),
    f"{JULY}/English/Documents/Trec/{FILE}": PAGE.format(9, "Salt."),
    f"{JULY}/English/Queries/queries.trec": _tags(9, "salt"),
    f"{JULY}/English/Queries/queries.tsv": "9\tsalt\n",
    f"{JULY}/English/etc/metadata.json": _metadata("longeval-2023", "2022-07"),
    f"{JULY}/French/Documents/Json/{FILE}.json": JULY_JSON.format(""),
    f"{JULY}/French/Documents/Trec/{FILE}": JULY_TREC.format(""),
    f"{JULY}/French/Documents/urls.txt": "7\thttps://a.example/7\n9\thttps://a.example/9\n",
    f"{JULY}/French/Qrels/qrels.txt": "9 0 9 1\n",
    f"{JULY}/French/Queries/queries.trec": _tags(8, "pain") + _tags(9, "sel"),
    f"{JULY}/French/Queries/queries.tsv": "8\tpain\n9\tsel\n",
    f"{JULY}/French/etc/metadata.json": _metadata("longeval-2023", "2022-07"),
}


def _web_metadata(snapshot: str, *prior: str) -> str:
    described = {"base": "longeval-web", "snapshot": snapshot, "prior-datasets": list(prior)}
    return json.dumps({**described, "timestamp": snapshot}) + "\n"


EN, FR = f"English/{TRAIN}", f"French/{TRAIN}"
WEB = {
    f"{EN}/Json/2022-06_en/{FILE}.json": WATER_JSON.format("doc"),
    f"{EN}/Json/2022-07_en/{FILE}.json": SALT_JSON.format("doc"),
    f"{EN}/Trec/2022-06_en/{FILE}.trec": PAGE.format("doc7", "Water\nA page."),
    f"{EN}/Trec/2022-06_en/metadata.json": _web_metadata("2022-06"),
    f"{EN}/Trec/2022-07_en/{FILE}.trec": PAGE.format("doc9", "Salt."),
    f"{EN}/Trec/2022-07_en/metadata.json": _web_metadata("2022-07", "2022-06"),
    f"{EN}/qrels/2022-06_en/qrels_processed.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{EN}/qrels/2022-07_en/qrels_processed.txt": "9 0 9 1\n",
    f"{EN}/queries/2022-06_queries.txt": "7\tfresh water\n",
    f"{EN}/queries/2022-07_queries.txt": "9\tsalt\n",
    f"{FR}/Json/2022-06_fr/{FILE}.json": JUNE_JSON.format("doc"),
    f"{FR}/Json/2022-07_fr/{FILE}.json": JULY_JSON.format("doc"),
    f"{FR}/Trec/2022-06_fr/{FILE}.trec": JUNE_TREC.format("doc"),
    f"{FR}/Trec/2022-06_fr/metadata.json": _web_metadata("2022-06"),
    f"{FR}/Trec/2022-07_fr/{FILE}.trec": JULY_TREC.format("doc"),
    f"{FR}/Trec/2022-07_fr/metadata.json": _web_metadata("2022-07", "2022-06"),
    f"{FR}/qrels/2022-06_fr/qrels_processed.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    f"{FR}/qrels/2022-07_fr/qrels_processed.txt": "9 0 9 1\n",
    f"{FR}/queries/2022-06_queries.txt": "7\teau <top> douce\n8\tpain\n",
    f"{FR}/queries/2022-07_queries.txt": "8\tpain\n9\tsel\n",
}


def _paper(number: int, title: str, text: str) -> str:
    dates = ("createdDate", "publishedDate", "updatedDate")
    unknown = ("doi", "arxivId", "pubmedId", "magId", *dates)
    nulls = "".join(f',"{name}":null' for name in unknown)
    empty = '"authors":[],"oaiIds":[],"links":[]'
    return f'{{"id":"{number}","title":"{title}","abstract":"{text}"{nulls},{empty}}}\n'


SCI = {
    "2022-06/documents/documents_000001.jsonl": _paper(7, "Water", "A page."),
    "2022-06/metadata.json": _metadata("longeval-sci", "2022-06"),
    "2022-06/qrels.txt": "7 0 7 2\n7 0 8 1\n8 0 8 0\n",
    "2022-06/queries.txt": "7\tfresh water\n",
    "2022-07/documents/documents_000001.jsonl": _paper(9, "", "Salt."),
    "2022-07/metadata.json": _metadata("longeval-sci", "2022-07", "../2022-06"),
    "2022-07/qrels.txt": "9 0 9 1\n",
    "2022-07/queries.txt": "9\tsalt\n",
}
