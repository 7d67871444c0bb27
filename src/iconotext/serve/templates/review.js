import { ask, byId, calm, counted, follow, make, teller } from "/static/server.js";

const collection = byId("review").dataset.collection;
const home = `/v1/collections/${collection}`;
const judge = byId("judge"), text = byId("text"), field = byId("reviewer");
const PLAIN = { h: "h4", quote: "blockquote" };

let reviewer = null;
let review = null; // as the server knows it
let current = null; // the picture that is looked at
let marked = null; // the number of the marked sentence
let picked = new Set(); // the numbers of those that are put together, where it belongs to several
let busy = false;
let missed = false; // whether something changed while it was busy
const told = new Map(); // the answers of this reviewer that this window has shown: another one was given elsewhere
let shown = null; // of the document as it is shown: what is said is meant for that one
let version = 0; // grows with what is said here: an answer that was under way meanwhile knows too little
const later = new Set();
const asked = new URLSearchParams(location.search);
const first = +asked.get("document"); // the document whose pictures come first
let at = asked.has("picture") ? `${first}/${asked.get("picture")}` : null; // the picture that somebody came to correct
const documents = new Map();
const key = (one) => `${one.document}/${one.picture}`;
const percent = (share) => `${Math.round(share * 100)} %`;

const say = teller(byId("saved"));

const known = async (document) => {
  if (!documents.has(document)) documents.set(document, await ask("GET", `/v1/documents/${document}/review`));
  return documents.get(document);
};

// --- What there is to do.

const left = () => review.pictures.filter((one) => !(reviewer in one.verdicts));

const summarize = () => {
  const all = review.pictures.length, open = left().length;
  byId("progress").textContent = `${all - open} of ${counted(all, "picture")} judged by ${reviewer}.`;
  const parts = [];
  if (review.reviewers.length > 1) {
    const alpha = review.alpha === null ? "cannot be told yet" : review.alpha.toFixed(2);
    const open = review.undecided ? `; ${counted(review.undecided, "picture")} undecided` : "";
    parts.push(make("p", {}, `Agreement of ${review.reviewers.length} reviewers (Krippendorff’s α): ${alpha}${open}.`));
  }
  if (!review.current) parts.push(make("p", { class: "quiet" }, "Learning from what was said …"));
  if (review.changed.length) {
    parts.push(
      make("p", {}, `Since the first answer, ${counted(review.changed.length, "other picture")} got another sentence:`),
      make("ul", {}, ...review.changed.slice(0, 20).map((one) => make(
        "li", {}, make("a", { href: `/documents/${one.document}#p${one.picture}` }, `${one.title}, picture ${one.picture + 1}`),
        one.now === null ? ": none" : `: sentence ${one.now + 1}, before ${one.before === null ? "none" : one.before + 1}`,
      ))),
      review.changed.length > 20 ? make("p", { class: "quiet" }, `and ${review.changed.length - 20} more`) : null,
    );
  } else if (review.current && review.reviewers.length) {
    parts.push(make("p", { class: "quiet" }, "What was said so far gave no other picture another sentence."));
  }
  if (review.reviewers.length) {
    parts.push(make(
      "p", {}, make("a", { href: `${home}/corpus` }, "Take the corpus"),
    ));
  }
  byId("summary").replaceChildren(...parts.filter(Boolean));
};

const answer = (one) => {
  const given = one.verdicts[reviewer];
  if (!given) return "taken back";
  return given.length ? `sentence ${given.map((n) => n + 1).join(", ")}` : "none of its sentences";
};

const tell = (one) => told.set(key(one), answer(one));
const tellOf = (name) => review.pictures.filter((one) => key(one) === name).forEach(tell);

const load = async () => {
  for (;;) {
    const before = version;
    const found = await ask("GET", `${home}/review?reviewer=${encodeURIComponent(reviewer)}`);
    if (before !== version) continue;
    review = found;
    return summarize();
  }
};

const next = async (wanted = null) => {
  const open = left();
  const fresh = open.filter((one) => !later.has(key(one)));
  if (!fresh.length) later.clear();
  const chosen = wanted ? review.pictures.find((one) => key(one) === wanted) : null; // judged before or not
  current = chosen ?? fresh.find((one) => one.document === first) ?? fresh[0] ?? open[0] ?? null;
  judge.hidden = current === null;
  byId("done").hidden = current !== null;
  if (current === null) {
    byId("done").focus();
    return;
  }
  await show();
};

// --- One picture.

const toMiddle = (element) => { // the page itself stays where it is
  const [box, view] = [element.getBoundingClientRect(), text.getBoundingClientRect()];
  text.scrollTop += box.top - view.top - (view.height - box.height) / 2;
};

const mark = (number) => {
  text.querySelector(".marked")?.classList.remove("marked");
  for (const button of byId("candidates").querySelectorAll("button")) {
    button.toggleAttribute("data-marked", +button.dataset.sentence === number);
  }
  marked = number;
  const element = number === null ? null : byId(`s${number}`);
  element?.classList.add("marked");
  if (element) toMiddle(element);
};

const showPicked = () => {
  for (const button of byId("candidates").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", picked.has(+button.dataset.sentence));
  }
  for (const span of text.querySelectorAll("[data-n]")) span.classList.toggle("picked", picked.has(+span.dataset.n));
  byId("take").disabled = !picked.size;
  byId("taken").textContent = picked.size ? `${counted(picked.size, "sentence")} picked` : "Several sentences";
};

const pick = (number) => {
  if (number === null) return;
  picked.has(number) ? picked.delete(number) : picked.add(number);
  showPicked();
  const numbers = [...picked].sort((a, b) => a - b).map((n) => n + 1).join(", ");
  say(picked.size ? `Picked: sentence ${numbers}. Enter says so.` : "No sentence is picked.");
};

const several = () => byId("several").getAttribute("aria-pressed") === "true";
const choose = (number, together) => (together || several() ? pick(number) : decide([number]));
const takePicked = () => decide([...picked].sort((a, b) => a - b));

const show = async () => {
  const document_ = await known(current.document);
  shown = document_.digest;
  const picture = document_.pictures[current.picture];
  const digits = new Map(picture.candidates.map(([sentence], n) => [sentence, n + 1]));
  const said = picture.caption ?? picture.alt;
  byId("picture-name").replaceChildren(
    `Picture ${current.picture + 1} of `, make("a", { href: `/documents/${current.document}#p${current.picture}` }, document_.title),
  );
  Object.assign(byId("back"), { href: `/documents/${current.document}#p${current.picture}`, hidden: key(current) !== at });
  Object.assign(byId("picture"), {
    src: `/v1/documents/${current.document}/pictures/${current.picture}`,
    alt: picture.alt ?? picture.caption ?? "No description",
  });
  byId("caption").textContent = said ?? "";
  byId("candidates").replaceChildren(...picture.candidates.map(([sentence, confidence], n) => make(
    "li", {}, make(
      "button", { type: "button", "data-sentence": sentence, onclick: (event) => choose(sentence, event.shiftKey) },
      make("kbd", {}, String(n + 1)), make("span", { class: "words", lang: document_.language, dir: "auto" },
        document_.sentences[sentence][0]), make("span", { class: "sure" }, percent(confidence)),
    ),
  )));

  const here = (name) => make(
    name, { class: "here" }, make("img", { src: byId("picture").src, alt: "" }), `Picture ${current.picture + 1} stands here`,
  );
  const blocks = [];
  let block = {};
  document_.sentences.forEach(([words, number, kind], n) => {
    const begins = number === null || number !== block.number;
    if (n === picture.position) begins ? blocks.push(here("p")) : block.element.append(here("span"), " ");
    if (begins) {
      block = { number, element: make(kind === "heading" ? "h4" : PLAIN[kind] ?? "p", { dir: "auto" }) };
      blocks.push(block.element);
    }
    const digit = digits.get(n);
    const sentence = make("span", { id: `s${n}`, class: digit ? "candidate" : null, "data-n": n }, words);
    if (digit) sentence.prepend(make("b", { "aria-hidden": "true" }, String(digit)));
    block.element.append(sentence, " ");
  });
  if (picture.position === document_.sentences.length) blocks.push(here("p"));
  text.lang = document_.language;
  text.replaceChildren(...blocks);
  byId("where").disabled = picture.position == null; // the file does not say it
  const given = current.verdicts[reviewer];
  const numbers = given?.map((n) => n + 1).join(", ");
  byId("given").textContent = !given ? "" : `Your answer: ${numbers ? `sentence ${numbers}` : "none of its sentences"}.`;
  picked = new Set(given?.length > 1 ? given : []);
  mark(given?.length ? given[0] : current.best);
  showPicked();
  byId("picture-name").focus({ preventScroll: true });
};

const free = () => {
  busy = false;
  if (missed) renew();
  missed = false;
};

// Keys that are pressed while an answer is under way are not taken: the page says what was done when it takes them again.
const decide = async (sentences) => {
  if (busy || !current) return;
  busy = true;
  const one = current;
  version += 1;
  try {
    await ask("POST", `${home}/verdicts`, {
      document: one.document, picture: one.picture, sentences, reviewer, digest: shown,
    });
  } catch (error) {
    documents.delete(one.document); // its file may have changed: it is shown as it is now
    await load().then(() => tellOf(key(one))).then(() => next(key(one))).catch(() => {});
    free();
    return say(`Not saved: ${error.message}`, true);
  }
  version += 1;
  review.pictures.find((each) => key(each) === key(one)).verdicts[reviewer] = sentences;
  tellOf(key(one));
  summarize();
  const numbers = sentences.map((n) => n + 1).join(", ");
  const saved = sentences.length ? `Saved: picture ${one.picture + 1}, sentence ${numbers}.`
    : `Saved: picture ${one.picture + 1} belongs to none.`;
  try {
    await next(key(one) === at ? at : null);
    if (key(one) === at) byId("back").focus();
    say(saved);
  } catch (error) {
    say(`${saved} The next picture cannot be shown: ${error.message}`, true);
  } finally {
    free();
  }
};

const undo = async () => {
  if (busy) return;
  busy = true;
  try {
    const undone = await ask("POST", `${home}/undo`, { reviewer });
    version += 1;
    if (undone.document !== null) {
      await load();
      tellOf(key(undone));
      await next(key(undone));
    }
    say(undone.document === null ? "There is nothing to take back." : `Taken back: picture ${undone.picture + 1}.`);
  } catch (error) {
    say(`Not taken back: ${error.message}`, true);
  } finally {
    free();
  }
};

const skip = () => {
  if (!current) return;
  later.add(key(current));
  at = null;
  next().catch((error) => say(`The server does not answer: ${error.message}`, true));
};

const showPlace = () => {
  const place = text.querySelector(".here");
  if (place) toMiddle(place);
};

const move = (step) => {
  const all = documents.get(current.document).sentences.length;
  mark(Math.min(Math.max((marked ?? (step > 0 ? -1 : all)) + step, 0), all - 1));
  say(`Sentence ${marked + 1}: ${documents.get(current.document).sentences[marked][0]}`);
};

byId("none").addEventListener("click", () => decide([]));
byId("skip").addEventListener("click", skip);
byId("undo").addEventListener("click", undo);
byId("take").addEventListener("click", takePicked);
byId("where").addEventListener("click", showPlace);
byId("several").addEventListener("click", () => byId("several").setAttribute("aria-pressed", !several()));
text.addEventListener("click", (event) => {
  const sentence = event.target.closest("[data-n]");
  if (sentence && getSelection().isCollapsed) choose(+sentence.dataset.n, event.shiftKey);
});
text.addEventListener("mousedown", (event) => event.shiftKey && event.preventDefault()); // it would select text

addEventListener("keydown", (event) => {
  if (!reviewer || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input")) return;
  const pressed = event.key.toLowerCase();
  if (pressed === "enter" && event.target.closest("a")) return;
  if (pressed === "u") return void undo();
  if (!current) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code)?.[1]; // with Shift the key is another sign
  if (digit && (event.shiftKey || pressed === digit)) {
    event.preventDefault();
    const found = documents.get(current.document)?.pictures[current.picture].candidates[+digit - 1];
    if (found) choose(found[0], event.shiftKey);
  } else if (pressed === " " && !event.target.closest("button")) {
    event.preventDefault();
    pick(marked);
  } else if (pressed === "m") byId("several").click();
  else if (pressed === "0" || pressed === "n") decide([]);
  else if (pressed === "s") skip();
  else if (pressed === "p") showPlace();
  else if (pressed === "enter" && !event.target.closest("button")) {
    if (picked.size) takePicked();
    else if (marked !== null) decide([marked]);
  } else if (pressed === "arrowdown" || pressed === "arrowup") {
    event.preventDefault();
    move(pressed === "arrowdown" ? 1 : -1);
  }
});

// --- Who reviews.

const begin = async () => {
  reviewer = field.value.trim();
  if (!reviewer) return;
  localStorage.setItem("reviewer", reviewer);
  try {
    await load();
    told.clear();
    review.pictures.forEach(tell);
    await next(at);
    if (at && (!current || key(current) !== at)) say("That picture cannot be judged: it is not there any more, or not linked yet.", true);
  } catch (error) {
    say(`The server does not answer: ${error.message}`, true);
  }
};
byId("who").addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
field.value = localStorage.getItem("reviewer") ?? "";
if (field.value) begin();
else field.focus();

const renew = calm(async () => {
  const before = new Map(review?.pictures.map((one) => [key(one), one.best]));
  await load().catch((error) => say(`The server does not answer: ${error.message}`, true));
  if (busy) {
    missed = true; // what is said here just now is none of another window
    return;
  }
  for (const one of review?.pictures ?? []) {
    if (before.has(key(one)) && before.get(key(one)) !== one.best) documents.delete(one.document);
  }
  const elsewhere = review?.pictures.filter((one) => told.has(key(one)) && told.get(key(one)) !== answer(one));
  review?.pictures.forEach(tell);
  if (elsewhere?.length) {
    const said = elsewhere.slice(0, 3).map((one) => `picture ${one.picture + 1}, ${answer(one)}`).join("; ");
    say(`${reviewer} in another window: ${said}${elsewhere.length > 3 ? `; and ${elsewhere.length - 3} more` : ""}.`);
  }
});
follow((id) => {
  if (!reviewer || (id !== null && id !== collection)) return;
  if (busy) missed = true;
  else renew();
});
