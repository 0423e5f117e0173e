// A served model: parts of steps, percentiles, memory; a search: cost against time per token.

const PARTS = {
  products: "level-1", experts: "hot-3", attention: "level-2", states: "hot-2",
  "norms and elements": "roof", head: "level-3", exchanges: "accent", drafts: "cold",
  sampling: "track", adapters: "less", encoder: "hot-1", host: "more",
};
const ROOM = {
  weights: "level-1", activations: "level-2", "contexts and graphs": "roof",
  "KV cache": "level-3", "pool of states": "level-3", "unused": "track",
};
const TARGETS = ["level-1", "level-2", "level-3", "more", "accent", "less", "roof", "hot-2"];

function plainAxis(palette, unit, name) {
  return {
    name, nameLocation: "middle", nameGap: 28,
    axisLabel: { color: palette.faint, hideOverlap: true, formatter: (v) => (v ? quantity(v, unit) : "0") },
    axisLine: { lineStyle: { color: palette.line } },
    nameTextStyle: { color: palette.faint },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } },
  };
}

function named(palette, names, width) {
  return { type: "category", inverse: true, data: names, axisTick: { show: false },
    axisLabel: { color: palette.ink, width, overflow: "break", lineHeight: 14, interval: 0 },
    axisLine: { lineStyle: { color: palette.line } } };
}

const legend = (palette, names) => ({ top: 0, type: "scroll", textStyle: { color: palette.ink },
  inactiveColor: palette.line, data: names });

// A power of two, so that marks of an axis of bytes are round.
function wholeStep(rows) {
  const whole = Math.max(...rows.map((r) => r.parts.reduce((sum, [, size]) => sum + size, 0)));
  return 2 ** Math.ceil(Math.log2(whole / 6));
}

// Bars of parts side by side, one bar a row.
function stacked(chart, palette, rows, colorOf, unit, tipOf, more) {
  const left = chart.getWidth() < 560 ? 96 : 190;
  const names = [...new Set(rows.flatMap((r) => r.parts.map(([name]) => name)))];
  const sizeOf = (row, name) => (row.parts.find(([n]) => n === name) || [name, 0])[1];
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    legend: legend(palette, names),
    grid: { left, right: 24, top: 44, bottom: 46 },
    tooltip: { trigger: "item", ...tooltip(palette, (p) => tipOf(rows[p.dataIndex], p.seriesName)) },
    xAxis: { type: "value", max: "dataMax", ...plainAxis(palette, unit, ""),
      interval: unit === "B" ? wholeStep(rows) : null },
    yAxis: named(palette, rows.map((r) => r.what), left - 10),
    series: [
      ...names.map((name) => ({ type: "bar", stack: "parts", name, barMaxWidth: 34,
        itemStyle: { color: color(colorOf[name] || "none"), borderColor: palette.card, borderWidth: 1 },
        data: rows.map((r) => sizeOf(r, name)) })),
      ...more,
    ],
  }, true);
}

function buildSteps(chart, palette) {
  const rows = data.steps.map((s) => ({ ...s, parts: s.parts.length ? s.parts : [["step", s.time_s]] }));
  // Each step has a scale of its own: a prompt is many times a decode.
  const shares = rows.map((r) => ({ ...r, parts: r.parts.map(([n, t]) => [n, t / r.time_s]) }));
  stacked(chart, palette, shares.map((r) => ({ ...r, what: `${r.what}\n${quantity(r.time_s, "s")}` })),
    PARTS, "", (row, name) => {
      const size = (row.parts.find(([n]) => n === name) || [name, 0])[1];
      return tip(row.what, `${name}: ${quantity(size * row.time_s, "s")}, ${share(size, 1)}`,
        `lower bound ${quantity(row.floor_s, "s")}`);
    }, [{ type: "scatter", silent: true, z: 5, symbol: "rect", symbolSize: [3, 44], color: palette.ink,
      data: shares.map((r, i) => [r.floor_s / r.time_s, i]) }]);
  chart.setOption({ xAxis: { axisLabel: { formatter: (v) => `${Math.round(100 * v)} %` } } });
}

function buildRoom(chart, palette) {
  stacked(chart, palette, [{ what: "memory", parts: data.memory }], ROOM, "B", (row, name) => {
    const size = row.parts.find(([n]) => n === name)[1];
    const whole = row.parts.reduce((sum, [, s]) => sum + s, 0);
    return tip(name, `${quantity(size, "B")}, ${share(size, whole)}`);
  }, []);
}

const [UPPER, LOWER] = [-10, 12];
const SHAPES = ["circle", "rect", "triangle"];

function buildLatencies(chart, palette) {
  const rows = data.latencies;
  const left = chart.getWidth() < 560 ? 96 : 190;
  const words = ["p50", "p90", "p99"];
  const tipOf = (r) => tip(r.what, `mean ${quantity(r.mean_s, "s")}`,
    r.range_s.length ? `${quantity(r.range_s[0], "s")} to ${quantity(r.range_s[1], "s")}` : "",
    ...words.map((w, i) => `${w} ${quantity(r.percentiles_s[i], "s")}`));
  const every = rows.flatMap((r) => [r.mean_s, ...r.range_s, ...r.percentiles_s]).filter((v) => v > 0);
  const least = 10 ** Math.floor(Math.log10(Math.min(...every)));
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    legend: legend(palette, [...words, "mean"]),
    grid: { left, right: 24, top: 44, bottom: 46 },
    tooltip: { trigger: "item", ...tooltip(palette, (p) => tipOf(rows[p.data.row])) },
    xAxis: { type: "log", min: least, ...plainAxis(palette, "s", "") },
    yAxis: named(palette, rows.map((r) => r.what), left - 10),
    series: [
      { type: "custom", silent: true, z: 3, encode: { x: [0, 1], y: 2 },
        data: rows.map((r, i) => [r.percentiles_s[0], r.percentiles_s[2], i]),
        renderItem: (params, api) => {
          const [a, b] = [0, 1].map((k) => api.coord([api.value(k), api.value(2)]));
          return { type: "line", style: { stroke: palette.line, lineWidth: 3 },
            shape: { x1: a[0], y1: a[1] + UPPER, x2: b[0], y2: b[1] + UPPER } };
        } },
      ...words.map((name, i) => ({ type: "scatter", name, z: 5, symbol: SHAPES[i], symbolSize: 12,
        symbolOffset: [0, UPPER], color: color(["level-1", "level-2", "hot-3"][i]),
        data: rows.map((r, row) => ({ value: [r.percentiles_s[i], row], row })) })),
      { type: "scatter", name: "mean", z: 6, symbolSize: 9, color: palette.ink, symbolOffset: [0, LOWER],
        data: rows.map((r, row) => ({ value: [r.mean_s, row], row })) },
      { type: "custom", silent: true, z: 5, encode: { x: [0, 1], y: 2 },
        data: rows.flatMap((r, i) => (r.range_s.length ? [[...r.range_s, i]] : [])),
        renderItem: (params, api) => {
          const [a, b] = [0, 1].map((k) => api.coord([api.value(k), api.value(2)]));
          const y = a[1] + LOWER;
          const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 },
            style: { stroke: palette.ink, lineWidth: 1.4 } });
          return { type: "group", children: [line(a[0], y, b[0], y), line(a[0], y - 4, a[0], y + 4),
            line(b[0], y - 4, b[0], y + 4)] };
        } },
    ],
  }, true);
}

function buildFront(chart, palette) {
  const targets = [...new Set(data.dots.map((d) => d[2]))];
  const { across, up, limit, kinds } = data;
  const best = data.dots.filter((d) => d[3]).sort((a, b) => a[0] - b[0]);
  const times = data.dots.map((d) => d[0]);
  const costs = data.dots.map((d) => d[1]);
  const tipOf = (d) => tip(d[2], d[4], `${across.name} ${quantity(d[0], across.unit)}`,
    `${up.name} ${quantity(d[1], up.unit)}`, kinds[d[3] ? 0 : 1]);
  const label = (v, unit) => (v ? quantity(Number(v.toPrecision(2)), unit) : "0");
  const axisOf = ({ name, unit }, values) => {
    const axis = plainAxis(palette, unit, name);
    // a score may be 0 or negative, which a logarithmic axis has no place for
    const range = Math.min(...values) > 0
      ? { type: "log", min: Math.min(...values) / 1.25, max: Math.max(...values) * 1.25 }
      : { type: "value" };
    return { ...axis, ...range, axisLabel: { ...axis.axisLabel, formatter: (v) => label(v, unit) } };
  };
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    legend: legend(palette, targets),
    grid: { left: 76, right: 30, top: 44, bottom: 50 },
    tooltip: { trigger: "item", ...tooltip(palette, (p) => tipOf(p.data.dot)) },
    xAxis: axisOf(across, times),
    yAxis: { ...axisOf(up, costs), nameGap: 56 },
    series: [
      { type: "line", silent: true, symbol: "none", step: "end", z: 2,
        lineStyle: { color: palette.ink, width: 1.2, opacity: 0.5 }, data: best.map((d) => [d[0], d[1]]) },
      { type: "line", silent: true, symbol: "none", z: 2,
        lineStyle: { color: palette.more, type: "dashed", width: 1.2 },
        data: limit === null ? [] : [Math.min(...costs) / 1.25, Math.max(...costs) * 1.25].map((c) => [limit, c]) },
      ...targets.map((name, i) => ({ type: "scatter", name, color: color(TARGETS[i % TARGETS.length]),
        data: data.dots.filter((d) => d[2] === name).map((d) => ({ dot: d, value: [d[0], d[1]],
          symbolSize: d[3] ? 13 : 6, itemStyle: { opacity: d[3] ? 1 : 0.45,
            borderColor: palette.ink, borderWidth: d[3] ? 1 : 0 } })) })),
    ],
  }, true);
}

const BUILDERS = { steps: [buildSteps, 80], latencies: [buildLatencies, 84], room: [buildRoom, 60], front: [buildFront, 0] };
for (const [name, [build, row]] of Object.entries(BUILDERS)) {
  const holder = byId(`${name}-chart`);
  if (!holder) continue;
  const rows = { steps: data.steps, latencies: data.latencies, room: [0] }[name];
  if (row) holder.style.height = `${rows.length * row + 96}px`;
  addChart(`${name}-chart`, build, () => {});
}
