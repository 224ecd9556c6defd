// Pages work without it: it brings what goes on up to date, and stops queries.
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

function show(region, html) {
  const fresh = region.cloneNode(false);
  fresh.innerHTML = html;
  morph(region, fresh);
}

function follow(region) {
  let source = null, ended = false;
  const begin = () => {
    source = new EventSource(region.dataset.events);
    source.addEventListener("state", (event) => show(region, JSON.parse(event.data)));
    source.addEventListener("end", () => {
      ended = true;
      source.close();
      const note = document.createElement("p");
      note.setAttribute("role", "status");
      const link = document.createElement("a");
      link.href = location.href;
      link.textContent = "show how";
      note.append("It has ended: ", link, ".");
      region.before(note);
    });
  };
  // Browsers limit the number of connections to one server, so a hidden page closes its own.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else if (!ended) begin();
  });
  begin();
}

for (const region of document.querySelectorAll("[data-events]")) if (!document.hidden) follow(region);

for (const form of document.querySelectorAll("form[data-busy]")) {
  const busy = form.querySelector(".busy");
  form.addEventListener("submit", (event) => { busy.hidden = Boolean(event.submitter?.name); });
  busy.querySelector(".stop").addEventListener("click", () => { window.stop(); busy.hidden = true; });
  window.addEventListener("pageshow", () => { busy.hidden = true; });
}
