// The kernels' table as others read it: in SI units, as it is filtered and sorted.

function nodeNames() {
  const names = shown.kernels.time_s.map(() => []);
  shown.graph.kernel.forEach((k, node) => { if (k >= 0) names[k].push(shown.graph.names[node]); });
  shown.graph.helpers.forEach(([k, node]) => names[k].push(shown.graph.names[node]));
  return names.map((n) => n.join(" "));
}

// No spreadsheet takes what a file calls its nodes for a formula; as perfc/report/comma.py.
function harmless(value) {
  if (typeof value !== "string") return value === null || value === undefined ? "" : String(value);
  return /^[=+\-@]/.test(value) ? `'${value}` : value;
}

function records() {
  const { columns, rows } = table.source;
  const nodes = data.comparison ? null : nodeNames();
  const body = table.order.map((i) => columns.map((c, j) =>
    harmless(nodes && c.name === "nodes" ? nodes[i] : rows[i][j])));
  return [columns.map((c) => c.name), ...body];
}

function commaSeparated() {
  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return records().map((r) => `${r.map(field).join(",")}\n`).join("");
}

function tabSeparated() {
  return records().map((r) => r.map((text) => text.replace(/[\t\r\n]/g, " ")).join("\t")).join("\n");
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

// Browsers keep the clipboard from pages that they do not trust; those still copy a selection.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = element("textarea", { class: "away" });
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

byId("csv").addEventListener("click", () => {
  download(`${shown.label.replace(/[^\w.-]+/g, "-")}.kernels.csv`, commaSeparated());
});
byId("copy").addEventListener("click", async () => {
  const isDone = await copyText(tabSeparated());
  byId("copy").textContent = isDone ? "copied" : "copying is not allowed";
  setTimeout(() => { byId("copy").textContent = "copy"; }, 1500);
});
