// The pages of models: training that goes on is followed, and a model is measured.
import { ask, teller } from "/static/server.js";

const PAUSE = 4000; // ms between two looks at a model that is being trained
const status = document.getElementById("status");
const measure = document.getElementById("measure");

const say = teller(status);

// Curves grow: each new epoch asks for the drawings again. A model that has ended has another page.
const training = [...document.querySelectorAll("[data-training]")];
const known = new Map();
const look = async () => {
  for (const element of training) {
    const name = element.dataset.training;
    try {
      const model = await ask("GET", `/v1/models/${encodeURIComponent(name)}`);
      const epoch = model.epochs.at(-1) ?? 0;
      if (model.state !== "training" || (known.get(name) === 0 && epoch)) return location.reload();
      if (known.has(name) && known.get(name) !== epoch) {
        say(`${name}: epoch ${epoch}.`);
        element.textContent = `Epoch ${epoch}, written just now.`;
        for (const image of document.querySelectorAll(".chart img, .chart source")) {
          const attribute = image.src === undefined || image.localName === "source" ? "srcset" : "src";
          image.setAttribute(attribute, image.getAttribute(attribute).replace(/v=.*$/, `v=${epoch}`));
        }
      }
      known.set(name, epoch);
    } catch (error) {
      say(`The server does not answer: ${error.message}`, true);
    }
  }
  setTimeout(look, PAUSE);
};
if (training.length) look();

// --- Measuring.

const home = measure && `/v1/models/${encodeURIComponent(measure.dataset.model)}/evaluation`;
const progress = measure?.querySelector("progress");
const follow = async () => {
  try {
    const found = await ask("GET", home);
    if (found.state === "done" || found.state === "failed") {
      location.hash = "measured"; // where one goes on reading
      return location.reload();
    }
    progress.hidden = false;
    progress.max = found.of || 1;
    progress.value = found.done;
    say(found.of ? `${found.done} of ${found.of} documents measured.` : "Loading the model …");
  } catch (error) {
    say(`The server does not answer: ${error.message}`, true);
  }
  setTimeout(follow, 1000);
};
document.getElementById("begin")?.addEventListener("click", async (event) => {
  event.target.disabled = true;
  try {
    await ask("POST", home);
    follow();
  } catch (error) {
    event.target.disabled = false;
    say(`Not measured: ${error.message}`, true);
  }
});
if (measure && !document.getElementById("begin")) follow();
