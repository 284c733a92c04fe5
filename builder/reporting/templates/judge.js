"use strict";
const pool = JSON.parse(document.getElementById("pool").textContent);
const byId = (id) => document.getElementById(id);
let assessor = "";
let grades = {};
let at = 0;

const keyOf = (pair) => pair.query_id + " " + pair.doc_id;
const storeName = () => "longeval-judging " + pool.pool + " " + assessor;
const say = (text) => { byId("notice").textContent = text; };

function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(storeName()) || "{}");
    for (const pair of pool.pairs) {
      const grade = kept[keyOf(pair)];
      if (Object.hasOwn(pool.grades, String(grade))) grades[keyOf(pair)] = grade;
    }
  } catch (error) {
    say("This browser cannot save judgements: export before you close the page.");
  }
}

function save() {
  try {
    localStorage.setItem(storeName(), JSON.stringify(grades));
    localStorage.setItem("longeval-judging assessor " + pool.pool, assessor);
  } catch (error) {
    say("This browser cannot save judgements: export before you close the page.");
  }
}

const isJudged = (pair) => Object.hasOwn(grades, keyOf(pair));
const judged = () => pool.pairs.filter(isJudged).length;

function nextOpen(from) {
  const count = pool.pairs.length;
  for (let step = 0; step < count; step += 1) {
    const index = (from + step) % count;
    if (!isJudged(pool.pairs[index])) return index;
  }
  return -1;
}

function show() {
  const pair = pool.pairs[at];
  byId("query").textContent = pair.query;
  byId("title").textContent = pair.title || "(no title)";
  byId("url").textContent = pair.url;
  byId("text").textContent = pair.text;
  byId("progress").textContent =
    `Pair ${at + 1} of ${pool.pairs.length}, ${judged()} judged, assessor ${assessor}`;
  byId("bar").firstElementChild.style.width = `${(100 * judged()) / pool.pairs.length}%`;
  for (const item of byId("grades").children) {
    item.classList.toggle("chosen", item.dataset.grade === String(grades[keyOf(pair)]));
  }
  window.scrollTo(0, 0);
}

function move(index) {
  at = Math.min(Math.max(index, 0), pool.pairs.length - 1);
  show();
}

function grade(value) {
  grades[keyOf(pool.pairs[at])] = value;
  say("");
  save();
  const open = nextOpen(at + 1);
  if (open < 0) {
    say("All pairs are judged. Press e to export.");
    show();
  } else {
    move(open);
  }
}

function exportSheet() {
  const rows = pool.pairs.filter(isJudged)
    .map((pair) => [pair.query_id, pair.doc_id, assessor, grades[keyOf(pair)]].join("\t"));
  const text = ["query_id\tdoc_id\tassessor\tgrade", ...rows].join("\n") + "\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  link.download = `judgements-${assessor}.tsv`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  say(`${rows.length} of ${pool.pairs.length} pairs exported to ${link.download}`);
}

function onKey(event) {
  if (byId("work").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    ArrowRight: () => move(at + 1),
    ArrowLeft: () => move(at - 1),
    n: () => (nextOpen(at + 1) < 0 ? say("All pairs are judged.") : move(nextOpen(at + 1))),
    u: () => { delete grades[keyOf(pool.pairs[at])]; save(); show(); },
    e: exportSheet,
  };
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (Object.hasOwn(pool.grades, name)) {
    event.preventDefault();
    if (!event.repeat) grade(Number(name));
  } else if (Object.hasOwn(actions, name)) {
    event.preventDefault();
    actions[name]();
  }
}

function begin(event) {
  event.preventDefault();
  assessor = byId("assessor").value.trim();
  byId("start").hidden = true;
  byId("work").hidden = false;
  load();
  save();
  if (!pool.pairs.length) { say("There are no pairs to judge."); return; }
  const open = nextOpen(0);
  move(open < 0 ? 0 : open);
  if (open < 0) say("All pairs are judged. Press e to export.");
}

for (const [value, label] of Object.entries(pool.grades)) {
  const item = document.createElement("li");
  const key = document.createElement("kbd");
  key.textContent = value;
  item.dataset.grade = value;
  item.append(key, " " + label);
  byId("grades").append(item);
}
let known = pool.assessor;
try {
  known = known || localStorage.getItem("longeval-judging assessor " + pool.pool) || "";
} catch (error) {
  known = pool.assessor;
}
byId("assessor").value = known;
byId("assessor").focus();
byId("assessor").select();
byId("start").addEventListener("submit", begin);
document.addEventListener("keydown", onKey);
