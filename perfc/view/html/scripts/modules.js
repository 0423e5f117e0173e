// Time by module path: a treemap, or a flame whose axis is the run.

const graphOf = shown.graph;
const moduleTime = sums(shown.kernels.time_s);
const moduleDelta = data.comparison ? sums(data.comparison.delta_s) : null;
const moduleKernels = sums(shown.kernels.time_s.map(() => 1));
const servedTime = withHelpers(shown.kernels.time_s);
const hottest = Math.max(0, ...shown.kernels.time_s);

// Part of the run below which a module of the treemap has no room for its kernels.
const CROWDED = .003;

// Sums over the kernels of the model, each with its helper launches.
function withHelpers(ofKernel) {
  const sum = new Float64Array(ofKernel.length);
  shown.kernels.served.forEach((served, kernel) => { sum[served] += ofKernel[kernel]; });
  return sum;
}

function sums(ofKernel) {
  const { anchor, home, parent, modules } = graphOf;
  const times = new Float64Array(modules.length);
  const served = withHelpers(ofKernel);
  anchor.forEach((kernel, node) => {
    if (kernel >= 0) times[home[node]] += served[kernel];
  });
  // A module stands behind the one it is in.
  for (let m = modules.length - 1; m > 0; m--) times[parent[m]] += times[m];
  return times;
}

// A cut label says nothing: a tile without room for its whole name has it in the tooltip alone.
const LETTER_PX = 7;

function hasRoom(name, value, areaOfSecond) {
  return Math.sqrt(value * areaOfSecond) * .62 >= name.length * LETTER_PX;
}

function branch(m, palette, areaOfSecond) {
  const { children } = graphOf.scopes[m];
  const branches = [];
  for (const c of children) {
    if (c < 0) {
      if (moduleTime[~c] > 0) branches.push(branch(~c, palette, areaOfSecond));
    } else if (graphOf.anchor[c] >= 0) {
      const kernel = graphOf.anchor[c];
      const value = servedTime[kernel];
      const fill = deltaFill(kernel, palette) || heat(value, hottest, palette);
      const name = kernelName(shown, kernel);
      branches.push({ name, value, kernel, itemStyle: { color: fill },
        label: { color: inkOn(fill), show: hasRoom(name, value, areaOfSecond) } });
    }
  }
  const drawn = { name: graphOf.modules[m], value: moduleTime[m], module: m, children: branches };
  if (moduleTime[m] >= CROWDED * moduleTime[0]) return drawn;
  // Too small to show what is inside: the color is that of its kernels on average.
  const fill = moduleDelta ? changeFill(moduleDelta[m] / moduleKernels[m], palette)
    : heat(moduleTime[m] / moduleKernels[m], hottest, palette);
  const label = { color: inkOn(fill), show: hasRoom(drawn.name, drawn.value, areaOfSecond) };
  return { ...drawn, itemStyle: { color: fill, borderColor: fill }, label, upperLabel: label };
}

function moduleTip(d) {
  const time = share(d.value, shown.time_s || shown.kernels_s);
  if (d.module !== undefined) {
    return tip(pathOf(d.module), `${quantity(d.value, "s")}, ${time} of the time`);
  }
  if (d.kernel === undefined) return "";
  const k = d.kernel;
  return tip(d.name, `kernel ${k}: ${took(shown, k)}, ${time} of the time`,
    `lower bound ${quantity(shown.kernels.floor_s[k], "s")}; limited by ${at(shown.kernels.bound, k)}`,
    deltaText(k));
}

function pathOf(m) {
  const parts = [];
  for (let i = m; i >= 0; i = graphOf.parent[i]) parts.unshift(graphOf.modules[i]);
  return parts.join(" / ");
}

function buildTreemap(chart, palette) {
  const root = branch(0, palette, chart.getWidth() * chart.getHeight() / (moduleTime[0] || 1));
  const bold = { show: true, height: 18, color: palette.ink, fontSize: 11, overflow: "truncate" };
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    tooltip: tooltip(palette, (p) => moduleTip(p.data || {})),
    series: [{
      type: "treemap",
      name: graphOf.modules[0],
      data: root.children,
      animation: false,
      // Deeper than any: without it the path below shows what lies in the middle.
      leafDepth: 99,
      roam: false,
      nodeClick: "zoomToNode",
      width: "100%", top: 4, bottom: 34, left: 0, right: 0,
      visibleMin: 20,
      childrenVisibleMin: 160,
      breadcrumb: { bottom: 2, itemStyle: { color: palette.track, textStyle: { color: palette.ink } },
        emphasis: { itemStyle: { color: palette.line } } },
      label: { fontSize: 11, overflow: "truncate" },
      upperLabel: bold,
      itemStyle: { color: palette.track, borderColor: palette.card, borderWidth: 1, gapWidth: 1 },
      emphasis: { upperLabel: bold, itemStyle: { borderColor: palette.ink } },
      levels: [{ itemStyle: { borderColor: palette.card, gapWidth: 2 }, upperLabel: { show: false } },
        ...[0, 1, 2, 3].map(() => ({ itemStyle: { color: palette.track,
          borderColor: palette.line, borderWidth: 2, gapWidth: 1 } }))],
    }],
  }, true);
}

function flameBars(palette) {
  const bars = [];
  const visit = (m, depth, start) => {
    let x = start;
    for (const c of graphOf.scopes[m].children) {
      const kernel = c < 0 ? -1 : graphOf.anchor[c];
      const value = c < 0 ? moduleTime[~c] : kernel >= 0 ? servedTime[kernel] : 0;
      if (!value) continue;
      const name = c < 0 ? graphOf.modules[~c] : kernelName(shown, kernel);
      bars.push({ value: [x, x + value, depth], name, time: value,
        kernel: c < 0 ? undefined : kernel, module: c < 0 ? ~c : undefined,
        fill: (c >= 0 && deltaFill(kernel, palette)) || heat(value, c < 0 ? shown.kernels_s : hottest, palette) });
      if (c < 0) visit(~c, depth + 1, x);
      x += value;
    }
  };
  visit(0, 0, 0);
  return bars;
}

function buildFlame(chart, palette) {
  const bars = flameBars(palette);
  const depth = Math.max(1, ...bars.map((b) => b.value[2] + 1));
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    grid: { left: 10, right: 10, top: 6, bottom: 30 },
    tooltip: tooltip(palette, (p) => moduleTip({ ...p.data, value: p.data.time })),
    xAxis: { type: "value", min: 0, max: shown.kernels_s || 1, splitLine: { show: false },
      axisLabel: { color: palette.faint, formatter: (v) => quantity(v, "s") } },
    yAxis: { type: "value", min: 0, max: depth, inverse: true, show: false },
    dataZoom: [{ type: "inside", xAxisIndex: 0, zoomOnMouseWheel: "ctrl", filterMode: "none",
      start: 0, end: 100 }],
    series: [{
      type: "custom",
      data: bars,
      clip: true,
      animation: false,
      encode: { x: [0, 1], y: 2 },
      renderItem: (params, api) => {
        const bar = bars[params.dataIndex];
        const [x0, y0] = api.coord([bar.value[0], bar.value[2]]);
        const [x1, y1] = api.coord([bar.value[1], bar.value[2] + 1]);
        const area = params.coordSys;
        const [left, right] = [Math.max(x0, area.x), Math.min(x1, area.x + area.width)];
        if (right - left < 0.4) return null;
        return box(left, y0, right - left, y1 - y0 - 1, bar.fill, bar.name,
          bar.module !== undefined, palette);
      },
    }],
  }, true);
}

// A rectangle with as much of its name as fits.
function box(x, y, width, height, fill, name, isModule, palette, second = "") {
  const group = { type: "group", children: [{
    type: "rect",
    shape: { x, y, width: Math.max(width, 0.6), height, r: Math.min(isModule ? 5 : 2, width / 4) },
    style: { fill, stroke: isModule ? palette.faint : palette.line, lineWidth: width > 6 ? 1 : 0 },
    emphasis: { style: { stroke: palette.ink, lineWidth: 2 } },
  }] };
  if (width > 26 && height > 9) {
    const tall = second && height > 30;
    const text = (words, dy, size, weight) => ({ type: "text", silent: true, style: {
      text: words, x: x + width / 2, y: y + height / 2 + dy, fill: inkOn(fill), align: "center",
      verticalAlign: "middle", fontSize: size, fontWeight: weight, width: width - 6,
      overflow: "truncate", ellipsis: "…" } });
    group.children.push(text(name, tall ? -7 : 0, 11, isModule ? 600 : 400));
    if (tall) group.children.push(text(second, 8, 10, 400));
  }
  return group;
}

function modulesForm() {
  return document.querySelector("input[name=modules-form]:checked").value;
}

const zoomed = [];

addChart("modules-chart", (chart, palette) => {
  (modulesForm() === "flame" ? buildFlame : buildTreemap)(chart, palette);
}, (chart) => {
  chart.on("click", (p) => {
    if (p.data && p.data.kernel !== undefined) select(p.data.kernel, "modules");
    else if (p.data && p.seriesType === "custom") zoomTo(chart, p.data.value);
    else if (p.data && p.data.module !== undefined) zoomed.push(p.data.module);
  });
});

function zoomTo(chart, [start, end]) {
  zoomed.push([start, end]);
  chart.dispatchAction({ type: "dataZoom", startValue: start, endValue: end });
}

for (const input of document.querySelectorAll("input[name=modules-form]")) {
  input.addEventListener("change", () => { zoomed.length = 0; draw("modules-chart"); });
}
byId("modules-chart").addEventListener("keydown", (e) => {
  if (e.key !== "Backspace") return;
  zoomed.length = 0;
  draw("modules-chart");
  e.preventDefault();
});
