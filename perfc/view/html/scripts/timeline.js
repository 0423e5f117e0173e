// The time line of a trace on a canvas. Times are nanoseconds from the first span.
// Only what is in view is drawn, and spans narrower than a pixel share one.

const line = data.timeline;
const CLASS_COLORS = ["#4e79a7", "#17a2a2", "#e15759", "#b07aa1", "#59a14f", "#d37295", "#9c755f",
  "#e3b92f", "#6fa8a0", "#a3913a", "#8cc665", "#ff9d9a", "#98a2b3", "#f28e2b", "#79706e"];
const HOST_COLOR = data.classes.length;
const classColor = (number) => CLASS_COLORS[number % CLASS_COLORS.length];
const LANE = { axis: 20, title: 17, level: 16, gap: 5, most: 560 };
const LEAST_VIEW_NS = 20;
const NEAR = 4;

const holder = byId("lanes");
const canvas = element("canvas", { "aria-hidden": "true" });
const spacer = element("div", {});
const tipBox = element("div", { class: "tip lane-tip", role: "tooltip", hidden: "" });
holder.append(canvas, spacer);
document.body.append(tipBox);

const { columns: kernelColumns, rows: kernelRows } = shown.kernels.table;
const columnOf = (name) => kernelColumns.findIndex((c) => c.name === name);
const classOf = kernelRows.map((row) => Math.max(data.classes.indexOf(row[columnOf("class")]), 0));

// Begins come as differences, equal numbers as one. Every level has its spans in order, so that a
// search finds them.
function laneOf(raw) {
  const column = (name) => Float64Array.from({ length: raw.count },
    (_, i) => (Array.isArray(raw[name]) ? raw[name][i] : raw[name]));
  const [which, start, level] = [column("which"), column("start_ns"), column("level")];
  for (let i = 1; i < raw.count; i++) start[i] += start[i - 1];
  const levels = Array.from({ length: 1 + level.reduce((a, b) => Math.max(a, b), 0) }, () => []);
  level.forEach((n, i) => levels[n].push(i));
  const isKernel = raw.kind === "device" || raw.kind === "launches";
  return { kind: raw.kind, title: raw.title, which, start, length: column("duration_ns"),
    wait: column("wait_ns"), level, levels, isKernel, top: 0,
    color: (i) => (isKernel ? classOf[which[i]] : HOST_COLOR) };
}

const lanes = line.lanes.map(laneOf);
let contentHeight = LANE.axis;
for (const lane of lanes) {
  lane.top = contentHeight;
  contentHeight += LANE.title + lane.levels.length * LANE.level + LANE.gap;
}
const extent = { from: 0, to: 1 };
for (const lane of lanes) {
  for (let i = 0; i < lane.start.length; i++) extent.to = Math.max(extent.to, lane.start[i] + lane.length[i]);
}
const margin = 0.01 * (line.end_ns - line.begin_ns);
const view = { from: line.begin_ns - margin, to: line.end_ns + margin };
if (!(view.to > view.from)) Object.assign(view, extent);

let chosen = null; // numbers of the kernels that are highlighted
let cursor = null; // span under the pointer or the keys
let colorList = [];

const textOf = (name, row) => {
  const i = columnOf(name);
  return i < 0 || row[i] === null ? "" : cellText(kernelColumns[i], row[i]);
};
const nameOf = (lane, i) => {
  const which = lane.which[i];
  if (lane.kind === "steps") return `step ${which}`;
  if (lane.kind === "host") return line.operators[which][0].replace(/^aten::/, "");
  return kernelRows[which][columnOf("kernel")];
};
const isChosen = (lane, i) => chosen !== null && lane.isKernel && chosen.has(lane.which[i]);
const scaleOf = () => holder.clientWidth / (view.to - view.from);

// The first span of a level that ends after a time.
function firstAfter(lane, level, time) {
  let [low, high] = [0, level.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.start[level[middle]] + lane.length[level[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function drawLevel(brush, lane, level, top, palette) {
  const scale = scaleOf();
  const height = LANE.level - 2;
  const weights = new Float64Array(HOST_COLOR + 1);
  let [pixel, covered, hasChosen] = [-1, 0, false];
  const faded = chosen && lane.isKernel ? 0.15 : chosen ? 0.5 : 1;
  const flush = () => {
    if (pixel < 0) return;
    let best = 0;
    for (let c = 1; c < weights.length; c++) if (weights[c] > weights[best]) best = c;
    brush.globalAlpha = hasChosen ? 1 : faded * Math.min(1, 0.3 + 0.7 * covered);
    brush.fillStyle = colorList[best];
    brush.fillRect(pixel, top, hasChosen ? 2 : 1, height);
    weights.fill(0);
    [pixel, covered, hasChosen] = [-1, 0, false];
  };
  for (let place = firstAfter(lane, level, view.from); place < level.length; place++) {
    const i = level[place];
    if (lane.start[i] > view.to) break;
    const left = (lane.start[i] - view.from) * scale;
    const width = lane.length[i] * scale;
    const marked = isChosen(lane, i);
    if (width < 1.5) {
      if (Math.floor(left) !== pixel) flush();
      pixel = Math.floor(left);
      covered += width;
      // a pixel has the color of what is highlighted in it
      weights[lane.color(i)] += marked ? 1e6 : width + 1e-6;
      hasChosen ||= marked;
      continue;
    }
    flush();
    const [x, right] = [Math.max(left, -2), Math.min(left + width, holder.clientWidth + 2)];
    brush.globalAlpha = marked ? 1 : faded;
    brush.fillStyle = colorList[lane.color(i)];
    brush.fillRect(x, top, Math.max(right - x - (width > 4 ? 0.5 : 0), 1), height);
    if (right - x > 28) {
      brush.fillStyle = faded < 0.5 && !marked ? palette.ink : inkOn(colorList[lane.color(i)]);
      brush.globalAlpha = marked || !chosen ? 1 : 0.5;
      label(brush, nameOf(lane, i), Math.max(x, 0) + 3, top + height / 2, right - Math.max(x, 0) - 6);
    }
  }
  flush();
  brush.globalAlpha = 1;
}

// Text of limited width: cut by the usual width of a character, because names are long and many.
function label(brush, text, x, y, room) {
  const most = Math.floor(room / 6.6);
  if (most > 1) brush.fillText(text.length > most ? `${text.slice(0, most - 1)}…` : text, x, y, room);
}

function drawAxis(brush, palette) {
  const [width, span] = [holder.clientWidth, view.to - view.from];
  const rough = (span * 90) / width;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
  brush.fillStyle = palette.card;
  brush.fillRect(0, 0, width, LANE.axis);
  brush.fillStyle = palette.faint;
  // 0 is the first launch
  const first = Math.ceil((view.from - line.begin_ns) / step);
  for (let n = 0; n < width / 20; n++) {
    const tick = (first + n) * step;
    const x = (tick + line.begin_ns - view.from) * scaleOf();
    brush.fillRect(x, LANE.axis - 4, 1, 4);
    brush.fillText(axisText(tick, step), x + 3, LANE.axis / 2);
  }
}

// Ticks of one axis share a unit and have the digits in which they differ.
function axisText(time, step) {
  const size = Math.max(Math.abs(view.from - line.begin_ns), Math.abs(view.to - line.begin_ns));
  const [unit, factor] = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, f]) => size >= f) || ["ns", 1];
  const places = Math.min(Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9)), 9);
  return `${time < 0 ? "−" : ""}${Math.abs(time / factor).toFixed(places)} ${unit}`;
}

function frame(brush, palette) {
  if (!cursor) return;
  const { lane, i } = cursor;
  const scale = scaleOf();
  const x = (lane.start[i] - view.from) * scale;
  const y = lane.top + LANE.title + lane.level[i] * LANE.level - holder.scrollTop;
  brush.strokeStyle = palette.ink;
  brush.lineWidth = 2;
  brush.strokeRect(x - 1, y - 1, Math.max(lane.length[i] * scale, 1) + 2, LANE.level);
}

function draw() {
  const palette = colors();
  colorList = [...data.classes.map((_, i) => classColor(i)), palette.none];
  const [width, height] = [holder.clientWidth, Math.min(contentHeight, LANE.most)];
  const density = devicePixelRatio || 1;
  holder.style.height = `${height}px`;
  spacer.style.height = `${contentHeight - height}px`;
  canvas.width = Math.round(width * density);
  canvas.height = Math.round(height * density);
  canvas.style.height = `${height}px`;
  const brush = canvas.getContext("2d");
  brush.setTransform(density, 0, 0, density, 0, 0);
  brush.font = "11px system-ui, sans-serif";
  brush.textBaseline = "middle";
  for (const lane of lanes) {
    const top = lane.top - holder.scrollTop;
    if (top > height || top + LANE.title + lane.levels.length * LANE.level < 0) continue;
    brush.fillStyle = palette.line;
    brush.fillRect(0, top, width, 1);
    lane.levels.forEach((level, n) =>
      drawLevel(brush, lane, level, top + LANE.title + n * LANE.level, palette));
    brush.fillStyle = palette.faint;
    brush.fillText(lane.title, 3, top + LANE.title / 2 + 1);
  }
  frame(brush, palette);
  drawAxis(brush, palette);
  byId("range").textContent = lanes.length
    ? `${seconds(Math.min(view.to, extent.to) - Math.max(view.from, 0))} of ${seconds(extent.to)}` : "";
}

let isWaiting = false;
function schedule() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; draw(); });
}
if (!lanes.length) {
  byId("current").textContent = "The trace has no time line: it records durations alone.";
  holder.hidden = true;
  holder.previousElementSibling.hidden = true;
}
// Changes of the theme draw every chart of a page again.
charts.set("lanes", { chart: true });

function look(from, to) {
  // times of a double have 16 digits
  const least = Math.max(to - from, LEAST_VIEW_NS, 1e-12 * extent.to);
  const room = Math.max(extent.to, view.to, line.end_ns) * 1.02;
  const span = Math.min(least, room * 1.04);
  const begin = Math.min(Math.max(from, -0.02 * room), room * 1.02 - span);
  [view.from, view.to] = [begin, begin + span];
  hideTip();
  schedule();
}

function zoom(factor, x = holder.clientWidth / 2) {
  const centre = view.from + x / scaleOf();
  look(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

const pan = (share) => look(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));
const showAll = () => look(-0.01 * extent.to, extent.to * 1.01);

// The span at a place of the canvas, or the nearest one within a few pixels.
function spanAt(x, y) {
  const height = y + holder.scrollTop;
  const lane = lanes.find((l) => height >= l.top + LANE.title
    && height < l.top + LANE.title + l.levels.length * LANE.level);
  if (!lane || y < LANE.axis) return null;
  const level = lane.levels[Math.floor((height - lane.top - LANE.title) / LANE.level)];
  const scale = scaleOf();
  const time = view.from + x / scale;
  let [best, least] = [null, NEAR];
  for (let place = firstAfter(lane, level, time - NEAR / scale); place < level.length; place++) {
    const i = level[place];
    if (lane.start[i] > time + NEAR / scale) break;
    const far = scale * Math.max(lane.start[i] - time, time - lane.start[i] - lane.length[i], 0);
    if (far < least || (far === least && best === null)) [best, least] = [{ lane, i }, far];
  }
  return best;
}

const seconds = (time) => quantity(time / 1e9, "s");

function linesOf({ lane, i }) {
  const when = `${seconds(lane.length[i])}, from ${seconds(lane.start[i] - line.begin_ns)}`;
  if (lane.kind === "steps") return [nameOf(lane, i), when];
  if (lane.kind === "host") return [...line.operators[lane.which[i]], `${when}, on the host`];
  const row = kernelRows[lane.which[i]];
  const text = (name) => textOf(name, row);
  const value = (name) => (columnOf(name) < 0 ? null : row[columnOf(name)]);
  const [floor, part, count] = [value("floor_s"), value("floor_share"), value("launches")];
  const mean = value("time_s") / count;
  return [
    `${lane.kind === "launches" ? "launch of " : ""}${at(data.names, lane.which[i])}`,
    [text("operator"), text("shapes")].filter((t) => t).join(" "),
    text("class"),
    lane.wait[i] >= 0 ? `${when}, ${seconds(lane.wait[i])} after its launch began` : when,
    `${count} launches, ${quantity(mean, "s")} on average`,
    floor === null ? "no lower bound here" : `lower bound ${quantity(floor / data.executions[lane.which[i]], "s")}`
      + ` of one execution: ${share(part, 1)} of the operator's time, by ${text("limit")}`,
  ];
}

function hideTip() {
  tipBox.hidden = true;
}

function showTip(span, x, y) {
  const [title, ...rest] = linesOf(span);
  tipBox.replaceChildren(element("b", {}, title), ...rest.filter((l) => l).map((l) => element("div", {}, l)));
  tipBox.hidden = false;
  const left = Math.min(x + 14, innerWidth - tipBox.offsetWidth - 8);
  const below = y + 18 + tipBox.offsetHeight < innerHeight;
  tipBox.style.left = `${Math.max(left, 4)}px`;
  tipBox.style.top = `${below ? y + 18 : Math.max(y - tipBox.offsetHeight - 10, 4)}px`;
}

const pointers = new Map();
let moved = 0;
const placeOf = (e) => {
  const box = canvas.getBoundingClientRect();
  return [e.clientX - box.left, e.clientY - box.top];
};

function pinch(e) {
  const [other] = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
  const was = pointers.get(e.pointerId);
  const [old, now] = [Math.abs(was.x - other.x), Math.abs(e.clientX - other.x)];
  const middle = (e.clientX + other.x) / 2 - canvas.getBoundingClientRect().left;
  if (old > 4 && now > 4) zoom(old / now, middle);
}

canvas.addEventListener("pointerdown", (e) => {
  pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
  moved = 0;
  canvas.setPointerCapture(e.pointerId);
});
canvas.addEventListener("pointermove", (e) => {
  const was = pointers.get(e.pointerId);
  if (!was) {
    cursor = spanAt(...placeOf(e));
    if (cursor) showTip(cursor, e.clientX, e.clientY);
    else hideTip();
    schedule();
    return;
  }
  if (pointers.size > 1) {
    moved = Infinity;
    pinch(e);
  } else {
    const [dx, dy] = [e.clientX - was.x, e.clientY - was.y];
    moved += Math.abs(dx) + Math.abs(dy);
    if (moved > NEAR) {
      look(view.from - dx / scaleOf(), view.to - dx / scaleOf());
      if (e.pointerType === "mouse") holder.scrollTop -= dy;
    }
  }
  pointers.set(e.pointerId, { x: e.clientX, y: e.clientY });
});
canvas.addEventListener("pointerup", (e) => {
  if (moved <= NEAR && pointers.size === 1) {
    cursor = spanAt(...placeOf(e));
    if (cursor) { showTip(cursor, e.clientX, e.clientY); choose(); } else { hideTip(); select(null, "timeline"); }
  }
  pointers.delete(e.pointerId);
});
canvas.addEventListener("pointercancel", (e) => pointers.delete(e.pointerId));
// a finger leaves when it is lifted
canvas.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") hideTip(); });
canvas.addEventListener("wheel", (e) => {
  const isSideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
  const isWhole = view.to - view.from >= extent.to;
  // at the whole trace the page scrolls on
  if (!isSideways && e.deltaY > 0 && isWhole) return;
  e.preventDefault();
  if (isSideways) pan((e.deltaX || e.deltaY) / holder.clientWidth);
  else zoom(Math.exp(Math.min(Math.max(e.deltaY, -100), 100) * 0.004), placeOf(e)[0]);
}, { passive: false });
holder.addEventListener("scroll", schedule);
new ResizeObserver(schedule).observe(holder);

function choose() {
  if (cursor && cursor.lane.isKernel) select(cursor.lane.which[cursor.i], "timeline");
}

// Highlighting: one kernel, or the kernels of a row or class.
function highlight(kernels, words) {
  chosen = kernels && new Set(kernels);
  byId("clear").hidden = chosen === null;
  const count = chosen === null ? 0 : lanes.reduce((n, lane) => n
    + (lane.kind === "device" ? lane.which.reduce((m, w) => m + chosen.has(w), 0) : 0), 0);
  byId("current").textContent = chosen === null ? "" : `${words}: ${count} launches highlighted`;
  schedule();
}

function press(element_) {
  for (const each of document.querySelectorAll("[data-class], tr[aria-selected]")) {
    if (each.dataset.class) each.setAttribute("aria-pressed", String(each === element_));
    else each.setAttribute("aria-selected", String(each === element_));
  }
}

onSelect((kernel) => {
  press(null);
  highlight(kernel === null ? null : [kernel], kernel === null ? "" : kernelRows[kernel][columnOf("kernel")]);
});

function toggle(button, isOn, kernels, words) {
  select(null, "timeline");
  if (isOn) return;
  highlight(kernels, words);
  press(button);
}

for (const button of document.querySelectorAll("[data-class]")) {
  const number = data.classes.indexOf(button.dataset.class);
  button.querySelector("i").style.background = classColor(number);
  button.addEventListener("click", () => toggle(button, button.getAttribute("aria-pressed") === "true",
    classOf.flatMap((c, i) => (c === number ? [i] : [])), button.dataset.class));
}
for (const [name, groups] of Object.entries(data.groups)) {
  for (const row of document.querySelectorAll(`#${name} tbody tr`)) {
    const go = () => toggle(row, row.getAttribute("aria-selected") === "true", groups[row.dataset.place],
      name === "operators" ? row.cells[0].textContent : "product");
    row.setAttribute("aria-selected", "false");
    row.tabIndex = 0;
    row.addEventListener("click", go);
    row.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  }
}

// Steps to another span: the next of the lane, or the next that is highlighted.
function stepTo(direction) {
  const start = cursor || { lane: lanes.find((l) => l.kind === "device") || lanes[0], i: null };
  const { lane } = start;
  if (!lane) return;
  let i = start.i === null ? Math.max(lane.start.findIndex((t) => t >= view.from), 0) - direction : start.i;
  const isSought = (n) => chosen === null || !lane.isKernel || chosen.has(lane.which[n]);
  do i += direction; while (i >= 0 && i < lane.which.length && !isSought(i));
  if (i >= 0 && i < lane.which.length) moveTo({ lane, i });
}

function stepLane(direction) {
  const place = cursor ? lanes.indexOf(cursor.lane) + direction : 0;
  const lane = lanes[Math.min(Math.max(place, 0), lanes.length - 1)];
  if (!lane) return;
  const time = cursor ? cursor.lane.start[cursor.i] : view.from;
  const next = lane.start.findIndex((t) => t >= time);
  moveTo({ lane, i: next < 0 ? lane.which.length - 1 : next });
}

function moveTo(span) {
  cursor = span;
  const { lane, i } = span;
  const [begin, end] = [lane.start[i], lane.start[i] + lane.length[i]];
  const half = (view.to - view.from) / 2;
  if (begin < view.from || Math.min(end, begin + half) > view.to) look(begin - half, begin + half);
  const y = lane.top + LANE.title + lane.level[i] * LANE.level;
  if (y < holder.scrollTop + LANE.axis) holder.scrollTop = y - LANE.axis - LANE.title;
  if (y + LANE.level > holder.scrollTop + holder.clientHeight) holder.scrollTop = y + 2 * LANE.level - holder.clientHeight;
  const box = canvas.getBoundingClientRect();
  showTip(span, box.left + Math.max((begin - view.from) * scaleOf(), 0), box.top + y - holder.scrollTop + 8);
  byId("current").textContent = linesOf(span).filter((l) => l).join("; ");
  schedule();
}

const KEYS = {
  "+": () => zoom(0.6), "=": () => zoom(0.6), w: () => zoom(0.6),
  "-": () => zoom(1 / 0.6), _: () => zoom(1 / 0.6), s: () => zoom(1 / 0.6),
  a: () => pan(-0.2), d: () => pan(0.2), 0: showAll,
  ArrowRight: () => stepTo(1), ArrowLeft: () => stepTo(-1),
  ArrowDown: () => stepLane(1), ArrowUp: () => stepLane(-1),
  Enter: () => { choose(); if (cursor && cursor.lane.isKernel) byId("kernels").scrollIntoView(); },
};
holder.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(KEYS, e.key)) return;
  KEYS[e.key]();
  e.preventDefault();
});
holder.addEventListener("blur", hideTip);
addEventListener("keydown", (e) => {
  const isTyping = e.target instanceof Element && e.target.closest("input");
  if (e.key === "Escape") { select(null, "timeline"); cursor = null; hideTip(); schedule(); }
  else if (e.key === "/" && !isTyping) { byId("search").focus(); e.preventDefault(); }
});
byId("search").addEventListener("input", () => filterTable(byId("search").value));
byId("closer").addEventListener("click", () => zoom(0.5));
byId("wider").addEventListener("click", () => zoom(2));
byId("whole").addEventListener("click", showAll);
byId("clear").addEventListener("click", () => select(null, "timeline"));

// Paper is light.
let themeBefore = "";
addEventListener("beforeprint", () => { themeBefore = root.dataset.theme || ""; setTheme("light"); draw(); });
addEventListener("afterprint", () => { setTheme(themeBefore); });
