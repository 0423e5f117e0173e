// Charts are drawn when they come into view, again when colors change, and all of them for paper.

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
    const entry = charts.get(id);
    if (!entry.chart || isPrinting || holder.clientWidth === width) return;
    width = holder.clientWidth;
    entry.chart.resize();
    entry.build(entry.chart, colors());
  }).observe(holder);
}

function draw(id) {
  const entry = charts.get(id);
  if (!entry.chart) {
    entry.chart = echarts.init(entry.holder, null, { renderer: "canvas" });
    entry.wire(entry.chart);
  }
  entry.build(entry.chart, colors());
  return entry.chart;
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
  for (const part of beforePrint.folded) part.open = true;
  for (const [id, entry] of charts) {
    const height = entry.holder.classList.contains("low") ? PAPER.low : PAPER.height;
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
  for (const part of beforePrint.folded) part.open = false;
  for (const [id, entry] of charts) {
    entry.chart.resize({ width: "auto", height: "auto" });
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
