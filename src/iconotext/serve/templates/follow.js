// In the reading view of a file that is followed: once it was linked again, show it as it is now, where the reader was.

const own = document.querySelector("script[data-document]");
const number = +own.dataset.document, address = `/documents/${number}`, memory = `place-${number}`;
const viewer = document.getElementById("viewer"), minimum = document.getElementById("minimum");
const sentences = () => [...document.querySelectorAll("#text [id^=s]")];

// --- What is said of it.

const status = document.createElement("p");
status.setAttribute("role", "status");
Object.assign(status.style, {
  position: "fixed", insetInlineStart: "1rem", bottom: "1rem", margin: 0, padding: ".4rem .9rem", borderRadius: "8px",
  background: "var(--card)", color: "var(--ink)", border: "1px solid var(--rule)", font: ".9375rem/1.5 var(--sans)", zIndex: 9,
});
const say = (words, seconds) => {
  status.textContent = words;
  status.hidden = !words;
  if (seconds) setTimeout(() => say(""), seconds * 1000);
};
say("");
document.body.append(status);

// --- Where the reader is: the first sentence in the window, known by its words, for its number may be another one.

const place = () => {
  const all = sentences();
  const first = all.findIndex((one) => one.getBoundingClientRect().bottom > 0);
  return {
    // The neighbours help where that sentence itself was changed.
    words: all.slice(Math.max(first, 0), first + 5).map((one) => one.textContent),
    tops: all.slice(Math.max(first, 0), first + 5).map((one) => one.getBoundingClientRect().top),
    first, scroll: scrollY, focus: document.activeElement?.id, minimum: minimum?.value,
  };
};

const comeBack = (before) => {
  if (minimum && before.minimum !== minimum.value) {
    minimum.value = before.minimum;
    minimum.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (before.focus) document.getElementById(before.focus)?.focus({ preventScroll: true });
  const all = sentences();
  for (const [n, words] of before.words.entries()) {
    const same = all.map((one, at) => [Math.abs(at - before.first - n), one]).filter(([, one]) => one.textContent === words);
    if (!same.length) continue;
    const [, nearest] = same.reduce((best, one) => (one[0] < best[0] ? one : best));
    return scrollTo(0, scrollY + nearest.getBoundingClientRect().top - before.tops[n]);
  }
  scrollTo(0, before.scroll);
};

const remembered = sessionStorage.getItem(memory);
if (remembered) {
  sessionStorage.removeItem(memory);
  history.scrollRestoration = "manual";
  requestAnimationFrame(() => {
    comeBack(JSON.parse(remembered));
    history.scrollRestoration = "auto";
    say("The file has changed: this is how it is now.", 6);
  });
}

// --- What the server tells.

let told = "";
const look = async () => {
  const answer = await fetch(address, { headers: { "if-none-match": `"${own.dataset.now}"` }, cache: "no-store" });
  if (answer.status !== 200 && answer.status !== 304) return;
  const problem = decodeURIComponent(answer.headers.get("iconotext-problem") ?? "");
  if (problem !== told) say(problem && `This is how the file was before. Now it cannot be linked: ${problem}`);
  told = problem;
  if (answer.status === 304) return;
  if (viewer.open) await new Promise((closed) => viewer.addEventListener("close", closed, { once: true }));
  sessionStorage.setItem(memory, JSON.stringify(place()));
  location.reload();
};

let events = null;
const listen = () => { // only while it is seen: a browser opens no more than six connections to a server
  events?.close();
  events = document.hidden ? null : new EventSource("/v1/events");
  events?.addEventListener("hello", () => look().catch(() => {})); // where the server is gone: once it is back
  events?.addEventListener("collection", (event) => {
    if (JSON.parse(event.data).document === number) look().catch(() => {});
  });
};
document.addEventListener("visibilitychange", listen);
listen();
