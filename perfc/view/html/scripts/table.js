// The kernels, slowest first: rows exist only while they are in view, so thousands cost nothing.

const ROW = 24;

function sourceTable() {
  const source = data.comparison ? data.comparison.table : shown.kernels.table;
  return matchMedia("(max-width: 600px)").matches ? namesFirst(source) : source;
}

// On a phone the first columns are all that is seen, so that names come before figures.
function namesFirst({ columns, rows, ...more }) {
  const isName = (i) => Number(columns[i].name === "kernel");
  const order = columns.map((_, i) => i).sort((a, b) => isName(b) - isName(a) || a - b);
  const arranged = (cells) => order.map((i) => cells[i]);
  return { ...more, columns: arranged(columns), rows: rows.map(arranged) };
}

const table = {
  source: sourceTable(),
  order: [],
  sort: null,
  isDown: true,
  query: "",
  at: 0,
};
// Several kernels may share a row of two analyses, and a row may have no kernel that is left.
table.kernelOf = (row) => (data.comparison ? data.comparison.kernels[row] : row);
table.rowOf = (kernel) => (data.comparison && kernel !== null ? data.comparison.row_of[kernel] : kernel);

// What a row is found by: its cells, and all nodes and values of its kernels.
let findable = null;

function textsOfRows() {
  const { columns, rows } = table.source;
  const texts = rows.map((row) => columns.map((c, i) => (c.is_numeric ? "" : row[i] ?? "")));
  const { kernel, names, ops, value_of: valueOf } = shown.graph;
  const add = (node, text) => {
    const row = kernel[node] < 0 ? null : table.rowOf(kernel[node]);
    if (row !== null && row !== undefined) texts[row].push(text);
  };
  names.forEach((name, node) => add(node, `${at(ops, node)} ${name}`));
  valueOf.forEach((node, i) => add(node, valueName(i)));
  return texts.map((parts) => folded(parts.join(" ")));
}

// modules are layer1/0 on the page and layer1.0 in code
const folded = (text) => text.toLowerCase().replaceAll("/", ".");

const wordsOf = (query) => folded(query).split(/\s+/).filter((w) => w);

const grid = byId("table");
const head = element("div", { class: "row head", role: "row" });
const body = element("div", { class: "body", role: "rowgroup" });
grid.append(head, body);

function cellText(column, value) {
  if (value === null) return "—";
  if (typeof value === "string") return value;
  if (column.most !== null && value * column.factor > column.most) return `>${column.most}`;
  const text = (value * column.factor).toFixed(column.digits);
  const least = 10 ** -column.digits;
  if (column.name.startsWith("delta") && value > 0) return `+${text}`;
  return value > 0 && value * column.factor < least / 2 ? `<${least.toFixed(column.digits)}` : text;
}

function widths() {
  const sample = table.source.rows.slice(0, 400);
  const least = table.source.columns.map((c, i) => {
    const longest = Math.max(0, ...sample.map((r) => cellText(c, r[i]).length));
    return c.is_name ? 14 : Math.min(Math.max(longest, c.title.length) + 1, 26);
  });
  const columns = table.source.columns.map((c, i) =>
    c.is_name ? `minmax(${least[i]}ch, 1fr)` : `${least[i]}ch`);
  grid.style.setProperty("--columns", columns.join(" "));
  grid.style.setProperty("--least", `${least.reduce((a, b) => a + b + 2, 0)}ch`);
}

function header() {
  head.replaceChildren(...table.source.columns.map((c, i) => {
    const arrow = table.sort === i ? (table.isDown ? " ↓" : " ↑") : "";
    const sorted = table.sort === i ? (table.isDown ? "descending" : "ascending") : "none";
    const button = element("button", { type: "button", title: c.legend || null,
      onclick: () => sortBy(i) }, c.title + arrow);
    return element("div", { role: "columnheader", "aria-sort": sorted,
      class: c.is_numeric ? "number" : null }, button);
  }));
}

function sortBy(column) {
  table.isDown = table.sort === column ? !table.isDown : table.source.columns[column].is_numeric;
  table.sort = column;
  arrange();
}

function arrange() {
  const words = wordsOf(table.query);
  const rows = table.source.rows;
  if (words.length) findable ??= textsOfRows();
  const isHit = (i) => words.every((w) => findable[i].includes(w));
  table.order = rows.flatMap((row, i) => (!words.length || isHit(i) ? [i] : []));
  if (table.sort !== null) {
    const [c, sign] = [table.sort, table.isDown ? -1 : 1];
    const rank = (v) => (v === null ? -Infinity : v);
    table.order.sort((a, b) => {
      const [x, y] = [rank(rows[a][c]), rank(rows[b][c])];
      return x === y ? a - b : (x < y ? -1 : 1) * sign;
    });
  }
  table.at = Math.min(table.at, Math.max(table.order.length - 1, 0));
  body.style.height = `${table.order.length * ROW}px`;
  grid.setAttribute("aria-rowcount", table.order.length);
  byId("count").textContent = `${table.order.length} of ${rows.length}`;
  header();
  fill();
}

function fill() {
  const first = Math.max(Math.floor(grid.scrollTop / ROW) - 10, 0);
  const last = Math.min(first + Math.ceil(grid.clientHeight / ROW) + 20, table.order.length);
  const drawn = [];
  for (let place = first; place < last; place++) drawn.push(rowAt(place));
  body.replaceChildren(...drawn);
}

function rowAt(place) {
  const i = table.order[place];
  const kernel = table.kernelOf(i);
  const cells = table.source.columns.map((c, j) => {
    const value = table.source.rows[i][j];
    const text = cellText(c, value);
    const kinds = [c.is_numeric ? "number" : "",
      c.name.startsWith("delta") && value ? (value > 0 ? "more" : "less") : ""];
    return element("div", { role: "gridcell", title: c.is_name ? text : null,
      class: kinds.join(" ").trim() || null }, text);
  });
  return element("div", { class: "row", role: "row", "aria-rowindex": place + 1,
    "data-kernel": kernel, "aria-selected": String(selected !== null && i === table.rowOf(selected)),
    style: `top:${place * ROW}px`,
    onclick: () => { table.at = place; select(kernel, "table"); } }, ...cells);
}

function showRow(place) {
  table.at = Math.min(Math.max(place, 0), table.order.length - 1);
  const top = table.at * ROW;
  const room = grid.clientHeight - 2 * ROW;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top > grid.scrollTop + room) grid.scrollTop = top - room / 2;
  fill();
}

onSelect((kernel, from) => {
  if (kernel === null) return fill();
  let place = table.order.indexOf(table.rowOf(kernel));
  if (place < 0) {
    byId("search").value = table.query = "";
    arrange();
    place = table.order.indexOf(table.rowOf(kernel));
  }
  showRow(place);
  if (["roofline", "modules", "search", "link"].includes(from)) {
    byId("kernels").scrollIntoView({ block: "start" });
  }
});

grid.addEventListener("scroll", fill);
grid.addEventListener("keydown", (e) => {
  const page = Math.floor(grid.clientHeight / ROW) - 2;
  const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
    Home: -Infinity, End: Infinity }[e.key];
  if (step !== undefined) {
    const place = Math.min(Math.max(table.at + step, 0), table.order.length - 1);
    table.at = place;
    if (place >= 0) select(table.kernelOf(table.order[place]), "table");
    e.preventDefault();
  } else if (e.key === "Enter" && table.order.length) {
    select(table.kernelOf(table.order[table.at]), "table");
  }
});

function filterTable(query) {
  table.query = query;
  grid.scrollTop = 0;
  arrange();
}

// Changes come sorted by what changed most.
if (!data.comparison) {
  table.sort = table.source.columns.findIndex((c) => ["predicted_s", "time_s"].includes(c.name));
  if (table.sort < 0) table.sort = null;
}
widths();
arrange();
