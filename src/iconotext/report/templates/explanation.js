"use strict";
// Why a link: a heat map over the picture and a shading of the words. Beside reading.js, which says what is looked at.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const reading = document.getElementById("reading");
  const viewer = document.getElementById("viewer");
  const toggle = document.getElementById("why");
  const SIDE = 72, BLUR = 5, PASSES = 3; // of a map: pixels a side, radius and number of its blurs
  const LEAST = .005; // as in carried.py: a map whose strongest place falls by less shows nothing

  // From nothing to the strongest place: red, green, blue, opacity. A veil lies on what does not matter.
  const STOPS = [
    [0, 12, 14, 34, .62], [.3, 52, 18, 66, .44], [.55, 176, 42, 54, .3], [.78, 244, 120, 24, .34], [1, 255, 208, 64, .5],
  ];
  const colour = (t) => {
    const n = Math.max(1, STOPS.findIndex(([at]) => at >= t));
    const [low, high] = [STOPS[n - 1], STOPS[n]], share = (t - low[0]) / (high[0] - low[0]);
    return low.slice(1).map((value, i) => value + share * (high[i + 1] - value));
  };

  const why = ({ number }) => {
    if (!data.why[number]) return null;
    const [words, boxes, weights, carried] = data.why[number];
    return { words, boxes: data.boxes[boxes], weights, carried };
  };

  // The mean of the 2 BLUR + 1 pixels around each pixel of a row or column; beyond the edge, the edge goes on.
  const blurred = (field, step, across) => {
    const smooth = new Float32Array(SIDE * SIDE);
    for (let line = 0; line < SIDE; line++) for (let i = 0; i < SIDE; i++) {
      let sum = 0;
      for (let d = -BLUR; d <= BLUR; d++) sum += field[line * across + Math.min(SIDE - 1, Math.max(0, i + d)) * step];
      smooth[line * across + i * step] = sum / (2 * BLUR + 1);
    }
    return smooth;
  };

  const paint = (canvas, { boxes, weights }) => {
    const strongest = Math.max(...weights);
    let field = new Float32Array(SIDE * SIDE);
    boxes.forEach((box, n) => {
      const [left, top, right, bottom] = box.map((edge) => Math.round(edge * SIDE));
      for (let y = top; y < bottom; y++) for (let x = left; x < right; x++)
        field[y * SIDE + x] = Math.max(field[y * SIDE + x], weights[n] / strongest);
    });
    for (let pass = 0; pass < PASSES; pass++) field = blurred(blurred(field, 1, SIDE), SIDE, 1);
    const peak = field.reduce((most, value) => Math.max(most, value), 1e-9);
    const context = canvas.getContext("2d"), pixels = context.createImageData(SIDE, SIDE);
    field.forEach((value, n) => {
      const [red, green, blue, opacity] = colour(value / peak);
      pixels.data.set([red, green, blue, 255 * opacity], 4 * n);
    });
    context.putImageData(pixels, 0, 0);
  };

  // A map, and below it the words, over a picture. Screen readers are told the words where the picture is described.
  const heat = (holder, found) => {
    let layer = holder.querySelector(".heat");
    if (!layer) {
      layer = Object.assign(document.createElement("span"), { className: "heat" });
      layer.setAttribute("aria-hidden", "true");
      const canvas = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
      layer.append(canvas, Object.assign(document.createElement("span"), { className: "carried", dir: "auto" }));
      holder.append(layer);
    }
    const [canvas, carried] = layer.children;
    canvas.hidden = !found.weights.some((weight) => weight >= LEAST);
    if (!canvas.hidden) paint(canvas, found);
    carried.textContent = found.carried && `carried by: ${found.carried}`;
    carried.hidden = !found.carried;
  };
  const cool = (holder) => holder.querySelector(".heat")?.remove();

  // Every word in an element of its own. A sentence is cut when it is first looked at; its text stays what it was.
  const cuts = new WeakMap();
  const cut = (element, words) => {
    const pieces = words.map(() => []), nodes = [];
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) nodes.push(walker.currentNode);
    let at = 0;
    for (const node of nodes) {
      const text = node.data, parts = document.createDocumentFragment();
      let done = 0;
      words.forEach(([begin, end], n) => {
        const from = Math.max(done, begin - at), to = Math.min(text.length, end - at);
        if (from >= to) return;
        const piece = Object.assign(document.createElement("span"), { className: "w", textContent: text.slice(from, to) });
        parts.append(text.slice(done, from), piece);
        pieces[n].push(piece);
        done = to;
      });
      parts.append(text.slice(done));
      node.replaceWith(parts);
      at += text.length;
    }
    return pieces;
  };
  const shade = (element, { words }) => {
    if (!cuts.has(element)) cuts.set(element, cut(element, words));
    const strongest = Math.max(LEAST, ...words.map(([, , weight]) => weight));
    cuts.get(element).forEach((pieces, n) => {
      const [, , weight, strong] = words[n];
      for (const piece of pieces) {
        piece.style.setProperty("--w", Math.max(0, weight / strongest).toFixed(3));
        piece.classList.toggle("strong", strong === 1);
      }
    });
    element.classList.add("shaded");
  };

  // --- Beside the text: of several links of a picture, that of the sentence looked at before, else the strongest, which
  // comes first. So who goes from a sentence to its picture, by a tap or an arrow key, sees there why that sentence.

  let chosen = [], shown = [], before = new Set();
  const first = (some) => [...some].sort((a, b) => before.has(b) - before.has(a));
  const update = () => {
    for (const undo of shown) undo();
    shown = [];
    if (!toggle.checked) return;
    const seen = new Set();
    for (const link of first(chosen)) {
      const found = why(link);
      if (!found) continue;
      const sentence = reading.querySelector(`[data-sentence="${link.sentence}"]`);
      const frame = reading.querySelector(`[data-open="${link.image}"]`);
      if (!seen.has(sentence)) {
        shade(sentence, found);
        shown.push(() => sentence.classList.remove("shaded"));
      }
      if (!seen.has(frame) && frame.querySelector("img")) {
        heat(frame, found);
        shown.push(() => cool(frame));
      }
      seen.add(sentence).add(frame);
    }
  };
  reading.addEventListener("look", ({ detail }) => {
    chosen = detail;
    if (chosen.length && chosen.every((link) => link.sentence === chosen[0].sentence)) before = new Set(chosen);
    update();
  });

  // --- In the dialog: the map of the sentence that is pointed at.

  let dialog = () => {};
  viewer.addEventListener("show", ({ detail: own }) => {
    const content = document.getElementById("viewer-content"), picture = content.querySelector("img");
    cool(content);
    const explained = own.filter(why);
    dialog = () => {};
    if (!picture || !explained.length) return;
    const holder = Object.assign(document.createElement("div"), { className: "heated" });
    picture.replaceWith(holder);
    holder.append(picture);
    const entries = [...content.querySelectorAll("ol > li")];
    const about = Object.assign(document.createElement("p"), { className: "explained" });
    about.textContent = "The warm places and the shaded words carry what the picture shows; point at a sentence for its own. "
      + "Caption, place and mentions have no part in them.";
    content.querySelector(".explained").after(about);
    let [current] = first(explained);
    dialog = () => {
      about.hidden = !toggle.checked;
      own.forEach((link, n) => {
        const quote = entries[n].querySelector(".quote"), found = why(link);
        if (found && toggle.checked) shade(quote, found);
        else quote.classList.remove("shaded");
        entries[n].classList.toggle("current", toggle.checked && explained.length > 1 && link === current);
      });
      if (toggle.checked) heat(holder, why(current));
      else cool(holder);
    };
    own.forEach((link, n) => {
      if (!why(link)) return;
      const quote = entries[n].querySelector(".quote"), { carried } = why(link);
      if (carried) quote.setAttribute("aria-description", `Carried by: ${carried}`);
      for (const event of ["pointerenter", "focusin"])
        entries[n].addEventListener(event, () => { current = link; dialog(); });
    });
    dialog();
  });

  toggle.addEventListener("change", () => { update(); dialog(); });
})();
