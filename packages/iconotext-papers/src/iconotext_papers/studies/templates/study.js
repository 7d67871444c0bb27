// The answers of each rater stay in the browser's storage, and become a file when the rater saves them.
"use strict";

const byId = (name) => document.getElementById(name);
const study = JSON.parse(byId("study").textContent);
const buttons = [...byId("answers").querySelectorAll("button")];

let rater = null;
let answers = []; // in the order in which they were given
let pair = null; // number of the pair that is looked at
let shown = null; // when it was shown

// Numbers from 0 to 1 that are the same for the same text (xmur3 and mulberry32).
const random = (text) => {
  let state = 1779033703 ^ text.length;
  for (let i = 0; i < text.length; i += 1) {
    state = Math.imul(state ^ text.charCodeAt(i), 3432918353);
    state = (state << 13) | (state >>> 19);
  }
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
};

const shuffled = (items, draw) => {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i -= 1) {
    const other = Math.floor(draw() * (i + 1));
    [result[i], result[other]] = [result[other], result[i]];
  }
  return result;
};

// Each rater has an order and sides of their own. Half of the pairs, to the nearest one, show x as A.
const drawn = () => {
  const draw = random(`${study.seed} ${rater}`);
  const numbers = study.pairs.map((_, number) => number);
  return { order: shuffled(numbers, draw), sides: shuffled(numbers.map((n) => (n % 2 ? "y" : "x")), draw) };
};

const place = () => `iconotext study ${study.study} ${rater}`;
const say = (text) => { byId("said").textContent = text; };

const keep = () => {
  try {
    localStorage.setItem(place(), JSON.stringify(answers));
  } catch {
    say("This browser keeps nothing: save your answers as a file before you close the page.");
  }
};

const kept = () => {
  try {
    return JSON.parse(localStorage.getItem(place())) ?? [];
  } catch {
    return [];
  }
};

const show = () => {
  const judged = new Set(answers.map((each) => each.pair));
  const { order, sides } = drawn();
  pair = order.find((number) => !judged.has(number)) ?? null;
  byId("progress").textContent = `${rater}: ${answers.length} of ${study.pairs.length} judged.`;
  byId("bar").hidden = false;
  byId("bar").max = study.pairs.length;
  byId("bar").value = answers.length;
  for (const name of ["undo", "save"]) byId(name).hidden = answers.length === 0;
  byId("judge").hidden = pair === null;
  byId("done").hidden = pair !== null;
  if (pair === null) {
    byId("done").focus();
    return;
  }
  const { text, identical, x, y } = study.pairs[pair];
  byId("text").textContent = text;
  byId("identical").hidden = !identical;
  const files = sides[pair] === "x" ? [x, y] : [y, x];
  ["a", "b"].forEach((side, number) => { byId(side).src = study.pictures[files[number]]; });
  byId("a").dataset.shows = sides[pair];
  byId("text").focus({ preventScroll: true });
  shown = new Date().toISOString();
};

const answer = (given) => {
  if (pair === null) return;
  say("");
  answers.push({ pair, answer: given, a: byId("a").dataset.shows, shown, answered: new Date().toISOString() });
  keep();
  show();
};

const undo = () => {
  if (!answers.length) return;
  answers.pop();
  say("Taken back.");
  keep();
  show();
};

const save = () => {
  const text = JSON.stringify({ study: study.study, rater, answers }, null, 1);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `answers-${rater.replace(/[^\p{L}\p{N}]+/gu, "-")}.json`;
  link.click();
  say(`Saved as ${link.download}.`);
};

for (const button of buttons) button.addEventListener("click", () => answer(button.dataset.answer));
byId("undo").addEventListener("click", undo);
byId("save").addEventListener("click", save);
addEventListener("keydown", (event) => {
  if (rater === null || event.repeat || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input")) return;
  if (event.key.toLowerCase() === "u") undo();
  const button = buttons[Number(event.key) - 1];
  if (button) answer(button.dataset.answer);
});
byId("who").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("rater").value.trim().replace(/\s+/g, " ");
  if (!name) return;
  rater = name;
  answers = kept();
  say("");
  show();
});
byId("rater").focus();
