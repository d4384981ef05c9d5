// The leaderboard: sorts, filters and draws what the page holds as JSON.
"use strict";
const DATA = JSON.parse(document.getElementById("rows").textContent);
const $ = (id) => document.getElementById(id);
const state = { size: DATA.sizes[0], classifier: DATA.classifiers[0], text: "",
  sort: "mean", up: false, sets: new Set(DATA.sets) };

// The part of the address after # keeps the view, so that it can be shared.
function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of ["size", "classifier", "text", "sort"])
    if (given.has(name)) state[name] = given.get(name);
  state.up = given.get("up") === "1";
  if (given.has("sets")) state.sets = new Set(given.get("sets").split(","));
}

function toAddress() {
  const all = state.sets.size === DATA.sets.length;
  const kept = { size: state.size, classifier: state.classifier, sort: state.sort };
  if (state.text) kept.text = state.text;
  if (state.up) kept.up = "1";
  if (!all) kept.sets = [...state.sets].join(",");
  history.replaceState(null, "", "#" + new URLSearchParams(kept));
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

function lines() {
  const cells = (DATA.cells[state.size] || {})[state.classifier] || {};
  const there = new Set(Object.values(cells).flatMap(Object.keys));
  const sets = DATA.sets.filter((s) => state.sets.has(s) && there.has(s));
  const found = Object.entries(cells).map(([method, by]) => ({ method, by,
    got: sets.filter((s) => s in by) })).filter((line) => line.got.length);
  for (const line of found) {
    line.whole = line.got.length === sets.length;
    line.mean = mean(line.got.map((s) => line.by[s][0]));
    line.seconds = mean(line.got.map((s) => line.by[s][2]));
  }
  const whole = found.filter((line) => line.whole);
  for (const line of whole)  // ties share their ranks
    line.rank = mean(sets.map((s) => whole.reduce((r, other) => r +
      (other.by[s][0] > line.by[s][0]) +
      (other !== line && other.by[s][0] === line.by[s][0] ? 0.5 : 0), 1)));
  const words = state.text.toLowerCase().split(/\s*\|\s*/);
  const shown = found.filter((line) => words.some((w) =>
    line.method.toLowerCase().includes(w)));
  return { sets, shown };
}

function key(line) {
  if (state.sort === "method") return line.method;
  if (state.sort in line.by) return line.by[state.sort][0];
  return line[state.sort] ?? (state.up ? Infinity : -Infinity);
}

function sorted(shown) {
  const sign = state.up ? 1 : -1;
  return [...shown].sort((a, b) => (b.whole - a.whole) ||
    sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function table() {
  const { sets, shown } = lines();
  const columns = ["method", "mean", "rank", "seconds", ...sets];
  const head = $("head"), body = $("body");
  head.replaceChildren();
  for (const name of columns) {
    const cell = element("th", "", head), button = element("button", name, cell);
    cell.scope = "col";
    if (name === state.sort)
      cell.setAttribute("aria-sort", state.up ? "ascending" : "descending");
    button.onclick = () => sortBy(name);
  }
  const tops = Object.fromEntries(sets.map((s) => [s,
    Math.max(...shown.map((line) => line.by[s]?.[0] ?? -1))]));
  body.replaceChildren();
  for (const line of sorted(shown)) {
    const row = element("tr", "", body);
    element("th", line.whole ? line.method :
      `${line.method} (${line.got.length} of ${sets.length} sets)`, row).scope = "row";
    element("td", line.mean.toFixed(1), row);
    element("td", line.rank === undefined ? "-" : line.rank.toFixed(2), row);
    element("td", line.seconds.toPrecision(2), row);
    for (const s of sets) {
      const cell = element("td", s in line.by ? line.by[s][0].toFixed(1) : "-", row);
      if (line.by[s]?.[0] === tops[s]) cell.className = "best";
      if (s in line.by) cell.title = `± ${line.by[s][1].toFixed(1)} over the splits`;
    }
  }
  $("count").textContent = `${shown.length} methods, ${sets.length} sets`;
  pareto(shown.filter((line) => line.whole));
  toAddress();
}

function sortBy(name) {
  const small = ["method", "rank", "seconds"].includes(name);
  state.up = name === state.sort ? !state.up : small;
  state.sort = name;
  table();
  [...$("head").querySelectorAll("button")].find((b) => b.textContent === name).focus();
}

// Time and accuracy: a method on the line is beaten in both by no other.
function pareto(shown) {
  const plot = $("pareto"), W = 760, H = 420, left = 50, low = 40;
  plot.replaceChildren();
  if (!shown.length) return;
  const xs = shown.map((line) => Math.log10(Math.max(line.seconds, 1e-3)));
  const ys = shown.map((line) => line.mean);
  const x0 = Math.floor(Math.min(...xs)), x1 = Math.ceil(Math.max(...xs) + 0.01);
  const y0 = Math.floor(Math.min(...ys) / 5) * 5, y1 = Math.ceil(Math.max(...ys) / 5) * 5;
  const X = (v) => left + (W - left - 170) * (v - x0) / (x1 - x0);
  const Y = (v) => H - low - (H - low - 20) * (v - y0) / (y1 - y0 || 1);
  const draw = (tag, how, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(how)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    plot.append(made);
    return made;
  };
  for (let v = x0; v <= x1; v++) {
    draw("line", { class: "rule", x1: X(v), x2: X(v), y1: 20, y2: H - low });
    draw("text", { x: X(v), y: H - 22, "text-anchor": "middle" },
      v < 0 ? (10 ** v).toFixed(-v) : String(10 ** v));
  }
  for (let v = y0; v <= y1; v += 5) {
    draw("line", { class: "rule", x1: left, x2: W - 170, y1: Y(v), y2: Y(v) });
    draw("text", { x: left - 8, y: Y(v) + 4, "text-anchor": "end" }, String(v));
  }
  draw("text", { x: left, y: H - 4 }, "seconds of a fit, the choice of settings included");
  draw("text", { x: 4, y: 12 }, "mean accuracy in %");
  const order = shown.map((line, i) => ({ line, x: xs[i], y: ys[i] }))
    .sort((a, b) => a.x - b.x || b.y - a.y);
  let best = -Infinity, above = 0;
  const front = order.filter((p) => p.y > best && ((best = p.y), true));
  const steps = front.map((p, i) => `${i ? "H" + X(p.x) + "V" : "M" + X(p.x) + " "}${Y(p.y)}`);
  draw("path", { class: "front", d: steps.join("") });
  for (const p of order) {
    const ours = p.line.method.startsWith("TensorCRP"), on = front.includes(p);
    const dot = draw("circle", { class: ours ? "dot" : "other", cx: X(p.x), cy: Y(p.y), r: 5 });
    dot.append(Object.assign(document.createElementNS(plot.namespaceURI, "title"),
      { textContent: `${p.line.method}: ${p.y.toFixed(1)} %, ${p.line.seconds.toPrecision(2)} s` }));
    if (on || p.line.method === "TensorCRPCV") {
      const y = Math.max(Y(p.y) - 8, 24), x = X(p.x) + 8;
      draw("text", { x, y: above && Math.abs(above - y) < 13 ? y + 20 : y }, p.line.method);
      above = y;
    }
  }
}

function start() {
  fromAddress();
  for (const [id, values] of [["size", DATA.sizes], ["classifier", DATA.classifiers]]) {
    for (const value of values)
      element("option", id === "size" ? DATA.words[value] : value, $(id)).value = value;
    $(id).value = state[id];
    $(id).onchange = () => { state[id] = $(id).value; table(); };
  }
  $("text").value = state.text;
  $("text").oninput = () => { state.text = $("text").value; table(); };
  for (const name of DATA.sets) {
    const label = element("label", "", $("sets")), box = element("input", "", label);
    box.type = "checkbox";
    box.checked = state.sets.has(name);
    label.append(" " + name);
    box.onchange = () => {
      state.sets[box.checked ? "add" : "delete"](name);
      table();
    };
  }
  table();
}
start();
