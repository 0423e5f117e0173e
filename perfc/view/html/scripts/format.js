// Numbers and elements. Every name comes from a file nobody vouches for: text, never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const shown = data.reports[0];
const before = data.reports[1] || null;

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((c) => c !== null));
  return node;
}

const at = (interned, i) => interned.texts[interned.which[i]];

// The same rules as perfc/report/units.py.
const UP = ["", "k", "M", "G", "T", "P", "E"];
const DOWN = ["", "m", "µ", "n", "p"];
const IEC = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const MOST_TIMES = 100;
const digits = (size) => (size < 9.995 ? 2 : size < 99.95 ? 1 : 0);

function quantity(value, unit) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "—";
  if (unit === "s" && value && Math.abs(value) < 1e-9) return "<1 ns";
  let size = Math.abs(value);
  let step = 0;
  if (unit === "B") {
    for (; size >= 1023.5 && step < IEC.length - 1; step++) size /= 1024;
    return written(value, size, IEC[step], step === 0);
  }
  if (unit === "s" || (unit === "J" && size < 0.9995)) {
    for (; size > 0 && size < 0.9995 && step < DOWN.length - 1; step++) size *= 1000;
    return written(value, size, DOWN[step] + unit, step === 0 && Number.isInteger(value));
  }
  for (; size >= 999.5 && step < UP.length - 1; step++) size /= 1000;
  return written(value, size, UP[step] + unit, step === 0 && Number.isInteger(value));
}

function written(value, size, unit, isWhole) {
  const sign = value < 0 ? "−" : "";
  return `${sign}${size.toFixed(isWhole ? 0 : digits(size))} ${unit}`.trim();
}

function share(part, whole) {
  const percent = whole ? (100 * part) / whole : 0;
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  return `${percent.toFixed(1)} %`;
}

function ratio(value, places) {
  return value > MOST_TIMES ? `>${MOST_TIMES}` : value.toFixed(places);
}

function signed(value, unit) {
  const text = quantity(value, unit);
  return (value > 0 && text[0] !== "<" ? "+" : "") + text;
}

const kernelName = (report, k) => at(report.kernels.label, k);

// A value's name; a tab in front stands for the name of its node.
function valueName(i) {
  const name = at(shown.graph.values, i);
  return name.startsWith("\t") ? shown.graph.names[shown.graph.value_of[i]] + name.slice(1) : name;
}

// A kernel's time with its interval, where there is one.
function took(report, k) {
  const { time_s: time, low_s: low, high_s: high } = report.kernels;
  if (low[k] === null) return quantity(time[k], "s");
  return `${quantity(time[k], "s")} (${quantity(low[k], "s")} to ${quantity(high[k], "s")})`;
}
