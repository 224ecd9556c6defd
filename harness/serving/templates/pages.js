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

const region = document.querySelector("[data-live]");

async function refresh() {
  const answer = document.hidden ? null : await fetch(location.href).catch(() => null);
  const page = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const fresh = page?.querySelector("[data-live]");
  if (fresh) morph(region, fresh);
  setTimeout(refresh, 1000);
}

if (region) setTimeout(refresh, 1000);
