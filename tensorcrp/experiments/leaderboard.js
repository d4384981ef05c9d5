// The leaderboard: sorts, filters and draws what the page holds as JSON.
"use strict";
const DATA = JSON.parse(document.getElementById("rows").textContent);
const $ = (id) => document.getElementById(id);
const ALL = "all";
const state = { size: DATA.sizes[0], classifier: DATA.classifiers[0], text: "",
  sort: "mean", up: false, sets: new Set(DATA.sets), smooth: true, parts: true };
const SMALL_FIRST = ["method", "rank", "seconds"];
const howMany = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// --- the view, which the address keeps so that it can be shared ---------------------

function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of ["size", "classifier", "text", "sort"])
    if (given.has(name)) state[name] = given.get(name);
  state.up = given.get("up") === "1";
  for (const name of ["smooth", "parts"]) state[name] = given.get(name) !== "0";
  if (given.has("sets")) state.sets = new Set(given.get("sets").split(","));
}

function toAddress() {
  const kept = { size: state.size, classifier: state.classifier, sort: state.sort };
  if (state.text) kept.text = state.text;
  if (state.up) kept.up = "1";
  for (const name of ["smooth", "parts"]) if (!state[name]) kept[name] = "0";
  if (state.sets.size < DATA.sets.length) kept.sets = [...state.sets].join(",");
  history.replaceState(null, "", "#" + new URLSearchParams(kept));
}

// --- figures ------------------------------------------------------------------------

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const isPart = (method) => method.startsWith(DATA.part);
const isSmooth = (method) => method.endsWith(DATA.smooth);
const isOurs = (method) => method.startsWith("TensorCRP");

// What a method is measured on: a set at a size. A column shows one or several tasks.
function tasks() {
  const sizes = state.size === ALL ? DATA.sizes : [state.size];
  return sizes.flatMap((size) => DATA.sets.filter((set) => state.sets.has(set) &&
    set in (DATA.about[size] || {})).map((set) => ({ size, set })));
}

const columnOf = (task) => (state.size === ALL ? DATA.words[task.size] : task.set);

function lines() {
  const wanted = tasks(), found = new Map();
  wanted.forEach((task, i) => {
    const cells = DATA.cells[task.size][state.classifier] || {};
    for (const [method, by] of Object.entries(cells)) {
      if ((isPart(method) && !state.parts) || (isSmooth(method) && !state.smooth)) continue;
      if (!found.has(method)) found.set(method, new Array(wanted.length).fill(null));
      found.get(method)[i] = by[task.set] || null;
    }
  });
  const columns = [...new Set(wanted.map(columnOf))];
  const all = [...found].map(([method, cells]) => summed(method, cells, wanted, columns))
    .filter((line) => line.got);
  const words = state.text.toLowerCase().split(/\s*\|\s*/);
  const shown = all.filter((line) => words.some((w) => line.method.toLowerCase().includes(w)));
  rank(shown.filter((line) => line.whole));
  return { wanted, columns, shown };
}

function summed(method, cells, wanted, columns) {
  const there = cells.filter(Boolean), by = {};
  for (const name of columns) {
    const mine = cells.filter((cell, i) => columnOf(wanted[i]) === name);
    if (mine.every(Boolean)) by[name] = [mean(mine.map((c) => c[0])), mine.length > 1 ? null : mine[0][1]];
  }
  return { method, cells, by, got: there.length, whole: there.length === cells.length,
    mean: mean(there.map((c) => c[0])), seconds: mean(there.map((c) => c[2])) };
}

// Mean ranks over the tasks; ties share their ranks.
function rank(whole) {
  for (const line of whole)
    line.rank = mean(line.cells.map((cell, i) => whole.reduce((r, other) => r +
      (other.cells[i][0] > cell[0]) +
      (other !== line && other.cells[i][0] === cell[0] ? 0.5 : 0), 1)));
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

// --- the table ----------------------------------------------------------------------

function element(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

function head(columns) {
  $("head").replaceChildren();
  for (const name of ["method", "mean", "rank", "seconds", ...columns]) {
    const cell = element("th", "", $("head")), button = element("button", name, cell);
    cell.scope = "col";
    if (name === state.sort)
      cell.setAttribute("aria-sort", state.up ? "ascending" : "descending");
    button.onclick = () => sortBy(name);
  }
}

function shade(cell, value, low, top) {
  const share = top > low ? (value - low) / (top - low) : 0;
  cell.style.setProperty("--share", `${Math.round(22 * share)}%`);
  cell.className = value === top ? "figure best" : "figure";
}

function fill(line, columns, range, total) {
  const row = element("tr", "", $("body"));
  const name = line.whole ? line.method : `${line.method} (${line.got} of ${total})`;
  element("th", name, row).scope = "row";
  if (isOurs(line.method)) row.className = isPart(line.method) ? "part" : "ours";
  element("td", line.mean.toFixed(1), row);
  element("td", line.rank === undefined ? "-" : line.rank.toFixed(2), row);
  element("td", line.seconds.toPrecision(2), row);
  for (const column of columns) {
    const figure = line.by[column];
    const cell = element("td", figure ? figure[0].toFixed(1) : "-", row);
    if (!figure) continue;
    shade(cell, figure[0], ...range[column]);
    if (figure[1] !== null) cell.title = `± ${figure[1].toFixed(1)} over the splits`;
  }
}

// Chance, the largest class and the number of test samples of every column.
function foot(wanted, columns) {
  $("foot").replaceChildren();
  const whole = ["chance", "largest class", "test samples"];
  whole.forEach((words, i) => {
    const row = element("tr", "", $("foot"));
    element("th", words, row).scope = "row";
    const of = (some) => mean(some.map((t) => DATA.about[t.size][t.set][i]));
    const text = (some) => of(some).toFixed(i === 2 ? 0 : 1);
    element("td", i === 2 || !wanted.length ? "" : text(wanted), row);
    element("td", "", row);
    element("td", "", row);
    for (const column of columns)
      element("td", text(wanted.filter((t) => columnOf(t) === column)), row);
  });
}

function table() {
  const { wanted, columns, shown } = lines();
  head(columns);
  const range = Object.fromEntries(columns.map((name) => {
    const values = shown.map((line) => line.by[name]?.[0]).filter((v) => v !== undefined);
    return [name, [Math.min(...values), Math.max(...values)]];
  }));
  $("body").replaceChildren();
  for (const line of sorted(shown)) fill(line, columns, range, wanted.length);
  foot(wanted, columns);
  const sets = new Set(wanted.map((t) => t.set)).size;
  $("count").textContent = `${howMany(shown.length, "method")}, ${howMany(sets, "set")}`;
  const whole = shown.filter((line) => line.whole);
  pareto(whole);
  differences(whole, sets);  // sizes of one set are not independent
  toAddress();
}

function sortBy(name) {
  state.up = name === state.sort ? !state.up : SMALL_FIRST.includes(name);
  state.sort = name;
  table();
  [...$("head").querySelectorAll("button")].find((b) => b.textContent === name).focus();
}

// --- drawing ------------------------------------------------------------------------

// A pen for a plot that is W pixels wide, so that its text has the size of the page's.
function pen(plot, W, H) {
  plot.replaceChildren();
  plot.setAttribute("viewBox", `0 0 ${W} ${H}`);
  plot.setAttribute("width", W);
  plot.setAttribute("height", H);
  return (tag, how, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(how)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    plot.append(made);
    return made;
  };
}

const widthOf = (plot, least) => Math.max(least, Math.min(plot.parentElement.clientWidth, 920));

const FASTEST = -3; // power of ten of seconds: what is faster is drawn there

function grid(draw, frame, x0, x1, y0, y1, step) {
  const { X, Y, left, right, top, bottom } = frame;
  for (let v = x0; v <= x1; v++) {
    draw("line", { class: "rule", x1: X(v), x2: X(v), y1: top, y2: bottom });
    draw("text", { x: X(v), y: bottom + 18, "text-anchor": "middle" },
      (v === FASTEST ? "\u2264 " : "") + (v < 0 ? (10 ** v).toFixed(-v) : String(10 ** v)));
  }
  for (let v = y0; v <= y1; v += step) {
    draw("line", { class: "rule", x1: left, x2: right, y1: Y(v), y2: Y(v) });
    draw("text", { x: left - 8, y: Y(v) + 4, "text-anchor": "end" }, String(v));
  }
  draw("text", { x: left, y: bottom + 38 }, "seconds of a fit, the choice of settings included");
  draw("text", { x: 4, y: 14 }, "mean accuracy in %");
}

// A place for a label beside its point that hides no point and no other label.
function place(label, bold, x, y, taken, right) {
  const w = (bold ? 7.8 : 6.6) * label.length, h = 14;
  for (const [dx, dy] of [[7, -7], [9, 15], [-7 - w, -7], [-9 - w, 15], [9, 4], [-9 - w, 4],
    [-w / 2, -10], [-w / 2, 20]]) {
    const box = [x + dx, y + dy - 11, x + dx + w, y + dy - 11 + h];
    if (box[0] < 0 || box[2] > right || box[1] < 0) continue;
    if (taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
    taken.push(box);
    return { x: x + dx, y: y + dy };
  }
  return null;
}

// Time and accuracy: a method on the line is beaten in both by no other.
function pareto(shown) {
  const plot = $("pareto"), W = widthOf(plot, 360), H = 460;
  const draw = pen(plot, W, H);
  if (!shown.length) return;
  const points = shown.map((line) => ({ line, x: Math.max(Math.log10(line.seconds), FASTEST),
    y: line.mean })).sort((a, b) => a.x - b.x || b.y - a.y);
  const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
  const x0 = Math.floor(Math.min(...xs)), x1 = Math.ceil(Math.max(...xs) + 0.01);
  const step = Math.max(...ys) - Math.min(...ys) > 40 ? 10 : 5;
  const y0 = Math.floor(Math.min(...ys) / step) * step;
  const y1 = Math.ceil((Math.max(...ys) + 0.01) / step) * step;
  const frame = { left: 46, right: W - 20, top: 26, bottom: H - 50 };
  frame.X = (v) => frame.left + (frame.right - frame.left) * (v - x0) / (x1 - x0);
  frame.Y = (v) => frame.bottom - (frame.bottom - frame.top) * (v - y0) / (y1 - y0);
  grid(draw, frame, x0, x1, y0, y1, step);
  let best = -Infinity;
  const front = points.filter((p) => p.y > best && ((best = p.y), true));
  const steps = front.map((p, i) => (i ? `H${frame.X(p.x)}V` : `M${frame.X(p.x)} `) + frame.Y(p.y));
  draw("path", { class: "front", d: steps.join("") });
  const taken = points.map((p) => [frame.X(p.x) - 5, frame.Y(p.y) - 5, frame.X(p.x) + 5, frame.Y(p.y) + 5]);
  const first = [...front, ...points.filter((p) => isOurs(p.line.method))];
  for (const p of new Set([...first, ...points])) {
    const at = [frame.X(p.x), frame.Y(p.y)], name = p.line.method;
    const dot = draw("circle", { class: isOurs(name) ? "dot" : "other", cx: at[0], cy: at[1], r: 5 });
    dot.append(Object.assign(document.createElementNS(plot.namespaceURI, "title"),
      { textContent: `${name}: ${p.y.toFixed(1)} %, ${p.line.seconds.toPrecision(2)} s` }));
    const bold = front.includes(p), spot = place(name, bold, ...at, taken, W);
    if (spot) draw("text", { class: bold ? "strong" : "", ...spot }, name);
  }
  plot.setAttribute("aria-label", "Mean accuracy over time of a fit. Beaten in both by no other: " +
    front.map((p) => `${p.line.method} (${p.y.toFixed(1)} %, ${p.line.seconds.toPrecision(2)} s)`).join(", "));
}

// Runs of methods, best first, whose mean ranks differ by less than a difference.
function alike(ranks, difference) {
  const groups = [];
  let reached = 0;
  ranks.forEach((from, i) => {
    const end = i + ranks.slice(i).filter((r) => r - from < difference).length;
    if (end > Math.max(reached, i + 1)) groups.push([i, end - 1]);
    reached = Math.max(reached, end);
  });
  return groups;
}

// Demsar's critical-difference diagram: methods hang from an axis of mean ranks.
function differences(whole, n) {
  const plot = $("ranks"), words = $("ranks-words"), k = whole.length;
  const order = [...whole].sort((a, b) => a.rank - b.rank);
  const q = DATA.nemenyi[k - 2];
  const few = k < 3 || n < 2 || !q;
  plot.parentElement.style.display = few ? "none" : "";  // an empty box is no stop
  words.textContent = few ? "The diagram needs at least three methods " +
    "with results on all of at least two sets." : "";
  if (few) return;
  const cd = q * Math.sqrt(k * (k + 1) / (6 * n)), ranks = order.map((line) => line.rank);
  const groups = alike(ranks, cd), below = 84 + 9 * groups.length, half = Math.ceil(k / 2);
  const W = widthOf(plot, 640), draw = pen(plot, W, below + 20 * half + 8);
  const side = Math.min(300, 20 + 7.4 * Math.max(...order.map((l) => l.method.length + 6)));
  const X = (r) => side + (W - 2 * side) * (r - 1) / (k - 1);
  const every = Math.ceil(k / 12);
  draw("line", { class: "axis", x1: X(1), x2: X(k), y1: 66, y2: 66 });
  for (let r = 1; r <= k; r++) {
    draw("line", { class: "axis", x1: X(r), x2: X(r), y1: 61, y2: 66 });
    if ((r - 1) % every === 0) draw("text", { x: X(r), y: 56, "text-anchor": "middle" }, String(r));
  }
  draw("line", { class: "axis", x1: X(1), x2: X(Math.min(k, 1 + cd)), y1: 30, y2: 30 });
  draw("text", { x: X(1), y: 20 }, `critical difference ${cd.toFixed(2)}` + (cd > k - 1 ? " (wider than the axis)" : ""));
  groups.forEach(([from, to], i) => draw("line", { class: "group", x1: X(ranks[from]) - 3,
    x2: X(ranks[to]) + 3, y1: 75 + 9 * i, y2: 75 + 9 * i }));
  order.forEach((line, i) => {
    const onLeft = i < half, y = below + 20 * (onLeft ? i : k - 1 - i);
    const end = onLeft ? side - 8 : W - side + 8, at = X(line.rank);
    draw("path", { class: "leader", d: `M${at} 66V${y}H${end}` });
    draw("text", { class: isOurs(line.method) ? "strong" : "", x: onLeft ? end - 5 : end + 5,
      y: y + 4, "text-anchor": onLeft ? "end" : "start" },
    onLeft ? `${line.method}  ${line.rank.toFixed(2)}` : `${line.rank.toFixed(2)}  ${line.method}`);
  });
  plot.setAttribute("aria-label", `Mean ranks, critical difference ${cd.toFixed(2)}: ` +
    order.map((line) => `${line.method} ${line.rank.toFixed(2)}`).join(", "));
}

// --- start --------------------------------------------------------------------------

function start() {
  fromAddress();
  const sizes = DATA.sizes.length > 1 ? [...DATA.sizes, ALL] : DATA.sizes;
  for (const [id, values] of [["size", sizes], ["classifier", DATA.classifiers]]) {
    for (const value of values) {
      const words = id === "size" ? DATA.words[value] || "all sizes" : value;
      element("option", words, $(id)).value = value;
    }
    $(id).value = state[id];
    $(id).onchange = () => { state[id] = $(id).value; table(); };
  }
  $("text").value = state.text;
  $("text").oninput = () => { state.text = $("text").value; table(); };
  for (const id of ["smooth", "parts"]) {
    $(id).checked = state[id];
    $(id).onchange = () => { state[id] = $(id).checked; table(); };
  }
  for (const name of DATA.sets) {
    const label = element("label", "", $("sets")), box = element("input", "", label);
    box.type = "checkbox";
    box.checked = state.sets.has(name);
    label.append(" " + name);
    box.onchange = () => { state.sets[box.checked ? "add" : "delete"](name); table(); };
  }
  table();
  window.addEventListener("resize", table);
}
start();
