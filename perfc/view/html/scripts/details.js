// What is known of the selected kernel.

function ceilingBars(kernel) {
  const ceilings = Object.entries(shown.kernels.ceilings)
    .map(([name, times]) => [shown.kernels.titles[name] || name, times[kernel]])
    .filter(([, time]) => time > 0)
    .sort((a, b) => b[1] - a[1]);
  const longest = Math.max(shown.kernels.time_s[kernel] || 0, ...ceilings.map(([, t]) => t));
  return ceilings.map(([name, time]) => element("div", { class: "bar" },
    element("span", {}, name),
    element("i", { style: `width:${(100 * time) / longest}%` }),
    element("span", {}, quantity(time, "s"))));
}

// Its lines of code, then its nodes.
function nodesOf(kernel) {
  const { helpers, kernel: kernelOf } = shown.graph;
  const nodes = [...kernelOf.map((k, node) => [k, node]), ...helpers]
    .flatMap(([k, node]) => (k === kernel ? [node] : []));
  const items = nodes.slice(0, 40).map((node) => element("li", {},
    element("a", { href: "#graph", onclick: () => focusNode(node) },
      `${at(shown.graph.ops, node)} ${shown.graph.names[node]}`)));
  const lines = at(shown.kernels.frames, kernel).split("\n").filter(Boolean)
    .map((line) => element("li", {}, element("code", {}, line)));
  return element("ul", {}, ...lines, ...items, nodes.length > 40 ? `and ${nodes.length - 40} more` : null);
}

onSelect((kernel) => {
  const panel = byId("details");
  panel.hidden = kernel === null;
  if (kernel === null) return;
  const { columns, rows } = shown.kernels.table;
  const facts = columns.flatMap((c, i) => (c.is_name ? [] : [element("div", {},
    element("dt", {}, c.title), element("dd", {}, cellText(c, rows[kernel][i])))]));
  panel.replaceChildren(
    element("button", { type: "button", class: "close", onclick: () => select(null) }, "close"),
    element("h3", {}, element("a", { href: `#kernel=${kernel}`, title: "link to this kernel" }, `${kernel}`),
      `: ${kernelName(shown, kernel)}`),
    ...ceilingBars(kernel),
    element("dl", {}, ...facts),
    nodesOf(kernel));
});
