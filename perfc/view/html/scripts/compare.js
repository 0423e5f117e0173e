// Rows of a comparison: expected times with ranges, and time against price or energy.

const rows = data.rows;
const differ = new Set(rows.map((r) => r.target)).size < rows.length;
const named = (r) => (differ ? r.label : r.target);
// Many machines stand closer, so that the page is looked through and not scrolled through.
const ROW = rows.length > 40 ? 15 : 24;
const FRAME = 84;

function rowTip(r) {
  return tip(
    r.label,
    `${quantity(r.time_s, "s")} (${quantity(r.low_s, "s")} to ${quantity(r.high_s, "s")})`,
    `lower bound ${quantity(r.floor_s, "s")}`,
    r.cost === null ? "" : `${quantity(r.cost, data.cost_unit)} ${data.cost}`,
    r.remark,
  );
}

function timeAxis(palette, name) {
  return {
    type: "log", name, nameLocation: "middle", nameGap: 28,
    axisLabel: { color: palette.faint, hideOverlap: true, formatter: (v) => quantity(v, "s") },
    axisLine: { lineStyle: { color: palette.line } },
    nameTextStyle: { color: palette.faint },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } },
  };
}

function rangeShape(palette) {
  return (params, api) => {
    const [from, to] = [api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(2)])];
    const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 },
      style: { stroke: palette.ink, lineWidth: 1.4 } });
    return { type: "group", children: [line(from[0], from[1], to[0], to[1]),
      line(from[0], from[1] - 4, from[0], from[1] + 4), line(to[0], to[1] - 4, to[0], to[1] + 4)] };
  };
}

function buildTimes(chart, palette) {
  const least = Math.min(...rows.map((r) => r.floor_s || r.time_s)) / 1.5;
  const from = 10 ** Math.floor(Math.log10(least));
  const isNarrow = chart.getWidth() < 560;
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    grid: { left: isNarrow ? 104 : 220, right: 20, top: 20, bottom: 50 },
    tooltip: { trigger: "item", ...tooltip(palette, (p) => rowTip(rows[p.dataIndex])) },
    xAxis: { ...timeAxis(palette, "time per run"), min: from },
    yAxis: { type: "category", inverse: true, data: rows.map(named), axisTick: { show: false },
      axisLabel: { color: palette.ink, fontSize: Math.min(12, ROW - 4), width: isNarrow ? 94 : 208, overflow: "truncate", interval: 0 },
      axisLine: { lineStyle: { color: palette.line } } },
    series: [
      { type: "scatter", z: 5, symbolSize: Math.min(11, ROW - 6),
        data: rows.map((r, i) => ({ value: [r.time_s, i], itemStyle: {
          color: r.remark ? palette.none : palette.accent,
          opacity: data.slo_s !== null && r.time_s > data.slo_s ? 0.45 : 1 } })),
      },
      { type: "line", silent: true, symbol: "none", lineStyle: { color: palette.more, type: "dashed", width: 1.2 },
        data: data.slo_s === null ? [] : [[data.slo_s, 0], [data.slo_s, rows.length - 1]] },
      { type: "custom", silent: true, z: 3, renderItem: rangeShape(palette),
        data: rows.map((r, i) => [r.low_s, r.high_s, i]), encode: { x: [0, 1], y: 2 } },
      { type: "scatter", silent: true, z: 4, symbol: "rect", symbolSize: [2, 14],
        color: palette.roof, data: rows.map((r, i) => [r.floor_s, i]) },
    ],
  }, true);
}

// What no other row beats in both; the line through them is the choice there is.
function frontier(points) {
  const sorted = points.slice().sort((a, b) => a.time_s - b.time_s || a.cost - b.cost);
  let least = Infinity;
  return sorted.filter((r) => {
    if (r.cost >= least) return false;
    least = r.cost;
    return true;
  });
}

function buildCost(chart, palette) {
  const points = rows.filter((r) => r.cost !== null && !r.remark);
  const best = new Set(frontier(points));
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    grid: { left: 76, right: 30, top: 24, bottom: 50 },
    tooltip: { trigger: "item", ...tooltip(palette, (p) => rowTip(p.data.row)) },
    xAxis: timeAxis(palette, "time per run"),
    yAxis: { type: "log", name: data.cost, nameLocation: "end", nameGap: 8,
      nameTextStyle: { color: palette.faint, align: "left" },
      axisLabel: { color: palette.faint, formatter: (v) => quantity(v, data.cost_unit) },
      axisLine: { lineStyle: { color: palette.line } },
      splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } } },
    series: [
      { type: "line", symbol: "none", silent: true, step: "end",
        lineStyle: { color: palette.accent, width: 1.4 },
        data: frontier(points).map((r) => [r.time_s, r.cost]) },
      { type: "scatter",
        data: points.map((r) => ({ row: r, value: [r.time_s, r.cost],
          symbolSize: best.has(r) ? 11 : 7,
          itemStyle: { color: best.has(r) ? palette.accent : palette.roof, opacity: 0.85 },
          label: { show: best.has(r), formatter: () => named(r), position: "right",
            color: palette.ink, fontSize: 11, textBorderColor: palette.card, textBorderWidth: 2 } })),
        labelLayout: { hideOverlap: true } },
    ],
  }, true);
}

byId("times-chart").style.height = `${Math.max(rows.length * ROW + FRAME, 190)}px`;
addChart("times-chart", buildTimes, () => {});
if (data.cost) addChart("cost-chart", buildCost, () => {});
