// Live bytes at every step of the run.

function buildMemory(chart, palette) {
  const line = (report, isBefore) => ({
    type: "line",
    name: before ? `${isBefore ? "old" : "new"}: ${report.label}` : report.label,
    color: isBefore ? palette.faint : palette.accent,
    step: "middle",
    symbol: "none",
    sampling: "max",
    animation: false,
    data: report.memory.live_bytes.map((b, i) => [i, b]),
    lineStyle: { width: 1.2, color: isBefore ? palette.faint : palette.accent,
      type: isBefore ? "dashed" : "solid" },
    areaStyle: isBefore ? undefined : { color: palette.accent, opacity: 0.18 },
    markPoint: isBefore || report.memory.peak === null ? undefined : {
      symbol: "circle", symbolSize: 8, itemStyle: { color: palette.more },
      data: [{ coord: [report.memory.peak, report.memory.live_bytes[report.memory.peak]] }],
      label: { show: true, position: "top", color: palette.ink,
        formatter: `peak ${quantity(report.memory.live_bytes[report.memory.peak], "B")}` },
    },
  });
  const both = before ? [before, shown] : [shown];
  const top = Math.max(1, ...both.flatMap((r) => r.memory.live_bytes));
  const interval = 2 ** Math.ceil(Math.log2(top / 5));
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    grid: { left: 76, right: 20, top: 28, bottom: 42 },
    tooltip: { trigger: "axis", ...tooltip(palette, (points) => {
      const i = points[0].data[0];
      return tip(shown.memory.nodes[i] || `step ${i}`, `step ${i}`,
        ...points.map((f) => `${quantity(f.data[1], "B")}${before ? ` ${f.seriesName}` : ""}`));
    }) },
    legend: before ? { top: 0, textStyle: { color: palette.ink } } : undefined,
    xAxis: { type: "value", name: "step", nameLocation: "middle", nameGap: 24, min: 0,
      max: Math.max(1, ...both.map((r) => r.memory.live_bytes.length - 1)),
      axisLabel: { color: palette.faint }, nameTextStyle: { color: palette.faint },
      splitLine: { show: false }, axisLine: { lineStyle: { color: palette.line } } },
    yAxis: { type: "value", interval, max: Math.ceil((top * 1.08) / interval) * interval,
      axisLabel: { color: palette.faint, formatter: (v) => quantity(v, "B").replace(".00", "") },
      splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } } },
    dataZoom: [{ type: "inside", zoomOnMouseWheel: "ctrl", filterMode: "none" }],
    series: both.map((r) => line(r, r === before)),
  }, true);
}

const placeOf = new Map(shown.graph.names.map((name, i) => [name, i]));

addChart("memory-chart", buildMemory, (chart) => {
  chart.getZr().on("click", (e) => {
    const [i] = chart.convertFromPixel({ seriesIndex: 0 }, [e.offsetX, e.offsetY]);
    const node = placeOf.get(shown.memory.nodes[Math.round(i)]);
    if (node === undefined) return;
    if (shown.graph.kernel[node] >= 0) select(shown.graph.kernel[node], "memory");
    focusNode(node);
  });
});
