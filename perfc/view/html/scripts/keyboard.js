// Keys that work wherever the focus is, unless somebody types.

const links = [...document.querySelectorAll("header nav a")];

addEventListener("keydown", (e) => {
  const isTyping = e.target instanceof Element && e.target.closest("input[type=search], select");
  if (e.key === "Escape") {
    if (isTyping) {
      // Left to itself the browser empties the field and tells nobody.
      e.preventDefault();
      e.target.blur();
    }
    select(null);
    return;
  }
  if (isTyping || e.ctrlKey || e.metaKey || e.altKey) return;
  const place = Number(e.key) - 1;
  if (links[place]) {
    links[place].click();
    const target = document.querySelector(`${links[place].getAttribute("href")} [tabindex]`);
    if (target) target.focus({ preventScroll: true });
  } else if (e.key === "/") {
    search.box.focus({ preventScroll: true });
    search.box.select();
  } else if (e.key === "t") nextTheme();
  else if (e.key === "?") byId("keys").showModal();
  else return;
  e.preventDefault();
});
byId("help").addEventListener("click", () => byId("keys").showModal());
// A link to a section that is folded opens it.
for (const link of links) {
  link.addEventListener("click", () => {
    const target = document.querySelector(link.getAttribute("href"));
    if (target instanceof HTMLDetailsElement) target.open = true;
  });
}

requestAnimationFrame(() => {
  draw("roofline-chart");
  performance.mark("perfc-interactive");
  root.dataset.ready = "true";
});
