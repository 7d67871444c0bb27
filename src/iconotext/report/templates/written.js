
"use strict";
// The words that were read in a picture, when it is shown large: a list of them, and where each stands.
(() => {
  const { images } = JSON.parse(document.getElementById("data").textContent);
  const content = document.getElementById("viewer-content");
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  document.getElementById("viewer").addEventListener("show", () => {
    const picture = content.querySelector("img"), lines = images[content.dataset.image].lines ?? [];
    if (!picture || !lines.length) return;
    const holder = make("div", { className: "written" }), list = make("ul", { className: "lines" });
    picture.replaceWith(holder);
    holder.append(picture);
    for (const [text, ...edges] of lines) {
      const [left, top, right, bottom] = edges.map((edge) => edge * 100);
      const place = make("span", { className: "place", title: text, ariaHidden: "true" });
      Object.assign(place.style, { left: `${left}%`, top: `${top}%`, width: `${right - left}%`, height: `${bottom - top}%` });
      const entry = make("li", { dir: "auto", tabIndex: 0 }, text);
      const point = (on) => () => {
        for (const element of [place, entry]) element.classList.toggle("on", on);
      };
      for (const element of [place, entry]) {
        element.addEventListener("pointerenter", point(true));
        element.addEventListener("pointerleave", point(false));
      }
      entry.addEventListener("focus", point(true));
      entry.addEventListener("blur", point(false));
      holder.append(place);
      list.append(entry);
    }
    content.querySelector("dl").append(make("dt", {}, "Words in the picture"), make("dd", {}, list));
  });
})();
