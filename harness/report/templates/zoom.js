(() => {
  "use strict";
  const state = {};
  const svgNs = "http://www.w3.org/2000/svg";
  const round = (least) => {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= least);
  };
  const axis = (plot, zoom, left) => {
    const place = plot.querySelector(".axis-of-time");
    const low = Number(plot.dataset.low), high = Number(plot.dataset.high);
    const y = place.querySelector("line").getAttribute("y1");
    const step = round((high - low) / zoom / 6);
    place.querySelectorAll("text").forEach((text) => text.remove());
    for (let n = Math.ceil(low / step); n * step <= high; n += 1) {
      const share = 100 * (n * step - low) / (high - low);
      if (share < left || share > left + 100 / zoom) continue;
      const text = document.createElementNS(svgNs, "text");
      const at = (share - left) * zoom;
      text.setAttribute("x", share + "%");
      text.setAttribute("y", Number(y) + 16);
      text.setAttribute("class", "tick time");
      text.setAttribute("text-anchor", at > 95 ? "end" : at < 3 ? "start" : "middle");
      text.textContent = Number((n * step).toPrecision(9)) + " " + plot.dataset.unit;
      place.append(text);
    }
  };
  const draw = (group) => {
    const { zoom, left } = state[group];
    document.querySelectorAll(".zoom").forEach((box) => {
      if (box.dataset.group !== group) return;
      const plot = box.querySelector(".plot"), moving = plot.querySelector(".moving");
      moving.setAttribute("width", 100 * zoom + "%");
      moving.setAttribute("x", -left * zoom + "%");
      axis(plot, zoom, left);
      box.querySelector(".shown").textContent = zoom === 1 ? "" : Math.round(zoom * 10) / 10 + "×";
    });
  };
  const change = (group, factor, at, move) => {
    const now = state[group];
    const zoom = Math.min(Math.max(now.zoom * factor, 1), 500);
    const fixed = now.left + at / now.zoom;
    const left = fixed - at / zoom + move / zoom;
    state[group] = { zoom, left: Math.min(Math.max(left, 0), 100 - 100 / zoom) };
    draw(group);
  };
  const actions = [
    ["+", "zoom in", (group) => change(group, 2, 50, 0)],
    ["−", "zoom out", (group) => change(group, 0.5, 50, 0)],
    ["◀", "earlier", (group) => change(group, 1, 50, -25)],
    ["▶", "later", (group) => change(group, 1, 50, 25)],
    ["all", "show all", (group) => change(group, 0, 50, 0)],
  ];
  const keys = { "+": 0, "=": 0, "-": 1, ArrowLeft: 2, ArrowRight: 3, 0: 4 };
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.numbers)").forEach((part) => { part.open = true; });
  });
  document.querySelectorAll(".zoom").forEach((box) => {
    const group = box.dataset.group, plot = box.querySelector(".plot");
    if (!plot || !plot.dataset.unit) return;
    state[group] = { zoom: 1, left: 0 };
    const name = plot.getAttribute("aria-label");
    const bar = document.createElement("div");
    bar.className = "bar-of-buttons";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Zoom of " + name);
    actions.forEach(([sign, title, act]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = sign;
      button.title = title;
      button.setAttribute("aria-label", title + ": " + name);
      button.addEventListener("click", () => act(group));
      bar.append(button);
    });
    const shown = document.createElement("span");
    shown.className = "shown soft";
    bar.append(shown);
    box.prepend(bar);
    box.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[keys[event.key]][2](group);
    });
    plot.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const frame = plot.getBoundingClientRect();
      change(group, event.deltaY < 0 ? 1.5 : 1 / 1.5, 100 * (event.clientX - frame.left) / frame.width, 0);
    }, { passive: false });
    let held = null;
    plot.addEventListener("pointerdown", (event) => { held = event.clientX; plot.setPointerCapture(event.pointerId); });
    plot.addEventListener("pointermove", (event) => {
      if (held === null) return;
      change(group, 1, 50, 100 * (held - event.clientX) / plot.getBoundingClientRect().width);
      held = event.clientX;
    });
    ["pointerup", "pointercancel"].forEach((name) => plot.addEventListener(name, () => { held = null; }));
    plot.addEventListener("dblclick", (event) => {
      const frame = plot.getBoundingClientRect();
      change(group, 2, 100 * (event.clientX - frame.left) / frame.width, 0);
    });
  });
})();
