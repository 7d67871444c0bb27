import { ask, byId, calm, counted, follow, make, teller } from "/static/server.js";

const main = byId("describe"), cards = byId("cards"), out = byId("out");
const collection = main.dataset.collection;
const home = `/v1/collections/${collection}/alt-text`;
const percent = (share) => share > .99 ? ">99 %" : `${Math.round(share * 100)} %`;

let all = null; // the documents, as the server knows them
let current = main.dataset.document ? +main.dataset.document : null; // the document that is looked at
let described = null; // its pictures
let shown = ""; // what the cards were made of
let busy = false;
const typed = new Map(); // by picture what stands in its field and was not accepted yet
const replies = new Map(); // by picture what the vision model said of it; null while it is asked

const say = teller(byId("saved"));
const wanted = (one) => one.missing || one.findings.length > 0;
const isOpen = (one) => wanted(one) && one.said === "nothing";
const visible = () => described.pictures.filter(
  (one) => byId("all").checked || wanted(one) || one.said !== "nothing",
);
const id = (one) => `of-${described.document}-${one.key}`;

// --- What the server knows.

const load = async () => {
  all = await ask("GET", home);
  const open = all.documents.find((one) => one.said < one.wanted);
  if (!all.documents.some((one) => one.document === current)) current = (open ?? all.documents[0])?.document ?? null;
  if (current === null) {
    byId("progress").textContent = "No document is linked yet.";
    return;
  }
  described = await ask("GET", `/v1/documents/${current}/alt-text`);
  render();
};

const render = () => {
  const [pictures, done] = ["wanted", "said"].map((key) => all.documents.reduce((sum, one) => sum + one[key], 0));
  byId("progress").textContent = pictures
    ? `Done: ${done} of ${counted(pictures, "picture")} that have no alternative text, or one with something wrong.`
    : "Nothing to do: every picture has an alternative text, and nothing is wrong with it.";
  renderDocuments();
  const now = JSON.stringify([described, byId("all").checked]);
  if (now !== shown) {
    shown = now;
    renderCards();
  }
  renderOut();
};

const renderDocuments = () => {
  byId("others").hidden = all.documents.length < 2;
  const listed = all.documents.filter(
    (one) => !byId("open-only").checked || one.said < one.wanted || one.document === current || one.accepted,
  );
  const focused = document.activeElement?.dataset?.document;
  byId("documents").replaceChildren(...listed.map((one) => make(
    "li", {}, make(
      "a",
      {
        href: `?document=${one.document}`, "data-document": one.document, "aria-current": one.document === current && "true",
        onclick: (event) => {
          event.preventDefault();
          choose(one.document);
        },
      },
      make("span", {}, one.title ?? one.name), make("span", {}, `${one.said} of ${one.wanted}`),
    ),
  )));
  if (focused) byId("documents").querySelector(`[data-document="${focused}"]`)?.focus();
};

const choose = async (number) => {
  current = number;
  history.replaceState(null, "", `?document=${number}`);
  await load().catch((error) => say(`The server does not answer: ${error.message}`, true));
  byId("pictures").focus();
};

// --- The pictures of a document.

const OUTCOMES = { nothing: "", text: "Accepted; not in the file yet.", decoration: "Decoration; not in the file yet.", "as it is": "Stays as it is.", written: "It is in the file." };

const aboutReply = (reply) => {
  const model = described.captioner;
  if (reply === null) return `${model} looks at the picture …`;
  const said = reply.text ? make("q", { lang: described.language }, reply.text) : "";
  if (reply.problem !== null) return make("span", {}, `${model} made no draft: ${reply.problem}.`, said && " It said: ", said);
  return make("span", {}, `Drafted by ${model}: `, said, " Look at the picture before you accept.");
};

const aboutText = (one) => {
  const reply = replies.get(id(one));
  if (reply === undefined) return aboutFile(one);
  if (reply?.problem === null) return aboutReply(reply);
  return make("span", {}, aboutReply(reply), make("br"), aboutFile(one)); // the field has what it had
};

const aboutFile = (one) => {
  if (one.decorative) return "The file says that it is decoration.";
  if (one.missing) return "Look at the picture, and write what is to be seen.";
  return "It has a text: mend it here, or leave it as it is.";
};

const card = (one) => {
  const name = id(one);
  const facts = [one.source, one.where].filter(Boolean).join(" · ");
  const field = make("textarea", {
    id: `${name}-text`, rows: 2, maxlength: 2000, spellcheck: "true", dir: "auto", lang: described.language,
    "aria-describedby": `${name}-about`, oninput: () => typed.set(name, field.value),
  });
  field.value = typed.get(name) ?? one.text ?? one.alt ?? "";
  return make(
    "article",
    { class: `picture-card${one.said === "nothing" ? "" : " said"}`, id: name, tabindex: -1, "aria-labelledby": `${name}-name` },
    make(
      "div", {},
      one.problem === null
        ? make("img", {
          src: `/v1/documents/${described.document}/pictures/${one.picture}`, loading: "lazy", decoding: "async",
          alt: one.alt || one.caption || `Picture ${one.picture + 1}, without a description yet`,
        })
        : make("p", { class: "unseen quiet" }, `It cannot be shown: ${one.problem}`),
    ),
    make(
      "div", {},
      make("h3", { id: `${name}-name` }, `Picture ${one.picture + 1}`),
      make("p", { class: "place quiet" }, facts),
      one.findings.length ? make("ul", { class: "wrong" }, ...one.findings.map((each) => make(
        "li", { class: each.severity }, make("b", {}, each.rule), ` ${each.message}`,
      ))) : null,
      described.unchecked === null ? make(
        "label", { class: "field-name", for: `${name}-text` }, "Alternative text",
        make("span", { class: "quiet" }, one.alt ? `in the file: “${one.alt}”` : "in the file: none"),
      ) : make("p", {}, one.alt ?? ""),
      described.unchecked === null ? field : null,
      make("p", { class: "from", id: `${name}-about` }, aboutText(one)),
      described.unchecked === null ? make(
        "p", { class: "choices" },
        make("button", { type: "button", "aria-describedby": `${name}-name`, onclick: () => accept(one) }, make("kbd", {}, "Enter"), "Accept"),
        described.captioner !== null && one.problem === null ? make("button", { type: "button", "aria-describedby": `${name}-name`, onclick: () => request(one) }, make("kbd", {}, "A"), `Ask ${described.captioner}`) : null,
        make("button", { type: "button", "aria-describedby": `${name}-name`, onclick: () => decide(one, "") }, make("kbd", {}, "D"), "Decoration"),
        make("button", { type: "button", "aria-describedby": `${name}-name`, onclick: () => decide(one, null) }, make("kbd", {}, "0"), "Leave as it is"),
      ) : null,
      make("p", { class: "outcome" }, OUTCOMES[one.said === "text" && !one.text ? "decoration" : one.said]),
      one.sentences.length ? make(
        "details", { class: "says", open: true }, make("summary", {}, "The text around it; in % how likely a sentence is about it"),
        make("ul", { lang: described.language }, ...one.sentences.map((each) => make(
          "li", { dir: "auto" }, each.text,
          each.confidence === null ? null : make("span", { class: "sure quiet" }, ` ${percent(each.confidence)}`),
        ))),
      ) : null,
    ),
  );
};

const renderCards = () => {
  const before = document.activeElement?.closest?.(".picture-card");
  const field = document.activeElement?.tagName === "TEXTAREA" ? document.activeElement : null;
  const selection = field && [field.selectionStart, field.selectionEnd];
  byId("document-name").replaceChildren(
    make("a", { href: `/documents/${described.document}` }, described.title ?? described.name),
  );
  const pictures = visible();
  byId("about").textContent = described.unchecked
    ?? (pictures.length ? "" : "Nothing to do here: every picture has an alternative text, and nothing is wrong with it.");
  byId("all-label").hidden = described.pictures.every((one) => wanted(one) || one.said !== "nothing");
  cards.replaceChildren(...pictures.map(card));
  byId("elsewhere").replaceChildren(...(described.elsewhere.length ? [make(
    "div", { class: "elsewhere" }, make("h3", {}, "Outside of the text, such as in a menu: change these in the file"),
    make("ul", { class: "wrong" }, ...described.elsewhere.map((each) => make(
      "li", { class: each.severity }, make("b", {}, each.rule), ` ${each.message} (${[each.source, each.where].filter(Boolean).join(" · ")})`,
    ))),
  )] : []));
  if (!before) return;
  const again = byId(before.id);
  const target = field ? again?.querySelector("textarea") : again;
  target?.focus({ preventScroll: true });
  if (field && target) target.setSelectionRange(...selection);
};

// --- Into the files.

const renderOut = () => {
  const some = all.documents.filter((one) => one.accepted);
  out.hidden = !some.length;
  if (!some.length) return;
  const own = some.filter((one) => one.document === current);
  const texts = some.reduce((sum, one) => sum + one.accepted, 0);
  const focused = out.contains(document.activeElement) ? document.activeElement.textContent : null;
  const button = (label, documents) => make(
    "button", { type: "button", class: "button main", onclick: () => write(documents) }, label,
  );
  out.replaceChildren(
    make("h2", {}, `${counted(texts, "text")} accepted, and not in ${texts === 1 ? "its file" : "the files"} yet`),
    make("p", { class: "quiet" }, all.writes
      ? "Nothing but the alternative texts is changed. A file that has changed since it was read is left alone."
      : "This server changes no files here. Take copies of them with the texts in them; nothing else in them is changed."),
    make(
      "p", { class: "choices" },
      all.writes && own.length ? button(`Write ${counted(own[0].accepted, "text")} into ${own[0].name}`, own) : null,
      all.writes && some.length > own.length ? button(`Write ${counted(texts, "text")} into ${counted(some.length, "file")}`, some) : null,
      make("a", { class: "button", href: `${home}/files` }, "Take the changed files"),
    ),
  );
  if (focused) [...out.querySelectorAll("button, a")].find((each) => each.textContent === focused)?.focus();
};

const write = async (documents) => {
  if (busy) return;
  busy = true;
  const told = [];
  let written = 0, bad = false;
  for (const one of documents) {
    try {
      const done = await ask("POST", `/v1/documents/${one.document}/alt-text/write`);
      written += done.written;
      told.push(...done.problems.map((each) => `${one.name}: ${each}`));
      bad ||= done.problems.length > 0;
    } catch (error) {
      told.push(`${one.name}: ${error.message}`);
      bad = true;
    }
  }
  busy = false;
  say([`Wrote ${counted(written, "text")}.`, ...told].join(" "), bad);
  await load().catch((error) => say(`${byId("saved").textContent} The server does not answer: ${error.message}`, true));
  byId("pictures").focus();
};

// --- What is said.

const decide = async (one, text) => {
  if (busy) return;
  busy = true;
  try {
    await ask("POST", `/v1/documents/${described.document}/alt-text`, { key: one.key, text });
    typed.delete(id(one));
    say(`Saved: picture ${one.picture + 1} ${text === null ? "stays as it is" : text ? "has a text" : "is decoration"}.`);
    await load();
    next(one);
  } catch (error) {
    say(`Not saved: ${error.message}`, true);
  } finally {
    busy = false;
  }
};

const accept = (one) => {
  const text = byId(`${id(one)}-text`).value.trim();
  if (!text) return say(`Picture ${one.picture + 1}: write a text, say that the picture is decoration, or leave it as it is.`, true);
  if (text === one.alt) return say(`Picture ${one.picture + 1} has this text: change it, or leave the picture as it is.`, true);
  decide(one, text);
};

const request = async (one) => {
  const name = id(one), before = typed.get(name);
  if (described.captioner === null || one.problem !== null || replies.get(name) === null) return;
  replies.set(name, null);
  renderCards();
  try {
    const reply = await ask("POST", `/v1/documents/${described.document}/alt-text/draft`, { key: one.key });
    replies.set(name, reply);
    if (reply.problem === null && typed.get(name) === before) typed.set(name, reply.text); // what somebody types meanwhile stays
    say(reply.problem === null ? `Picture ${one.picture + 1} has a draft.` : `Picture ${one.picture + 1} has no draft.`);
  } catch (error) {
    replies.delete(name);
    say(`No draft: ${error.message}`, true);
  }
  renderCards();
};

const undo = async () => {
  if (busy) return;
  busy = true;
  try {
    const undone = await ask("POST", `${home}/undo`);
    if (undone.document === null) say("There is nothing to take back that is not in a file.");
    else {
      current = undone.document;
      await load();
      const one = described.pictures.find((each) => each.key === undone.key);
      say(one ? `Taken back: picture ${one.picture + 1}.` : "Taken back.");
      if (one) go(one);
    }
  } catch (error) {
    say(`Not taken back: ${error.message}`, true);
  } finally {
    busy = false;
  }
};

// --- From picture to picture.

const go = (one, edit = false) => {
  const element = byId(id(one));
  element?.scrollIntoView({ block: element.offsetHeight > innerHeight ? "start" : "nearest" });
  (edit ? element?.querySelector("textarea") : element)?.focus({ preventScroll: true });
};

const next = (one) => {
  const open = described.pictures.filter(isOpen);
  const after = open.find((each) => each.picture > one.picture) ?? open[0];
  if (after) return go(after);
  say(`${byId("saved").textContent} Nothing is open in this document.`);
  (out.querySelector("button, a") ?? byId("pictures")).focus();
};

const focused = () => {
  const card_ = document.activeElement?.closest?.(".picture-card");
  return card_ ? described.pictures.find((one) => id(one) === card_.id) : null;
};

addEventListener("keydown", (event) => {
  if (!described || event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  const one = focused();
  if (event.target.tagName === "TEXTAREA") {
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault(); // an alternative text is one line
      accept(one);
    } else if (event.key === "Escape") go(one);
    return;
  }
  if (event.target.closest("input, summary")) return;
  const pressed = event.key.toLowerCase();
  if (pressed === "u") undo();
  else if (pressed === "arrowdown" || pressed === "arrowup") {
    const pictures = visible();
    const at = pictures.indexOf(one);
    const to = one ? pictures[at + (pressed === "arrowdown" ? 1 : -1)] : pictures[0];
    if (!to) return;
    event.preventDefault();
    go(to);
  } else if (pressed === "s") {
    const open = described.pictures.filter(isOpen);
    const to = open.find((each) => !one || each.picture > one.picture) ?? open[0];
    if (to) go(to);
  } else if (described.unchecked !== null || !one) return;
  else if (pressed === "e") {
    event.preventDefault(); // or the letter stands in the field
    go(one, true);
  } else if (pressed === "d") decide(one, "");
  else if (pressed === "a") request(one);
  else if (pressed === "0") decide(one, null);
  else if (pressed === "enter" && !event.target.closest("button, a")) accept(one);
});

byId("open-only").addEventListener("change", renderDocuments);
byId("all").addEventListener("change", render);

let first = true;
const renew = calm(async () => {
  if (!busy) await load().catch((error) => say(`The server does not answer: ${error.message}`, true));
  if (!first || !described) return;
  first = false;
  const open = described.pictures.find(isOpen);
  if (open) byId(id(open))?.focus({ preventScroll: true }); // the page begins at its top
});
follow((changed) => (changed === null || changed === collection) && renew());
