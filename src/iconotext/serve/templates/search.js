// The search: the page is a form, and what is asked is its address. Here are an example picture, and the relations.
import { ask, byId, make, onDrop, teller } from "/static/server.js";

const form = byId("ask");
const chips = [...form.querySelectorAll(".chip")];

const say = teller(byId("status"));

form.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (!value.trim()) formData.delete(name); // a short address
});
form.addEventListener("submit", (event) => {
  const { sentence, picture } = form.elements;
  if (sentence.value.trim() || picture.value) return say("Searching …");
  event.preventDefault();
  say("Write a sentence, or give a picture, to search for.");
  sentence.focus();
});
addEventListener("pageshow", (event) => event.persisted && say("")); // the way back leads to a page that was searching

// --- Relations: one, or none; pressed again, none.

for (const chip of chips) {
  chip.addEventListener("click", () => {
    const pressed = chip.getAttribute("aria-pressed") === "true";
    for (const each of chips) each.setAttribute("aria-pressed", each === chip && !pressed);
    form.elements.relation.value = pressed ? "" : chip.dataset.relation;
    if (!form.elements.sentence.value.trim() && !form.elements.picture.value) return;
    sessionStorage.setItem("focus", chip.id); // whoever uses the keyboard goes on from here
    form.requestSubmit();
  });
}
chips.find((chip) => chip.getAttribute("aria-pressed") === "true")?.scrollIntoView({ block: "nearest" }); // on a phone
byId(sessionStorage.getItem("focus"))?.focus({ preventScroll: true });
sessionStorage.removeItem("focus");

// "More pictures" leads to the first new one, which may be folded.
const folded = byId(location.hash.slice(1))?.closest("details");
if (folded) {
  folded.open = true;
  folded.querySelector(`[id="${location.hash.slice(1)}"]`).scrollIntoView();
}

// --- A picture to be like.

const like = async (file) => {
  if (!file) return;
  say("Sending the picture …");
  const data = new FormData();
  data.append("files", file, "example");
  try {
    form.elements.picture.value = (await ask("POST", "/v1/search/pictures", data)).id;
    form.requestSubmit();
  } catch (error) {
    say(`Not taken: ${error.message}`, true);
  }
};
byId("example")?.addEventListener("change", (event) => like(event.target.files[0]));
onDrop(document.body, (data) => like(data.files[0]));

// --- What was found: enlarged, it is shown as large as there is; one that cannot be shown says so.

const enlarge = () => {
  const picture = document.querySelector(".zoom:target img");
  if (picture) picture.src = picture.dataset.large;
};
addEventListener("hashchange", enlarge);
enlarge();
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.querySelector(".zoom:target")) location.hash = "results";
});
const lost = (picture) => {
  picture.closest(".zoom").replaceWith(make("p", { class: "missing" }, "gone, or another picture by now"));
};
for (const picture of document.querySelectorAll(".zoom img")) {
  picture.addEventListener("error", () => lost(picture));
  if (picture.complete && !picture.naturalWidth) lost(picture); // before this script ran
}
