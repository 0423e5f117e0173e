// Lines along the extent that is swept, one for each target or predictor.

const COLORS = ["level-1", "level-2", "level-3", "more", "accent", "less", "roof", "hot-2"];
const SHOWN_LINES = 8;

// Powers of two, as sizes and bytes mostly are.
function axes(palette, { name, unit }) {
  const common = {
    axisLabel: { color: palette.faint, hideOverlap: true }, nameTextStyle: { color: palette.faint },
    axisLine: { lineStyle: { color: palette.line } },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } },
  };
  return {
    xAxis: { type: "log", logBase: 2, name: data.along, nameLocation: "middle", nameGap: 26, min: "dataMin",
      max: "dataMax", ...common },
    yAxis: { type: "log", logBase: unit === "B" ? 2 : 10, name,
      nameTextStyle: { color: palette.faint, align: "left" }, ...common,
      axisLabel: { ...common.axisLabel, formatter: (v) => quantity(v, unit) } },
  };
}

function lineTip(line, [value, amount, low, high, floor], unit) {
  return tip(
    line.name,
    `${data.along} ${value}: ${quantity(amount, unit)}`,
    low === null ? "" : `${quantity(low, unit)} to ${quantity(high, unit)}`,
    floor === null ? "" : `lower bound ${quantity(floor, unit)}`,
  );
}

// A band is a shape between the ends of the interval; a stack of areas has no logarithm.
function band(points, fill) {
  const ends = points.filter((p) => p[2] !== null);
  return {
    type: "custom", silent: true, z: 1, clip: true, encode: { x: 0, y: [1, 2] },
    data: ends.length > 1 ? ends.map((p) => [p[0], p[2], p[3]]) : [],
    renderItem: (params, api) => (params.dataIndex ? null : {
      type: "polygon", style: { fill, opacity: 0.14 },
      shape: { points: [...ends.map((p) => api.coord([p[0], p[2]])),
        ...ends.slice().reverse().map((p) => api.coord([p[0], p[3]]))] },
    }),
  };
}

function buildLines(one) {
  return (chart, palette) => {
    const shown = one.lines.map((line, i) => ({ line, fill: color(COLORS[i % COLORS.length]) }));
    chart.setOption({
      animation: false,
      aria: { enabled: true },
      grid: { left: 74, right: 24, top: 52, bottom: 46 },
      legend: { top: 0, type: "scroll", textStyle: { color: palette.ink }, inactiveColor: palette.line,
        data: shown.map(({ line }) => line.name) },
      tooltip: { trigger: "item",
        ...tooltip(palette, (p) => lineTip(p.data.line, p.data.point, one.unit)) },
      ...axes(palette, one),
      series: shown.flatMap(({ line, fill }) => [
        ...(!one.has_band || shown.length > SHOWN_LINES ? [] : [band(line.points, fill)]),
        { type: "line", name: line.name, color: fill, z: 3, lineStyle: { width: 1.8 },
          symbolSize: (value) => (value[0] === data.at ? 12 : 6),
          data: line.points.map((p) => ({ value: p.slice(0, 2), point: p, line })) },
        { type: "line", name: line.name, color: fill, z: 2, symbol: "none", silent: true,
          lineStyle: { width: 1, type: "dashed" },
          data: line.points.filter((p) => p[4] !== null).map((p) => [p[0], p[4]]) },
      ]),
    }, true);
  };
}

for (const one of data.charts) addChart(`${one.id}-chart`, buildLines(one), () => {});
