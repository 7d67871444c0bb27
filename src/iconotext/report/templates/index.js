"use strict";
// Which documents the list shows: those with every word of the filter in their title or path.
(() => {
  const filter = document.getElementById("filter");
  if (!filter) return;
  const documents = [...document.querySelectorAll("#documents li")].map((element) => {
    const words = [".name", ".path"].map((part) => element.querySelector(part).textContent);
    return { element, text: words.join("\n").toLowerCase() };
  });
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const { element, text } of documents) {
      element.hidden = !words.every((word) => text.includes(word));
      shown += !element.hidden;
    }
    document.getElementById("shown").textContent = filter.value.trim() ? `${shown} of ${documents.length}` : "";
  };
  document.documentElement.classList.add("js");
  filter.addEventListener("input", show);
  show(); // a browser that comes back may have kept the words
})();
