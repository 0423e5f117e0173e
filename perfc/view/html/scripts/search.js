// One box over kernels, nodes and values: it lists what it finds and filters the kernels' table.

const MOST_HITS = { kernel: 5, node: 6, value: 6 };
const search = { box: byId("search"), list: byId("hits"), hits: [], at: -1 };

function kernelHits(query) {
  const exact = /^(?:kernel\s*)?#?(\d+)$/.exec(query);
  const number = exact ? Number(exact[1]) : -1;
  const first = number >= 0 && number < shown.kernels.time_s.length ? [number] : [];
  const rest = table.order.map(table.kernelOf).filter((k) => k !== null && k !== first[0]);
  return [...first, ...rest].slice(0, MOST_HITS.kernel).map((k) => ({
    kind: "kernel", name: `${k}: ${kernelName(shown, k)}`, note: quantity(shown.kernels.time_s[k], "s"),
    go: () => select(k, "search") }));
}

function matching(count, name, most, words) {
  const places = [];
  for (let i = 0; i < count && places.length < most; i++) {
    const text = folded(name(i));
    if (words.every((w) => text.includes(w))) places.push(i);
  }
  return places;
}

function showNode(node) {
  if (shown.graph.kernel[node] >= 0) select(shown.graph.kernel[node], "node");
  focusNode(node);
  byId("graph").scrollIntoView({ block: "start" });
}

function hitsOf(query) {
  const words = wordsOf(query);
  if (!words.length) return [];
  const { graph } = shown;
  const nodes = matching(graph.names.length, (i) => `${at(graph.ops, i)} ${graph.names[i]}`,
    MOST_HITS.node, words);
  const values = matching(graph.value_of.length, valueName, MOST_HITS.value, words);
  return [
    ...kernelHits(folded(query.trim())),
    ...nodes.map((i) => ({ kind: "node", name: graph.names[i] || at(graph.ops, i),
      note: at(graph.ops, i), go: () => showNode(i) })),
    ...values.map((i) => ({ kind: "value", name: valueName(i),
      note: `at ${graph.names[graph.value_of[i]]}`, go: () => showNode(graph.value_of[i]) })),
  ];
}

function listHits() {
  const isOpen = document.activeElement === search.box && search.box.value.trim() !== "";
  search.list.hidden = !isOpen;
  search.box.setAttribute("aria-expanded", String(isOpen));
  if (search.at >= 0 && isOpen) search.box.setAttribute("aria-activedescendant", `hit-${search.at}`);
  else search.box.removeAttribute("aria-activedescendant");
  search.list.replaceChildren(...search.hits.map((hit, i) => element("li", { role: "option",
    id: `hit-${i}`, "aria-selected": String(i === search.at), onpointerdown: (e) => {
      e.preventDefault();
      pick(hit);
    } }, element("i", {}, hit.kind), element("b", {}, hit.name), element("span", {}, hit.note))),
  ...(search.hits.length ? [] : [element("li", { class: "none" }, "no match")]));
  const active = search.list.children[search.at];
  if (active) active.scrollIntoView({ block: "nearest" });
}

function pick(hit) {
  search.box.blur();
  hit.go();
}

search.box.addEventListener("input", () => {
  filterTable(search.box.value);
  search.hits = hitsOf(search.box.value);
  search.at = -1;
  listHits();
});
search.box.addEventListener("focus", listHits);
search.box.addEventListener("blur", () => { search.at = -1; listHits(); });
search.box.addEventListener("keydown", (e) => {
  const move = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  const count = search.hits.length;
  if (move && count) {
    search.at = search.at < 0 && move < 0 ? count - 1 : (search.at + move + count) % count;
    listHits();
    e.preventDefault();
  } else if (e.key === "Enter" && count) pick(search.hits[Math.max(search.at, 0)]);
});
