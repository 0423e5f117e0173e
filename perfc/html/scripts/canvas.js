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

// Paper is light and narrow whatever the screen is, and charts that nobody has scrolled to, and
// sections that are folded, are on it too. Sizes are those of the style sheet for print, in pixels
// of 1/96 inch: it is not in force yet when the browser says that it will print.
const PAPER = { width: 660, height: 430, low: 226 };
const beforePrint = { theme: "", folded: [] };

function startPrinting() {
  if (isPrinting) return;
  isPrinting = true;
  beforePrint.theme = root.dataset.theme || "";
  root.dataset.theme = "light";
  beforePrint.folded = [...document.querySelectorAll("main details:not([open])")];
  for (const found of beforePrint.folded) found.open = true;
  for (const [id, found] of charts) {
    const height = found.holder.classList.contains("low") ? PAPER.low : PAPER.height;
    draw(id).resize({ width: PAPER.width, height });
    // No frame comes before the paper does.
    draw(id).getZr().refreshImmediately();
  }
}

function endPrinting() {
  if (!isPrinting) return;
  isPrinting = false;
  if (beforePrint.theme) root.dataset.theme = beforePrint.theme;
  else delete root.dataset.theme;
  for (const found of beforePrint.folded) found.open = false;
  for (const [id, found] of charts) {
    found.chart.resize({ width: "auto", height: "auto" });
    draw(id);
  }
}

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
