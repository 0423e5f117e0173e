// Tables of the document: a click on a column's head sorts the rows, a second one turns the order,
// a third one has the rows as they were.

const rowsInOrder = (body) => [...body.rows].sort((a, b) => a.dataset.place - b.dataset.place);

function sortKey(row, column, isNumeric) {
  const text = row.cells[column].textContent;
  if (!isNumeric) return text;
  const value = parseFloat(text.replace(/[,<≥\s]/g, "").replace("−", "-"));
  return Number.isNaN(value) ? -Infinity : value;
}

function sortRows(shownTable, column) {
  const heads = [...shownTable.tHead.rows[0].cells];
  const head = heads[column];
  const isNumeric = head.classList.contains("number");
  const usual = isNumeric ? "descending" : "ascending";
  const other = isNumeric ? "ascending" : "descending";
  const order = { [usual]: other, [other]: null }[head.getAttribute("aria-sort")];
  const isSorted = order !== null;
  for (const each of heads) each.removeAttribute("aria-sort");
  if (isSorted) head.setAttribute("aria-sort", order ?? usual);
  const sign = (order ?? usual) === "descending" ? -1 : 1;
  const body = shownTable.tBodies[0];
  const keyed = rowsInOrder(body).map((row) => [sortKey(row, column, isNumeric), row]);
  if (isSorted) keyed.sort(([a], [b]) => sign * (isNumeric ? (a === b ? 0 : a - b) : a.localeCompare(b)));
  body.append(...keyed.map(([, row]) => row));
}

for (const shownTable of document.querySelectorAll("main details table")) {
  [...shownTable.tBodies[0].rows].forEach((row, i) => { row.dataset.place = i; });
  [...shownTable.tHead.rows[0].cells].forEach((head, i) => {
    const button = element("button", { type: "button", class: "sorts",
      onclick: () => sortRows(shownTable, i) }, head.textContent);
    head.replaceChildren(button);
  });
}
