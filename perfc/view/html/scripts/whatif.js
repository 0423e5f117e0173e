// Other batches, precisions and targets: every figure was computed when the page was written.

function whatIfCells(row, reported) {
  if (!row) return [element("td", { colspan: 9 }, "cannot be analyzed")];
  const number = (words) => element("td", { class: "number" }, words);
  const range = row.low_s === row.high_s ? "" : `${quantity(row.low_s, "s")} to ${quantity(row.high_s, "s")}`;
  const memory = `${row.memory_is_bound ? "≥ " : ""}${quantity(row.memory_bytes, "B")}`;
  return [
    number(quantity(row.time_s, "s")), number(range), number(quantity(row.floor_s, "s")),
    number(`${quantity(row.per_s, "")} ${row.items}/s`),
    number(reported && reported.per_s ? `${ratio(row.per_s / reported.per_s, 2)}×` : "—"),
    row.fits === false ? element("td", { class: "number more" }, `${memory}, does not fit`) : number(memory),
    number(quantity(row.energy_j, "J")), element("td", {}, row.confidence), element("td", {}, row.limit),
  ];
}

function buildWhatIf(settings) {
  const [batch, dtype] = [byId("what-if-batch"), byId("what-if-dtype")];
  const reported = settings.rows[0][settings.dtype][settings.batch];
  const heads = ["target", "predicted", "90 % interval", "lower bound", "throughput", "speedup", "memory", "energy",
    "confidence", "limited by"];
  const show = () => {
    const [b, d] = [Number(batch.value), Number(dtype.value)];
    const words = settings.batches[b] ? `${settings.batches[b]}` : "—";
    byId("what-if-value").textContent = words;
    batch.setAttribute("aria-valuetext", words);
    byId("what-if-table").replaceChildren(
      element("caption", {}, `${settings.batches[b] ? `batch ${words}, ` : ""}${settings.dtypes[d]}`),
      element("thead", {}, element("tr", {}, ...heads.map((h, i) => element("th", { scope: "col",
        class: i && i < 8 ? "number" : null }, h)))),
      element("tbody", {}, ...settings.targets.map((name, t) => element("tr", {},
        element("th", { scope: "row" }, name), ...whatIfCells(settings.rows[t][d][b], reported)))));
  };
  const reset = () => {
    batch.value = settings.batch;
    dtype.value = settings.dtype;
    show();
  };
  batch.max = settings.batches.length - 1;
  batch.closest("label").hidden = settings.batches.length < 2;
  dtype.replaceChildren(...settings.dtypes.map((name, i) => element("option", { value: i }, name)));
  dtype.closest("label").hidden = settings.dtypes.length < 2;
  batch.addEventListener("input", show);
  dtype.addEventListener("change", show);
  byId("what-if-reset").addEventListener("click", reset);
  reset();
}

if (data.what_if) buildWhatIf(data.what_if);
