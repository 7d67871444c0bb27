"use strict";
// Tables and charts that are wider than the window say so.
(() => {
  const look = new ResizeObserver((entries) => {
    for (const { target } of entries) target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth;
  });
  for (const wide of document.querySelectorAll(".wide")) {
    look.observe(wide);
    wide.querySelector("img")?.addEventListener("load", () => { look.unobserve(wide); look.observe(wide); });
  }
})();
