// What the pages ask the server, and how they make elements. Text goes in as text; nothing here parses markup.

export const ask = async (method, path, body) => {
  const json = body !== undefined && !(body instanceof FormData);
  const answer = await fetch(path, {
    method,
    headers: json ? { "content-type": "application/json" } : {},
    body: json ? JSON.stringify(body) : body,
  });
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  const said = await answer.text();
  let detail = said;
  try {
    detail = JSON.parse(said).detail;
  } catch {} // what the guard says is plain text
  throw new Error(typeof detail === "string" ? detail.trim() : `the server refused it (${answer.status})`);
};

export const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
};

export const byId = (id) => document.getElementById(id);

// Says in an element what came of something.
export const teller = (element) => (words, bad = false) => {
  element.textContent = words;
  element.classList.toggle("bad", bad);
};

// Takes what is dropped anywhere on the page; an element is marked as long as something is held over the page.
export const onDrop = (element, take) => {
  for (const kind of ["dragenter", "dragover"]) {
    addEventListener(kind, (event) => {
      event.preventDefault(); // or the browser would open the file
      element.classList.add("over");
    });
  }
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) element.classList.remove("over"); // it has left the window, not one element
  });
  addEventListener("drop", (event) => {
    event.preventDefault();
    element.classList.remove("over");
    take(event.dataTransfer);
  });
};

// The same work: asked for meanwhile, it is done once more, never twice at once, and with a pause after each.
export const calm = (work, pause = 300) => {
  let asking = false, again = false;
  return async () => {
    again = true;
    if (asking) return;
    asking = true;
    while (again) {
      again = false;
      await work();
      await new Promise((done) => setTimeout(done, pause));
    }
    asking = false;
  };
};

export const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

// Calls back whenever a collection has changed, and once the stream is open: something may have happened before.
export const follow = (changed) => {
  const events = new EventSource("/v1/events");
  events.addEventListener("hello", () => changed(null));
  events.addEventListener("collection", (event) => changed(JSON.parse(event.data).id));
  return events;
};
