import { ask, calm, counted, follow, make, teller } from "/static/server.js";

const drop = document.getElementById("drop");
const status = document.getElementById("status");
const list = document.getElementById("documents");

const SAYS = {
  finding: "looking for documents …",
  linking: "linking …",
  learning: "learning from corrections …",
  done: "",
  failed: "cannot be linked",
};

const say = teller(status);

// --- What comes in.

const send = async (files) => {
  if (!files.length) return;
  const size = files.reduce((sum, [, file]) => sum + file.size, 0);
  if (size > +drop.dataset.bytes || files.length > +drop.dataset.files) { // the server would close the connection
    return say(`Not taken: ${counted(files.length, "file")} of ${Math.ceil(size / 2 ** 20)} MB are more than the limit.`, true);
  }
  const form = new FormData();
  for (const [name, file] of files) form.append("files", file, name);
  say(`Sending ${counted(files.length, "file")} …`);
  try {
    const made = await ask("POST", "/v1/collections", form);
    say(`${made.name}: sent. What becomes of it stands below.`);
    await show();
  } catch (error) {
    say(`Not taken: ${error.message}`, true);
  }
};

const inside = async (entry, path) => {
  if (entry.isFile) return [[path + entry.name, await new Promise((good, bad) => entry.file(good, bad))]];
  const reader = entry.createReader();
  const found = [];
  for (;;) { // a reader gives a hundred at a time
    const some = await new Promise((good, bad) => reader.readEntries(good, bad));
    if (!some.length) break;
    for (const each of some) found.push(...await inside(each, `${path}${entry.name}/`));
  }
  return found;
};

for (const kind of ["dragenter", "dragover"]) {
  addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
addEventListener("dragleave", (event) => {
  if (event.relatedTarget === null) drop.classList.remove("over");
});
addEventListener("drop", async (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...event.dataTransfer.files].map((file) => [file.name, file]);
  const found = entries.length ? (await Promise.all(entries.map((entry) => inside(entry, "")))).flat() : plain;
  send(found);
});
document.getElementById("files").addEventListener("change", (event) => {
  send([...event.target.files].map((file) => [file.name, file]));
  event.target.value = "";
});
document.getElementById("folder").addEventListener("change", (event) => {
  send([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file]));
  event.target.value = "";
});
document.getElementById("open")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const path = event.submitter?.value || document.getElementById("path").value; // the button "Open all" has a value
  try {
    const made = await ask("POST", "/v1/collections/path", { path });
    say(`${made.name}: opened. Its documents appear below as they are linked.`);
    await show();
  } catch (error) {
    say(`Not opened: ${error.message}`, true);
  }
});

// --- What is there.

const line = (one) => {
  const title = one.title ?? one.name;
  const numbers = `${counted(one.pictures, "picture")} · ${counted(one.links, "link")}`;
  const name = one.state === "done" ? make("a", { href: `/documents/${one.id}` }, title) : make("span", {}, title);
  const state = { waiting: "waiting", done: numbers, failed: one.problem }[one.state];
  return make(
    "li",
    { class: one.state },
    name,
    make("span", { class: "quiet" }, state ?? ""),
    one.missing ? make("span", { class: "bad" }, `${counted(one.missing, "picture")} not found or not readable`) : null,
    one.state === "done" && one.problem ? make("span", { class: "bad" }, `not linked again: ${one.problem}`) : null,
  );
};

const remove = async (one) => {
  const lost = one.judged ? ` and what was said of ${counted(one.judged, "picture")}` : "";
  if (!confirm(`Remove ${one.name}${lost}?`)) return;
  try {
    await ask("DELETE", `/v1/collections/${one.id}`);
  } catch (error) {
    return say(`Not removed: ${error.message}`, true);
  }
  say(`${one.name}: removed.`);
  await show();
  list.focus();
};

const card = (one) => {
  const done = one.documents.filter((each) => each.state !== "waiting").length;
  const of = one.documents.length;
  const working = ["finding", "linking", "learning"].includes(one.state);
  const name = `name-${one.id}`;
  const said = [
    of ? counted(of, "document") : null,
    one.pictures ? `${one.judged} of ${counted(one.pictures, "picture")} reviewed` : null,
    one.habit,
    one.problem ?? SAYS[one.state],
  ].filter(Boolean).join(" · ");
  return make(
    "article",
    { class: "card", "aria-labelledby": name },
    make("h2", { id: name }, one.name),
    make("p", { class: one.problem ? "bad" : "quiet" }, said),
    one.dropped && one.documents.some((each) => each.missing)
      ? make("p", {}, "Pictures of a text come with it: drop the folder that holds both.") : null,
    working && of ? make("progress", { max: of, value: done, "aria-label": `${done} of ${of} linked` }) : null,
    make("ul", { class: "lines" }, ...one.documents.map(line)),
    make(
      "p",
      { class: "choices" },
      one.pictures ? make("a", { class: "button main", href: `/collections/${one.id}/review` }, "Review") : null,
      one.pictures ? make("a", { class: "button", href: `/collections/${one.id}/alt-text` }, "Alternative texts") : null,
      one.judged ? make("a", { class: "button", href: `/v1/collections/${one.id}/corpus` }, "Take the corpus") : null,
      make("button", { type: "button", onclick: () => remove(one) }, "Remove"),
    ),
  );
};

const show = calm(async () => {
  try {
    const found = await ask("GET", "/v1/collections");
    const focused = document.activeElement?.closest?.(".card")?.querySelector("h2").id;
    list.replaceChildren(
      ...(found.length ? found.map(card) : [make("p", { class: "quiet" }, "Nothing was opened yet.")]),
    );
    if (focused) document.getElementById(focused)?.closest(".card").querySelector(".button, button")?.focus();
  } catch (error) {
    say(`The server does not answer: ${error.message}`, true);
  }
}, 200);

follow(show);
show();
