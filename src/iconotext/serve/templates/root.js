// A folder of the root: what is opened goes to the list, as a collection.
import { ask, byId, teller } from "/static/server.js";

const say = teller(byId("status"));

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-path]");
  if (!button) return;
  try {
    const made = await ask("POST", "/v1/collections/path", { path: button.dataset.path });
    location.assign(`/?collection=${made.id}`);
  } catch (error) {
    say(`Not opened: ${error.message}`, true);
  }
});
