// Charts are drawn when they come into view, again when colours change, and all of them for paper.

const charts = new Map();

// `build(chart, palette)` sets the options; `wire(chart)` is called once for each new chart.
function addChart(id, build, wire) {
  const holder = byId(id);
  charts.set(id, { holder, build, wire, chart: null });
  new IntersectionObserver((entries, observer) => {
    if (!entries.some((e) => e.isIntersecting)) return;
    observer.disconnect();
    draw(id);
  }, { rootMargin: "200px" }).observe(holder);
  let width = 0;
  new ResizeObserver(() => {
    const found = charts.get(id);
    if (!found.chart || isPrinting || holder.clientWidth === width) return;
    width = holder.clientWidth;
    found.chart.resize();
    found.build(found.chart, colours());
  }).observe(holder);
}

function draw(id) {
  const found = charts.get(id);
  if (!found.chart) {
    found.chart = echarts.init(found.holder, null, { renderer: "canvas" });
    found.wire(found.chart);
  }
  found.build(found.chart, colours());
  return found.chart;
}

function redrawAll() {
  for (const [id, found] of charts) if (found.chart) draw(id);
}

// Paper is light whatever the screen is, and charts that nobody has scrolled to are on it too.
function startPrinting() {
  if (isPrinting) return;
  isPrinting = true;
  for (const id of charts.keys()) {
    draw(id).resize();
    draw(id);
  }
}

function endPrinting() {
  if (!isPrinting) return;
  isPrinting = false;
  for (const id of charts.keys()) {
    charts.get(id).chart.resize();
    draw(id);
  }
}

matchMedia("print").addEventListener("change", (e) => (e.matches ? startPrinting() : endPrinting()));
addEventListener("beforeprint", startPrinting);
addEventListener("afterprint", endPrinting);

// Tooltips are elements, so that a name stays text.
function tip(title, ...lines) {
  const rows = lines.filter((l) => l).map((l) => element("div", {}, l));
  return element("div", { class: "tip" }, element("b", {}, title), ...rows);
}

function tooltip(palette, formatter) {
  return {
    formatter,
    confine: true,
    backgroundColor: palette.card,
    borderColor: palette.line,
    textStyle: { color: palette.ink },
    transitionDuration: 0,
  };
}
