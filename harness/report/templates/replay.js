(() => {
  "use strict";
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("details:not(.numbers)").forEach((part) => { part.open = true; });
  });
  const made = (name, kind, text) => {
    const element = document.createElement(name);
    if (kind) element.className = kind;
    if (text) element.textContent = text;
    return element;
  };
  const moments = (table) => {
    const known = new Map();
    return [...table.tBodies[0].rows].map((row, index) => {
      const [ms, text, changed] = row.cells;
      known.forEach((cell, title) => { known.set(title, { ...cell, isNew: false }); });
      [...changed.children].forEach((cell) => {
        const [title, value] = cell.childNodes;
        known.set(title.textContent, { text: value.textContent.trim(), kind: cell.className, isNew: index > 0 });
      });
      return { ms: ms.textContent, text: text.textContent, state: [...known] };
    });
  };
  const cursor = (group) => {
    const box = [...document.querySelectorAll(".strip")].find((one) => one.dataset.of === group);
    const plot = box && box.querySelector(".plot");
    if (!plot) return () => {};
    const low = Number(plot.dataset.low), high = Number(plot.dataset.high);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", "0");
    line.setAttribute("y2", "100%");
    plot.append(line);
    return (ms) => {
      const share = 100 * (ms - low) / (high - low);
      line.setAttribute("x1", share + "%");
      line.setAttribute("x2", share + "%");
      line.setAttribute("visibility", share < 0 || share > 100 ? "hidden" : "visible");
    };
  };
  document.querySelectorAll("details.replay").forEach((part) => {
    const table = part.querySelector("table"), all = moments(table);
    if (!all.length) return;
    const point = cursor(part.dataset.of);
    const player = made("div", "player"), controls = made("div", "controls");
    player.setAttribute("role", "group");
    player.setAttribute("aria-label", "Replay of " + part.dataset.of);
    const back = made("button", "", "◀"), on = made("button", "", "▶"), range = made("input");
    const place = made("span", "place soft"), now = made("p", "now"), list = made("dl");
    const values = all[0].state.map(([title]) => {
      const value = made("dd");
      list.append(made("dt", "", title), value);
      return value;
    });
    back.setAttribute("aria-label", "previous moment");
    on.setAttribute("aria-label", "next moment");
    [back, on].forEach((button) => { button.type = "button"; });
    Object.assign(range, { type: "range", min: 1, max: all.length, step: 1, value: part.dataset.start });
    range.setAttribute("aria-label", "Moment of the race");
    const show = () => {
      const at = Number(range.value), moment = all[at - 1];
      const text = moment.ms + " ms: " + moment.text;
      place.textContent = at + " of " + all.length;
      now.setAttribute("aria-live", document.activeElement === range ? "off" : "polite");
      now.textContent = text;
      range.setAttribute("aria-valuetext", place.textContent + ", " + text);
      moment.state.forEach(([, cell], index) => {
        values[index].textContent = cell.text;
        values[index].className = cell.kind + (cell.isNew ? " new" : "");
      });
      back.setAttribute("aria-disabled", String(at === 1));
      on.setAttribute("aria-disabled", String(at === all.length));
      point(Number(moment.ms.replaceAll(",", "")));
    };
    const step = (by) => { range.value = Number(range.value) + by; show(); };
    back.addEventListener("click", () => step(-1));
    on.addEventListener("click", () => step(1));
    range.addEventListener("input", show);
    controls.append(back, range, on, place);
    player.append(controls, now, list);
    part.before(player);
    show();
  });
})();
