// Ceilings as lines, a point for each kernel and memory level.

const LEVELS = ["L1", "L2", "device"];
const SYMBOLS = { L1: "circle", L2: "diamond", device: "triangle" };

function ceilings(report, palette, chart) {
  const [width, height] = [chart.getWidth() - 90, chart.getHeight() - 80];
  const { x, y } = limits();
  const decades = ([a, b]) => Math.log10(b / a);
  const slope = Math.atan2(height / decades(y), width / decades(x)) * (180 / Math.PI);
  const named = new Set();
  return report.roofline.lines.slice().reverse().map((line) => {
    const isNamed = !named.has(line.name);
    named.add(line.name);
    const [start, end] = line.at;
    const labelled = line.level ? [end, start] : [start, end];
    return {
      type: "line",
      name: line.level || "ceilings",
      data: labelled,
      symbol: "none",
      silent: true,
      animation: false,
      z: 4,
      color: line.level ? palette[line.level] : palette.roof,
      lineStyle: {
        color: line.level ? palette[line.level] : palette.roof,
        type: line.is_sustained ? "solid" : "dashed",
        width: line.is_sustained ? 1.6 : 1,
      },
      endLabel: {
        show: isNamed,
        formatter: line.text,
        color: line.level ? palette[line.level] : palette.roof,
        fontSize: 11,
        align: line.level ? "left" : "right",
        verticalAlign: "bottom",
        rotate: line.level ? slope : 0,
        offset: line.level ? [14, -10] : [-6, -9],
        textBorderColor: palette.card,
        textBorderWidth: 2,
      },
    };
  });
}

function pointTip(report, point) {
  const [kernel, level, intensity, rate, ofRoof, count, roof] = point;
  const table = report.kernels.table;
  const nodes = table.columns.findIndex((c) => c.name === "nodes");
  const time = report.kernels.time_s[kernel];
  return tip(
    kernelName(report, kernel),
    `kernel ${kernel}${count > 1 ? ` and ${count - 1} equal ones` : ""}`,
    `${took(report, kernel)} each, ${share(time * count, report.time_s || report.kernels_s)} of the time`,
    `${quantity(rate, "flop/s")} at ${quantity(intensity, "flop/B")} of ${level}`,
    ofRoof === null ? "" : `${share(ofRoof, 1)} of the ${roof} roofline at ${level}`,
    `limited by ${at(report.kernels.bound, kernel)}`,
    nodes < 0 ? "" : table.rows[kernel][nodes],
  );
}

function cloud(report, level, palette, isBefore) {
  const points = report.roofline.points.filter((p) => p[1] === level);
  const largest = Math.max(...report.roofline.points.map(
    (p) => report.kernels.time_s[p[0]] * p[5]), 1e-12);
  return {
    type: "scatter",
    name: level,
    symbol: SYMBOLS[level],
    animation: false,
    color: palette[level],
    z: isBefore ? 2 : 3,
    data: points.map((p) => ({
      value: [p[2], p[3]],
      kernel: isBefore ? null : p[0],
      point: p,
      symbolSize: 5 + 22 * Math.sqrt((report.kernels.time_s[p[0]] * p[5]) / largest),
    })),
    itemStyle: isBefore
      ? { color: "transparent", borderColor: palette[level], borderWidth: 1, opacity: 0.8 }
      : { color: palette[level], opacity: 0.62, borderColor: palette.card, borderWidth: 0.5 },
    emphasis: { scale: 1.25,
      itemStyle: { opacity: 1, borderColor: palette.ink, borderWidth: 2 } },
    tooltip: { formatter: (p) => pointTip(report, p.data.point) },
  };
}

function limits() {
  const both = before ? [shown, before] : [shown];
  const around = (axis) => [Math.min(...both.map((r) => r.roofline[axis][0])),
    Math.max(...both.map((r) => r.roofline[axis][1]))];
  return { x: around("x"), y: around("y") };
}

function buildRoofline(chart, palette) {
  const { x, y } = limits();
  const axis = (name, [min, max], unit) => ({
    type: "log", name, min, max, interval: 1, nameLocation: "middle", nameGap: unit ? 52 : 26,
    axisLabel: { color: palette.faint, formatter: (v) => power(v) + unit },
    axisLine: { lineStyle: { color: palette.line } },
    nameTextStyle: { color: palette.faint },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.6 } },
  });
  const levels = LEVELS.filter((l) => shown.roofline.points.some((p) => p[1] === l));
  chart.setOption({
    animation: false,
    aria: { enabled: true },
    grid: { left: 70, right: 20, top: 34, bottom: 46 },
    legend: { top: 0, textStyle: { color: palette.ink }, inactiveColor: palette.line,
      data: levels.map((name) => ({ name, icon: SYMBOLS[name] })) },
    tooltip: { trigger: "item", ...tooltip(palette) },
    xAxis: axis("flop per byte at the level", x, ""),
    yAxis: axis("flop/s", y, ""),
    dataZoom: [0, 1].map((i) => ({ type: "inside", [i ? "yAxisIndex" : "xAxisIndex"]: 0,
      zoomOnMouseWheel: "ctrl", moveOnMouseMove: true, filterMode: "none" })),
    series: [
      ...ceilings(shown, palette, chart),
      ...(before ? levels.map((l) => cloud(before, l, palette, true)) : []),
      ...levels.map((l) => cloud(shown, l, palette, false)),
    ],
  }, true);
  markKernel(chart, selected, false);
}

function power(value) {
  if (value >= 1 && value < 1e21) return quantity(value, "").replace(/\.0+(?= |$)/, "").trim();
  return String(Number(value.toPrecision(1)));
}

function markKernel(chart, kernel, withTip) {
  chart.dispatchAction({ type: "downplay" });
  let isTipShown = false;
  chart.getOption().series.forEach((series, seriesIndex) => {
    if (series.type !== "scatter" || kernel === null) return;
    series.data.forEach((item, dataIndex) => {
      if (item.kernel === null || equalTo(item.kernel) !== equalTo(kernel)) return;
      chart.dispatchAction({ type: "highlight", seriesIndex, dataIndex });
      if (withTip && !isTipShown) chart.dispatchAction({ type: "showTip", seriesIndex, dataIndex });
      isTipShown = true;
    });
  });
}

const equalTo = (kernel) => shown.kernels.equal_to[kernel];
const steps = [...new Set(shown.roofline.points.map((p) => p[0]))];

addChart("roofline-chart", buildRoofline, (chart) => {
  chart.on("click", { seriesType: "scatter" }, (p) => {
    if (p.data.kernel !== null) select(p.data.kernel, "roofline");
  });
  chart.on("mouseover", { seriesType: "scatter" }, (p) => markKernel(chart, p.data.kernel, false));
  chart.on("mouseout", { seriesType: "scatter" }, () => markKernel(chart, selected, false));
});
onSelect((kernel) => {
  const { chart } = charts.get("roofline-chart");
  if (chart) markKernel(chart, kernel, false);
});
let step = -1;
byId("roofline-chart").addEventListener("keydown", (e) => {
  const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  if (move && steps.length) {
    step = (step + move + steps.length) % steps.length;
    markKernel(draw("roofline-chart"), steps[step], true);
    e.preventDefault();
  } else if (e.key === "Enter" && step >= 0) {
    select(steps[step], "roofline");
    // a page of the roofline alone has no grid of kernels
    if (byId("table")) byId("table").focus();
  }
});
byId("roofline-note").textContent = (before ? `${data.hollow || "Hollow: the old one."} ` : "") + (shown.roofline.moving
  ? `Not shown: ${shown.roofline.moving} kernels that only move bytes.` : "");
