// The graph: one module at a time, or all nodes; boxes outside the window are not drawn.

const [BOX_X, BOX_Y] = [132, 42];
const view = { scope: 0, isWhole: false, at: -1, window: null };
const METRICS = {
  time: "time", bound: "limited by", floor: "time over lower bound",
  ...(data.comparison ? { delta: "change in time" } : {}),
};

const heatStops = (palette) =>
  [palette.cold, palette["hot-1"], palette["hot-2"], palette["hot-3"], palette["hot-4"]];

// The root of a time's part of the longest there is to compare with.
function heat(time, longest, palette) {
  return mixed(heatStops(palette), Math.sqrt(time / longest));
}

// A kernel's time counts at its heaviest node; those that ride along in it are paler.
const PALER = 1 / 12;

function timeOf(v) {
  if (v < 0) return moduleTime[~v];
  const kernel = graphOf.kernel[v];
  if (kernel < 0) return 0;
  return servedTime[kernel] * (graphOf.anchor[v] === kernel ? 1 : PALER);
}

function deltaOf(kernel) {
  return data.comparison && kernel >= 0 ? data.comparison.delta_s[kernel] : null;
}

function deltaFill(kernel, palette) {
  const delta = deltaOf(kernel);
  return delta === null || delta === undefined ? null : changeFill(delta, palette);
}

function changeFill(delta, palette) {
  const part = Math.abs(delta) / (data.comparison.largest_s || 1);
  return mixed([palette.none, delta > 0 ? palette.more : palette.less], Math.sqrt(part));
}

function deltaText(kernel) {
  const delta = deltaOf(kernel);
  return delta === null || delta === undefined ? "" : `${signed(delta, "s")} compared with the old run`;
}

const BINDS = ["matrix", "vector", "special", "integer", "l1", "l2", "device", "waves", "launch"];
const HUES = ["#4e79a7", "#76b7b2", "#b07aa1", "#9c755f", "#86bcb6", "#f28e2b", "#59a14f", "#edc948",
  "#bab0ac"];

function fillOf(vertex, longest, palette) {
  const metric = byId("graph-color").value;
  if (metric === "time") return heat(timeOf(vertex), longest, palette);
  if (vertex < 0) return metric === "delta" ? changeFill(moduleDelta[~vertex], palette) : palette.track;
  const kernel = graphOf.kernel[vertex];
  if (kernel < 0) return palette.cold;
  const time = shown.kernels.time_s[kernel];
  if (metric === "bound") return HUES[BINDS.indexOf(at(shown.kernels.bound, kernel))] || palette.none;
  if (metric === "delta") return deltaFill(kernel, palette) || palette.none;
  if (metric === "floor") {
    const above = time / (shown.kernels.floor_s[kernel] || time);
    return mixed([palette.cold, palette["hot-2"], palette["hot-4"]], Math.log10(above) / 2);
  }
  return palette.none;
}

function vertices() {
  const layout = view.isWhole ? graphOf.whole : graphOf.scopes[view.scope];
  const children = layout.children || graphOf.names.map((_, i) => i);
  return { ...layout, children };
}

function vertexName(v) {
  return v < 0 ? graphOf.modules[~v] : at(graphOf.ops, v);
}

// What tells a node from its neighbours: the last part of its name that is not just its operator.
function vertexNote(v) {
  if (v < 0) return share(moduleTime[~v], shown.time_s || shown.kernels_s);
  const parts = graphOf.names[v].split("/").filter((p) => p);
  const last = parts.pop() || "";
  const home = graphOf.modules[graphOf.home[v]].split("/").pop();
  const above = parts[parts.length - 1];
  return last.startsWith(at(graphOf.ops, v)) && above && above !== home ? above : last;
}

function vertexTip(v) {
  if (v < 0) return moduleTip({ module: ~v, value: moduleTime[~v] });
  const k = graphOf.kernel[v];
  const name = graphOf.names[v];
  if (k < 0) return tip(`${vertexName(v)} ${name}`, "launches no kernel");
  const rides = graphOf.anchor[v] === k ? "" : "part of ";
  const time = shown.kernels.time_s[k];
  return tip(`${vertexName(v)} ${name}`, `${rides}kernel ${k}: ${kernelName(shown, k)}`,
    `${took(shown, k)}, ${share(time, shown.time_s || shown.kernels_s)} of the time; lower bound ` +
    quantity(shown.kernels.floor_s[k], "s"),
    `limited by ${at(shown.kernels.bound, k)}`, deltaText(k));
}

// The window that shows everything with square pixels, boxes not larger than they need to be.
function fitted(layout, width, height) {
  const [left, right] = [Math.min(...layout.x) - BOX_X, Math.max(...layout.x) + BOX_X];
  const [top, bottom] = [Math.min(...layout.y) - BOX_Y, Math.max(...layout.y) + BOX_Y];
  const scale = Math.max((right - left) / width, (bottom - top) / height, 0.8);
  const [w, h] = [width * scale, height * scale];
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return [x - w / 2, x + w / 2, y - h / 2, y + h / 2];
}

function lineData(layout) {
  const lines = [];
  for (let i = 0; i < layout.edges.length; i += 2) {
    const [a, b] = [layout.edges[i], layout.edges[i + 1]];
    lines.push({ coords: [[layout.x[a], layout.y[a] + BOX_Y / 2], [layout.x[b], layout.y[b] - BOX_Y / 2]] });
  }
  return lines;
}

function buildGraph(chart, palette) {
  const layout = vertices();
  if (!layout.children.length) {
    return chart.setOption({ title: { text: "no node executes", textStyle: { color: palette.faint, fontSize: 13 } } }, true);
  }
  const whole = fitted(layout, chart.getWidth(), chart.getHeight());
  if (!isPrinting) view.window = view.window || whole;
  const [x0, x1, y0, y1] = isPrinting ? whole : view.window;
  const longest = Math.max(1e-15, ...layout.children.map(timeOf));
  const fills = layout.children.map((v) => fillOf(v, longest, palette));
  const isHit = (v) => v >= 0 && selected !== null && graphOf.kernel[v] === selected;
  chart.setOption({
    animation: false,
    grid: { left: 0, right: 0, top: 0, bottom: 0 },
    tooltip: tooltip(palette, (p) => (p.seriesType === "custom" ? vertexTip(layout.children[p.dataIndex]) : "")),
    xAxis: { type: "value", show: false, min: x0, max: x1 },
    yAxis: { type: "value", show: false, min: y0, max: y1, inverse: true },
    series: [
      { type: "lines", zlevel: 0, coordinateSystem: "cartesian2d", silent: true, animation: false, clip: true,
        large: layout.edges.length > 4000, data: lineData(layout),
        lineStyle: { color: palette.faint, width: 1, opacity: 0.55, curveness: 0 } },
      { type: "custom", animation: false, clip: true, progressive: 0,
        data: layout.children.map((v, i) => [layout.x[i], layout.y[i]]),
        renderItem: (params, api) => {
          const i = params.dataIndex;
          const v = layout.children[i];
          const [x, y] = api.coord([layout.x[i], layout.y[i]]);
          const [w, h] = api.size([BOX_X, BOX_Y]);
          const area = params.coordSys;
          if (x + w < area.x || x - w > area.x + area.width || y + h < 0 || y - h > area.height) {
            return null;
          }
          const group = box(x - w / 2, y - h / 2, w, h, fills[i], vertexName(v), v < 0, palette, vertexNote(v));
          if (isHit(v) || i === view.at) {
            group.children[0].style = { ...group.children[0].style, stroke: palette.accent, lineWidth: 3 };
          }
          return group;
        } },
    ],
  }, true);
  crumbs();
  legend(longest, palette);
}

function crumbs() {
  const path = [];
  for (let m = view.scope; m >= 0; m = graphOf.parent[m]) path.unshift(m);
  byId("crumbs").replaceChildren(...(view.isWhole ? [] : path.flatMap((m, i) => [
    i ? " / " : "", element("button", { type: "button", onclick: () => enter(m) }, graphOf.modules[m]),
  ])));
}

function legend(longest, palette) {
  const metric = byId("graph-color").value;
  const ramp = (stops) => element("i", { style: `background:linear-gradient(90deg,${stops.join(",")})` });
  const parts = {
    time: () => ["0", ramp(heatStops(palette)), quantity(longest, "s")],
    floor: () => ["1×", ramp([palette.cold, palette["hot-2"], palette["hot-4"]]), "100× the floor"],
    delta: () => ["faster", ramp([palette.less, palette.none, palette.more]), "slower"],
    bound: () => [...new Set(shown.kernels.bound.texts)].flatMap((b) => [
      element("i", { class: "box", style: `background:${HUES[BINDS.indexOf(b)] || palette.none}` }), b]),
  }[metric]();
  byId("scale").replaceChildren(...parts);
}

function enter(m) {
  Object.assign(view, { scope: m, isWhole: false, at: -1, window: null });
  byId("graph-form").value = "modules";
  draw("graph-chart");
}

function open(v) {
  if (v < 0) enter(~v);
  else if (graphOf.kernel[v] >= 0) select(graphOf.kernel[v], "graph");
}

// Show a node where it is: its module's drawing, with the node in the middle if that is large.
function focusNode(node) {
  Object.assign(view, { scope: graphOf.home[node], isWhole: false, window: null });
  view.at = vertices().children.indexOf(node);
  byId("graph-form").value = "modules";
  if (charts.get("graph-chart").chart) draw("graph-chart");
}

function zoom(factor, px, py) {
  if (!view.window) return;
  const [x0, x1, y0, y1] = view.window;
  const [x, y] = [x0 + (x1 - x0) * px, y0 + (y1 - y0) * py];
  view.window = [x - (x - x0) * factor, x + (x1 - x) * factor, y - (y - y0) * factor, y + (y1 - y) * factor];
  moveWindow();
}

let isWaiting = false;
function moveWindow() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    const [x0, x1, y0, y1] = view.window;
    charts.get("graph-chart").chart.setOption({ xAxis: { min: x0, max: x1 }, yAxis: { min: y0, max: y1 } });
  });
}

function keepInView(i, layout) {
  const [x0, x1, y0, y1] = view.window;
  const [dx, dy] = [
    layout.x[i] < x0 || layout.x[i] > x1 ? layout.x[i] - (x0 + x1) / 2 : 0,
    layout.y[i] < y0 || layout.y[i] > y1 ? layout.y[i] - (y0 + y1) / 2 : 0];
  view.window = [x0 + dx, x1 + dx, y0 + dy, y1 + dy];
}

for (const [name, words] of Object.entries(METRICS)) {
  byId("graph-color").append(element("option", { value: name }, words));
}
if (data.comparison) byId("graph-color").value = "delta";
byId("graph-color").addEventListener("change", () => draw("graph-chart"));
byId("graph-form").addEventListener("change", (e) => {
  Object.assign(view, { isWhole: e.target.value === "whole", at: -1, window: null });
  draw("graph-chart");
});

const graphHolder = byId("graph-chart");
addChart("graph-chart", buildGraph, (chart) => {
  chart.on("click", { seriesType: "custom" }, (p) => open(vertices().children[p.dataIndex]));
  const zr = chart.getZr();
  let grip = null;
  zr.on("mousedown", (e) => { grip = view.window && [e.offsetX, e.offsetY, ...view.window]; });
  zr.on("mouseup", () => { grip = null; });
  zr.on("globalout", () => { grip = null; });
  zr.on("mousemove", (e) => {
    if (!grip) return;
    const [px, py, x0, x1, y0, y1] = grip;
    const dx = ((px - e.offsetX) * (x1 - x0)) / graphHolder.clientWidth;
    const dy = ((py - e.offsetY) * (y1 - y0)) / graphHolder.clientHeight;
    view.window = [x0 + dx, x1 + dx, y0 + dy, y1 + dy];
    moveWindow();
  });
});
graphHolder.addEventListener("wheel", (e) => {
  // The page scrolls past the graph unless the graph has the focus.
  if (!view.window || (!e.ctrlKey && document.activeElement !== graphHolder)) return;
  e.preventDefault();
  const place = graphHolder.getBoundingClientRect();
  zoom(e.deltaY > 0 ? 1.2 : 1 / 1.2, (e.clientX - place.left) / place.width, (e.clientY - place.top) / place.height);
}, { passive: false });
graphHolder.addEventListener("keydown", (e) => {
  const layout = vertices();
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (move && layout.children.length) {
    view.at = (view.at + move + layout.children.length) % layout.children.length;
    keepInView(view.at, layout);
    const chart = draw("graph-chart");
    chart.dispatchAction({ type: "showTip", seriesIndex: 1, dataIndex: view.at });
  } else if (e.key === "Enter" && view.at >= 0) open(layout.children[view.at]);
  else if (e.key === "Backspace") enter(Math.max(graphOf.parent[view.scope], 0));
  else if (e.key === "+" || e.key === "=") zoom(1 / 1.3, 0.5, 0.5);
  else if (e.key === "-") zoom(1.3, 0.5, 0.5);
  else if (e.key === "0") { view.window = null; draw("graph-chart"); }
  else return;
  e.preventDefault();
  e.stopPropagation();
});
onSelect((kernel, from) => {
  if (kernel === null) return;
  const node = graphOf.anchor.indexOf(kernel);
  if (from === "graph" || view.isWhole || node < 0) {
    if (charts.get("graph-chart").chart) draw("graph-chart");
  } else focusNode(node);
});
