/* global document, getComputedStyle, NodeFilter, SVGElement */

// This runs within the page. It says what a reader could not read, one line each.
(() => {
  /** Fonts differ a little from their boxes. */
  const SLACK = 1;
  const LEAST_OVERLAP = 3;
  /** Words, numbers, dates. Ids, addresses and names may be broken. */
  const WHOLE = /[\p{L}\d]+(?:[.,:\-\u202f]\d+)*/gu;
  const MAY_BREAK = "code, bdi, h1, h3, a";
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width)
    faults.push(`the page is ${document.documentElement.scrollWidth} wide`);

  const shown = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const words = (node.textContent ?? "").trim();
    const parent = node.parentElement;
    if (words === "" || parent === null || parent.closest(".unseen, style, title") !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const wide = parent.closest(".wide");
    const scrolls = wide !== null && getComputedStyle(wide).overflowX !== "visible";
    const boxes = [];
    for (let box = parent; box !== document.body && !box.matches(".wide"); box = box.parentElement) {
      const isInline = getComputedStyle(box).display.startsWith("inline");
      if (!isInline || box.matches("svg")) boxes.push(box.getBoundingClientRect());
    }
    for (const rect of range.getClientRects()) {
      if (rect.width === 0) continue;
      shown.push({ words, node, rect });
      if (boxes.some(({ left, right }) => rect.left < left - SLACK || rect.right > right + SLACK))
        faults.push(`“${words}” leaves its box`);
      if (!scrolls && (rect.left < 0 || rect.right > width + SLACK))
        faults.push(`“${words}” leaves the page`);
    }
    if (parent.closest(MAY_BREAK) !== null) continue;
    for (const { 0: whole, index } of (node.textContent ?? "").matchAll(WHOLE)) {
      range.setStart(node, index);
      range.setEnd(node, index + whole.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) faults.push(`“${whole}” is broken`);
    }
  }
  shown.sort((one, other) => one.rect.top - other.rect.top);
  for (const [index, one] of shown.entries()) {
    for (const other of shown.slice(index + 1)) {
      if (other.rect.top >= one.rect.bottom) break;
      const across = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left);
      const down = Math.min(one.rect.bottom, other.rect.bottom) - Math.max(one.rect.top, other.rect.top);
      if (one.node !== other.node && across > SLACK && down > LEAST_OVERLAP)
        faults.push(`“${one.words}” and “${other.words}” overlap`);
    }
  }
  const plots = [...document.querySelectorAll(".drawing")];
  for (const plot of plots)
    if (plot.getBoundingClientRect().width < 0.5 * (plot.closest("li, section")?.clientWidth ?? 0))
      faults.push("a plot has less than half of the room that it is in");
  return [...new Set(faults)];
})();
