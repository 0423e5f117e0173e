// Colors live in the style sheet; charts read them when they are drawn.

const root = document.documentElement;
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const THEMES = ["", "light", "dark"];
// Pages of tables have no charts.
const charts = new Map();
let isPrinting = false;

function color(name) {
  return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
}

function colors() {
  const palette = {};
  for (const name of ["page", "card", "ink", "faint", "line", "accent", "track", "roof", "cold",
    "hot-1", "hot-2", "hot-3", "hot-4", "less", "more", "none", "mark"]) palette[name] = color(name);
  palette.L1 = color("level-1");
  palette.L2 = color("level-2");
  palette.device = color("level-3");
  return palette;
}

function redrawAll() {
  for (const [id, entry] of charts) if (entry.chart) draw(id);
}

function setTheme(name) {
  if (name) root.dataset.theme = name;
  else delete root.dataset.theme;
  byId("theme").textContent = `theme: ${name || "system"}`;
  redrawAll();
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(root.dataset.theme || "") + 1) % THEMES.length]);
}

byId("theme").addEventListener("click", nextTheme);
byId("theme").textContent = "theme: system";
systemIsDark.addEventListener("change", () => redrawAll());

function rgb(text) {
  const n = parseInt(text.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

function mixed(stops, position) {
  const scaled = Math.min(Math.max(position, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(scaled), stops.length - 2);
  const [a, b] = [rgb(stops[i]), rgb(stops[i + 1])];
  const parts = a.map((v, c) => Math.round(v + (b[c] - v) * (scaled - i)));
  return `rgb(${parts.join(",")})`;
}

function inkOn(fill) {
  const [r, g, b] = fill.startsWith("#") ? rgb(fill) : fill.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#14181f" : "#f5f7fa";
}
