import { ask, byId, calm, counted, follow, onDrop, teller } from "/static/server.js";

const drop = byId("drop"), list = byId("documents");
const STOPS = "a, button, summary"; // of the keyboard

const say = teller(byId("status"));

// --- What comes in.

const send = async (files) => {
  if (!files.length) return;
  const size = files.reduce((sum, [, file]) => sum + file.size, 0);
  if (size > +drop.dataset.bytes || files.length > +drop.dataset.files) { // the server would close the connection
    const limits = `${counted(+drop.dataset.bytes, "byte")} in ${counted(+drop.dataset.files, "file")}`;
    return say(`Not taken: ${counted(size, "byte")} in ${counted(files.length, "file")}, and at most ${limits} are taken at once.`, true);
  }
  const form = new FormData();
  for (const [name, file] of files) form.append("files", file, name);
  say(`Sending ${counted(files.length, "file")} …`);
  try {
    const made = await ask("POST", "/v1/collections", form);
    say(`${made.name}: sent. What becomes of it stands below.`);
    await showNew();
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

onDrop(drop, async (data) => {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...data.files].map((file) => [file.name, file]);
  send(entries.length ? (await Promise.all(entries.map((entry) => inside(entry, "")))).flat() : plain);
});
for (const id of ["files", "folder"]) {
  byId(id).addEventListener("change", (event) => {
    send([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file])); // a path for a folder's
    event.target.value = "";
  });
}
byId("open")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const path = event.submitter?.value || byId("path").value; // the button "Open all" has a value
  try {
    const made = await ask("POST", "/v1/collections/path", { path });
    say(`${made.name}: opened. Its documents appear below as they are linked.`);
    await showNew();
  } catch (error) {
    say(`Not opened: ${error.message}`, true);
  }
});

// --- What is there. The server makes the list; here it is fetched again, and stays as it was folded.

const remove = async ({ remove: id, name, judged }) => {
  const lost = +judged ? ` and what was said of ${counted(+judged, "picture")}` : "";
  if (!confirm(`Remove ${name}${lost}?`)) return;
  try {
    await ask("DELETE", `/v1/collections/${id}`);
  } catch (error) {
    return say(`Not removed: ${error.message}`, true);
  }
  say(`${name}: removed.`);
  await show();
  list.focus();
};
list.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove]");
  if (button) remove(button.dataset);
});
byId("sort")?.addEventListener("change", (event) => event.target.form.requestSubmit());

const show = calm(async () => {
  try {
    const answer = await fetch(location.href);
    if (!answer.ok) throw new Error(await answer.text());
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("documents");
    for (const old of list.querySelectorAll("details")) {
      const same = found.querySelector(`#${old.id}`);
      if (same) same.open = old.open;
    }
    const focused = document.activeElement?.closest?.(".card")?.id;
    const number = focused ? [...document.activeElement.closest(".card").querySelectorAll(STOPS)].indexOf(document.activeElement) : -1;
    list.replaceChildren(...found.childNodes);
    if (number >= 0) [...list.querySelectorAll(`#${focused} :is(${STOPS})`)].at(number)?.focus();
  } catch (error) {
    say(`The server does not answer: ${error.message}`, true);
  }
}, 500);

// A filter, or a later page, would hide what was just added.
const showNew = () => (location.search ? location.assign("/") : show());

follow(show);
