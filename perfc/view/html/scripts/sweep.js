// Lines along the extent that is swept, one for each target.

const COLOURS = ["level-1", "level-2", "level-3", "more", "accent", "less", "roof", "hot-2"];
const SHOWN_LINES = 8;

function axes(palette, name) {
  const common = {
    axisLabel: { color: palette.faint, hideOverlap: true }, nameTextStyle: { color: palette.faint },
    axisLine: { lineStyle: { color: palette.line } },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } },
  };
  return {
    xAxis: { type: "log", name: data.along, nameLocation: "middle", nameGap: 26, min: "dataMin",
      max: "dataMax", ...common },
    yAxis: { type: "log", name, nameTextStyle: { color: palette.faint, align: "left" }, ...common,
      axisLabel: { ...common.axisLabel, formatter: (v) => quantity(v, "s") } },
  };
}

function lineTip(line, point, each) {
  const [value, time, low, high, floor] = point;
  return tip(
    line.name,
    `${data.along} ${value}: ${quantity(time, "s")}`,
    low === null ? "" : `${quantity(low, "s")} to ${quantity(high, "s")}`,
    `lower bound ${quantity(floor, "s")}`,
    each ? `${quantity(time / value, "s")} each` : "",
  );
}

// A band is a shape between the ends of the interval; a stack of areas has no logarithm.
function band(points, fill) {
  const ends = points.filter((p) => p[2] !== null && p[0] > 0);
  return {
    type: "custom", silent: true, z: 1, clip: true, data: ends.length > 1 ? [0] : [],
    renderItem: (params, api) => ({
      type: "polygon", style: { fill, opacity: 0.14 },
      shape: { points: [...ends.map((p) => api.coord([p[0], p[2]])),
        ...ends.slice().reverse().map((p) => api.coord([p[0], p[3]]))] },
    }),
  };
}

function buildLines(each) {
  return (chart, palette) => {
    const shown = data.lines.map((line, i) => ({ line, fill: colour(COLOURS[i % COLOURS.length]) }));
    const value = (p, y) => [p[0], each ? y / p[0] : y];
    const drawn = (points) => points.filter((p) => p[0] > 0);
    chart.setOption({
      animation: false,
      aria: { enabled: true },
      grid: { left: 74, right: 24, top: 52, bottom: 46 },
      legend: { top: 0, type: "scroll", textStyle: { color: palette.ink }, inactiveColor: palette.line,
        data: shown.map(({ line }) => line.name) },
      tooltip: { trigger: "item",
        ...tooltip(palette, (p) => lineTip(p.data.line, p.data.point, each)) },
      ...axes(palette, each ? "time per item" : "time per run"),
      series: shown.flatMap(({ line, fill }) => [
        ...(each || shown.length > SHOWN_LINES ? [] : [band(line.points, fill)]),
        { type: "line", name: line.name, color: fill, z: 3, symbolSize: 6, lineStyle: { width: 1.8 },
          data: drawn(line.points).map((p) => ({ value: value(p, p[1]), point: p, line })) },
        { type: "line", name: line.name, color: fill, z: 2, symbol: "none", silent: true,
          lineStyle: { width: 1, type: "dashed" },
          data: drawn(line.points).map((p) => value(p, p[4])) },
      ]),
    }, true);
  };
}

addChart("times-chart", buildLines(false), () => {});
addChart("each-chart", buildLines(true), () => {});
