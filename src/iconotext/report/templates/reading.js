"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const reading = document.getElementById("reading");
  const threads = document.getElementById("threads");
  const viewer = document.getElementById("viewer");
  const beside = matchMedia("screen and (min-width: 44rem)"); // as in the style sheet
  const HUES = 6, SVG = "http://www.w3.org/2000/svg";
  const SPACE = 28; // pixels between two pictures
  const LARGEST = 14, SMALLEST = 7.5; // rem; how high a picture beside the text may be
  const NEAR = 300; // pixels beyond the window in which threads are drawn all the same
  const NAMES = {
    picture: "What the picture shows", caption: "Caption and alt text", text: "Words in the picture",
    layout: "Place in the document", reference: "Mention in the text",
  };

  const links = data.links.map(([sentence, image, score, confidence, paragraph, evidence], number) => (
    { number, sentence, image, score, confidence, paragraph, evidence, drawn: null, y: null }
  ));
  const group = (key) => {
    const groups = new Map();
    for (const link of links) groups.set(link[key], [...(groups.get(link[key]) ?? []), link]);
    return groups;
  };
  const bySentence = group("sentence"), byImage = group("image");
  const sentences = new Map([...reading.querySelectorAll("[data-sentence]")].map((e) => [+e.dataset.sentence, e]));
  const pictures = new Map([...reading.querySelectorAll("[data-picture]")].map((e) => [+e.dataset.picture, e]));
  const strongest = links.reduce((most, link) => Math.max(most, ...link.evidence.map(Math.abs)), 1e-9);
  const mirrored = reading.dir === "rtl"; // the pictures stand on the left
  let minimum = 0;
  const shows = (link) => link.confidence * 100 >= minimum;
  const percent = (p) => p > 0 && p < .01 ? "<1\u00a0%" : p > .99 && p < 1 ? ">99\u00a0%" : `${Math.round(p * 100)}\u00a0%`;
  const guesses = new Set([...pictures].filter(([, e]) => e.classList.contains("guess")).map(([number]) => number));
  const width = (link) => guesses.has(link.image) ? 1 : 1 + 5 * link.confidence; // of a thread
  const hue = (image) => `var(--c${image % HUES})`;

  document.documentElement.classList.add("js");
  reading.classList.toggle("linked", links.length > 0);
  for (const copy of document.querySelectorAll("img[data-same]"))
    copy.src = document.querySelector(`[data-open="${copy.dataset.same}"] img`).src;

  const contents = document.querySelector(".contents details");
  if (contents) contents.open = beside.matches;

  // The size of a picture must not depend on whether it has been decoded yet.
  for (const picture of document.querySelectorAll(".frame img")) {
    const ratio = picture.getAttribute("width") / picture.getAttribute("height");
    picture.parentElement.style.setProperty("--ratio", ratio);
    picture.parentElement.style.setProperty("--natural", `${picture.getAttribute("width")}px`);
  }

  // --- Where everything is. All is measured before anything is moved, so the browser lays the page out once.

  // Tops that come as near as they can to the wished ones, in order and without overlap: neighbours that collide
  // form a cluster, which stands where the mean of its wishes is.
  const spread = (items, least) => {
    const clusters = [];
    for (const item of items) {
      let next = { items: [item], height: item.height + SPACE, sum: item.wish, count: 1 };
      const top = (c) => Math.max(least, c.sum / c.count);
      while (clusters.length && top(clusters.at(-1)) + clusters.at(-1).height > top(next)) {
        const last = clusters.pop();
        next = {
          items: [...last.items, ...next.items], height: last.height + next.height,
          sum: last.sum + next.sum - next.count * last.height, count: last.count + next.count,
        };
      }
      clusters.push(next);
    }
    let end = 0;
    for (const cluster of clusters) {
      let y = Math.max(least, cluster.sum / cluster.count);
      for (const item of cluster.items) {
        item.top = y;
        y += item.height + SPACE;
      }
      end = y;
    }
    return end;
  };

  const arrange = () => {
    if (!beside.matches || !links.length) {
      threads.replaceChildren();
      for (const link of links) link.drawn = link.y = null;
      return;
    }
    // Where the pictures would need more room than the text has, all of them become smaller.
    reading.style.removeProperty("--room");
    reading.classList.remove("crowded");
    let frames = 0, others = 0;
    for (const element of pictures.values()) {
      frames += element.firstElementChild.offsetHeight;
      others += element.offsetHeight - element.firstElementChild.offsetHeight + SPACE;
    }
    const share = (.9 * document.getElementById("text").offsetHeight - others) / frames;
    if (share < 1) reading.style.setProperty("--room", `${Math.max(SMALLEST, LARGEST * share).toFixed(1)}rem`);
    reading.classList.toggle("crowded", LARGEST * share < SMALLEST);

    const base = reading.getBoundingClientRect();
    const column = document.getElementById("text").getBoundingClientRect();
    const places = new Map();
    const measured = (element) => {
      const rects = element.getClientRects();
      const first = rects[0], last = rects[rects.length - 1];
      return { top: first.top - base.top + 3, bottom: last.bottom - base.top - 3 };
    };
    for (const [number, element] of sentences) places.set(number, measured(element));
    // The middle of a picture is to be at that of its sentence; a guess begins where the text before it ends.
    const wish = (number, { dataset: { after } }, tall) => {
      if (after === undefined) {
        const { top, bottom } = places.get(byImage.get(number)[0].sentence);
        return (top + bottom - tall) / 2;
      }
      return after < 0 ? 0 : measured(document.getElementById(`s${after}`)).bottom;
    };
    const items = [...pictures].map(([number, element]) => {
      const frame = element.firstElementChild;
      const { offsetHeight: height, offsetWidth: width } = element;
      const [tall, broad] = [frame.offsetHeight, frame.offsetWidth];
      return { number, element, height, width, tall, broad, wish: wish(number, element, tall) };
    });
    const end = spread(items, 0);

    for (const item of items) item.element.style.setProperty("--top", `${Math.round(item.top)}px`);
    reading.style.setProperty("--least", `${Math.ceil(end)}px`);
    const [toward, from, to] = mirrored
      ? [-1, column.left - base.left - 16, (item) => item.width]
      : [1, column.right - base.left + 16, (item) => base.width - item.width];
    for (const item of items) {
      // Threads reach the picture along its edge in the order of the sentences, so that they do not cross there.
      const own = [...byImage.get(item.number)].sort((a, b) => a.sentence - b.sentence);
      own.forEach((link, n) => {
        const { top, bottom } = places.get(link.sentence);
        const y = (top + bottom) / 2, target = item.top + item.tall * (n + 1) / (own.length + 1);
        const x = to(item) - toward * 6, start = from + toward * width(link) / 2, bend = (x - start) * .55;
        link.y = [Math.min(top, target), Math.max(bottom, target)];
        link.ends = [y, target];
        link.tick = `M${from} ${top}V${bottom}`;
        link.path = `M${start} ${y}C${start + bend} ${y} ${x - bend} ${target} ${x} ${target}`;
      });
    }
    for (const link of links) {
      link.drawn?.forEach((e) => e.remove());
      link.drawn = null;
    }
    draw();
  };

  const shape = (name, link, d) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", `${name} hue-${link.image % HUES}`);
    path.setAttribute("d", d);
    return path;
  };

  // Only threads with an end near the window are in the page: thousands would make every step of scrolling slow.
  const draw = () => {
    if (!beside.matches) return;
    const top = -reading.getBoundingClientRect().top - NEAR, bottom = top + innerHeight + 2 * NEAR;
    for (const link of links) {
      const near = link.y !== null && shows(link) && link.ends.some((y) => y > top && y < bottom);
      if (near && !link.drawn) {
        const thread = shape("thread", link, link.path);
        thread.setAttribute("stroke-width", width(link).toFixed(2));
        thread.setAttribute("stroke-opacity", (.3 + .55 * link.confidence).toFixed(2));
        thread.dataset.link = link.number;
        link.drawn = [thread, shape("tick", link, link.tick)];
        if (active.links.has(link)) link.drawn.forEach((e) => e.classList.add("on"));
        threads.append(...link.drawn);
      } else if (!near && link.drawn) {
        link.drawn.forEach((e) => e.remove());
        link.drawn = null;
      }
    }
  };

  const once = (work) => {
    let waiting = false;
    return () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; work(); });
    };
  };

  // --- What the reader looks at: the links of one sentence, one picture or one thread.

  // What else is on the page hears of it.
  const tell = (element, name, links) => element.dispatchEvent(new CustomEvent(name, { detail: links }));
  let active = { links: new Set(), elements: [] };
  const look = (chosen) => {
    for (const element of active.elements) {
      element.classList.remove("on");
      element.style.removeProperty("--hue");
    }
    for (const link of active.links) link.drawn?.forEach((e) => e.classList.remove("on")); // maybe drawn since
    active = { links: new Set(chosen), elements: [] };
    reading.classList.toggle("active", chosen.length > 0);
    for (const link of chosen) {
      const sentence = sentences.get(link.sentence), picture = pictures.get(link.image);
      // A sentence that has several pictures takes the colour of the one looked at.
      if (new Set(chosen.map((l) => l.image)).size === 1) sentence.style.setProperty("--hue", hue(link.image));
      active.elements.push(sentence, picture);
      link.drawn?.forEach((e) => {
        e.classList.add("on");
        threads.append(e); // on top of the others
      });
    }
    for (const element of active.elements) element.classList.add("on");
    tell(reading, "look", chosen);
  };
  const linksOf = (target) => {
    if (!(target instanceof Element)) return [];
    if (target.dataset?.link) return [links[+target.dataset.link]];
    const sentence = target.closest("[data-sentence]"), picture = target.closest("[data-picture]");
    const found = sentence ? bySentence.get(+sentence.dataset.sentence)
      : picture ? byImage.get(+picture.dataset.picture) : [];
    return found.filter(shows);
  };
  const focused = () => reading.contains(document.activeElement) ? document.activeElement : null;

  reading.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const found = linksOf(event.target);
    look(found.length ? found : linksOf(focused()));
  });
  reading.addEventListener("pointerleave", () => look(linksOf(focused())));
  reading.addEventListener("focusin", (event) => look(linksOf(event.target)));
  reading.addEventListener("focusout", () => look([]));

  const go = (element) => {
    element?.focus({ preventScroll: true });
    element?.scrollIntoView({ block: "nearest" });
  };
  const frame = (image) => pictures.get(image)?.querySelector("button");

  reading.addEventListener("click", (event) => {
    const more = event.target.closest(".others button"), other = event.target.closest(".others a");
    if (more) more.setAttribute("aria-expanded", more.getAttribute("aria-expanded") === "false");
    if (other) {
      event.preventDefault();
      go(frame(links[+other.dataset.link].image));
    }
    const sentence = event.target.closest("a[data-sentence]");
    if (!sentence) return;
    event.preventDefault();
    const [link] = bySentence.get(+sentence.dataset.sentence).filter(shows);
    if (link && getSelection().isCollapsed) go(frame(link.image));
  });

  reading.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const sentence = event.target.closest("a[data-sentence]"), picture = event.target.closest("[data-picture]");
    if (!sentence && !picture) return;
    if (event.key === "Escape") return event.target.blur();
    const toPicture = mirrored ? "ArrowLeft" : "ArrowRight", toSentence = mirrored ? "ArrowRight" : "ArrowLeft";
    const [link] = linksOf(event.target);
    let target = null;
    if (event.key === toPicture && sentence && link) target = frame(link.image);
    if (event.key === toSentence && picture && link) target = sentences.get(link.sentence);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = sentence
        ? [...sentences.values()].filter((e) => !e.classList.contains("off"))
        : [...pictures.values()].filter((e) => !e.classList.contains("off")).map((e) => e.querySelector("button"));
      if (picture && beside.matches) all.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top);
      target = all[all.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
    }
    if (!target) return;
    event.preventDefault();
    go(target);
  });

  // --- Which links count.

  const slider = document.getElementById("minimum");
  const filter = () => {
    minimum = +slider.value;
    draw(); // before anything is changed: it asks where the page stands, which would lay out what is new
    const shown = links.filter(shows);
    const [some, any] = [new Set(shown.map((l) => l.sentence)), new Set(shown.map((l) => l.image))];
    for (const [number, element] of sentences) {
      const off = !some.has(number);
      if (element.classList.contains("off") === off) continue;
      element.classList.toggle("off", off);
      element.tabIndex = off ? -1 : 0;
    }
    for (const [number, element] of pictures) element.classList.toggle("off", !any.has(number));
    document.getElementById("minimum-shown").textContent = `${minimum} %`;
    slider.setAttribute("aria-valuetext", `${minimum} %`);
    document.getElementById("count").textContent = `${shown.length} of ${links.length} links`;
    if (data.measured.length)
      document.getElementById("measured").textContent = (data.measured.findLast(([least]) => least <= minimum) ?? data.measured[0])[1];
    look(linksOf(focused()));
  };
  slider?.addEventListener("input", once(filter));

  // --- A picture, large. Text goes in as text; nothing here parses markup.

  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const bar = (start, width, name) => {
    const inner = make("span", name ? { class: name } : {});
    inner.style.left = `${start}%`;
    inner.style.width = `${width}%`;
    return make("span", { class: "track", "aria-hidden": "true" }, inner);
  };

  const evidence = (link) => make("div", { class: "evidence" }, ...data.kinds.flatMap((kind, n) => {
    const value = Math.round(link.evidence[n] * 10) / 10, width = Math.abs(value) / strongest * 50;
    return [
      make("span", {}, NAMES[kind] ?? kind),
      bar(value < 0 ? 50 - width : 50, width, value < 0 ? "against" : ""),
      make("b", {}, value === 0 ? "0" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(1)),
    ];
  }));

  // How text and picture relate; the meaning is the tooltip, and part of what a screen reader says.
  const chips = (link) => {
    const own = data.related?.[link.number] ?? [];
    if (!own.length) return [];
    return [make("ul", { class: "chips", "aria-label": "The text, probably" }, ...own.map(([number, likely]) => {
      const [label, meaning] = data.relations[number];
      const hidden = make("span", { class: "meaning" }, `: ${meaning}, `);
      return make("li", { title: meaning }, label, hidden, make("b", {}, percent(likely)));
    }))];
  };

  const entry = (link) => {
    const element = sentences.get(link.sentence);
    const quote = make("button", { type: "button", class: "quote", dir: "auto" }, element.textContent);
    quote.lang = document.getElementById("text").lang;
    quote.addEventListener("click", () => { back = element; viewer.close(); });
    if (data.images[link.image].by) return make("li", {}, quote, ...chips(link)); // nothing is left to be sure of
    const sure = [[link.confidence, "this sentence"], [link.paragraph, "its paragraph"]].map(([share, of]) => (
      make("p", { class: "sure" }, `${percent(share)} sure of ${of}`, bar(0, share * 100))
    ));
    return make("li", {}, quote, ...sure, ...chips(link), evidence(link));
  };

  const details = (image) => {
    const { source, alt, caption, page } = data.images[image];
    const known = { Caption: caption, "Alt text": alt ?? "none", File: source, Page: page };
    return make("dl", {}, ...Object.entries(known).filter(([, value]) => value != null).flatMap(
      ([name, value]) => [make("dt", {}, name), make("dd", { dir: "auto" }, String(value))],
    ));
  };

  const openers = [...document.querySelectorAll("[data-open]")];
  let current = -1;
  let back = null; // where the focus goes when the picture is closed
  const show = (n) => {
    current = (n + openers.length) % openers.length;
    const image = +openers[current].dataset.open, own = byImage.get(image) ?? [];
    const picture = openers[current].firstElementChild.cloneNode(true);
    picture.removeAttribute("loading");
    const content = document.getElementById("viewer-content");
    content.style.setProperty("--hue", hue(image));
    content.dataset.image = image;
    const { by } = data.images[image], likeliest = by ? "" : " likeliest";
    const why = own.length ? [
      make("h3", {}, own.length === 1 ? `Its${likeliest} sentence` : `Its ${own.length}${likeliest} sentences`),
      make("p", { class: "explained" }, by ? `As ${by}, whatever the program finds.`
        : "The thin bars say what speaks for a link (to the right) and against it (to the left)."),
      make("ol", {}, ...own.map(entry)),
    ] : [make("h3", {}, by ? `Belongs to none of the sentences, ${by}` : "Not linked to a sentence")];
    if (data.correct && picture.localName === "img") {
      why.splice(1, 0, make("p", {}, make("a", { class: "correct", href: data.correct + image }, by ? "Change" : "Correct")));
    }
    content.replaceChildren(make("div", {}, picture, details(image)), make("div", {}, ...why));
    document.getElementById("viewer-title").textContent = `Picture ${data.images[image].number} of ${data.images.length}`;
    viewer.scrollTop = 0;
    tell(viewer, "show", own);
  };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-open]");
    if (opener) {
      show(openers.indexOf(opener));
      viewer.showModal();
    } else if (event.target === viewer) viewer.close(); // the veil around it
  });
  viewer.addEventListener("close", () => { go(back ?? openers[current]); back = null; });
  document.getElementById("viewer-previous").addEventListener("click", () => show(current - 1));
  document.getElementById("viewer-next").addEventListener("click", () => show(current + 1));
  viewer.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key in steps) show(current + steps[event.key]);
  });

  new ResizeObserver(once(arrange)).observe(document.getElementById("text"));
  beside.addEventListener("change", once(arrange));
  document.fonts?.ready.then(once(arrange));
  addEventListener("scroll", once(draw), { passive: true });
  addEventListener("resize", once(draw));
  addEventListener("beforeprint", () => {
    for (const picture of document.images) Object.assign(picture, { loading: "eager", decoding: "sync" });
  });
  arrange();
})();
