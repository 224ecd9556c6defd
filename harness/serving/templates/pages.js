// Pages work without it: it brings what goes on up to date.
"use strict";

// Change what differs, so that a link keeps the focus and a table its place.
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  const alike = old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && old.childNodes.length === fresh.childNodes.length;
  if (!alike) { old.replaceWith(fresh); return; }
  if (old.nodeType !== Node.ELEMENT_NODE) { old.nodeValue = fresh.nodeValue; return; }
  for (const { name, value } of [...fresh.attributes]) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  const pairs = [...old.childNodes].map((node, index) => [node, fresh.childNodes[index]]);
  for (const [node, other] of pairs) morph(node, other);
}

const region = document.querySelector("[data-events]");
let source = null;

function begin() {
  source = new EventSource(region.dataset.events);
  source.onmessage = (event) => {
    const fresh = region.cloneNode(false);
    fresh.innerHTML = JSON.parse(event.data);
    morph(region, fresh);
  };
}

if (region) {
  // Browsers limit the number of connections to one server, so a hidden page closes its own.
  document.addEventListener("visibilitychange", () => document.hidden ? source?.close() : begin());
  if (!document.hidden) begin();
}
