// The page can be used: charts in view are drawn, keys are heard.

addEventListener("keydown", (e) => {
  const isTyping = e.target instanceof Element && e.target.closest("input");
  if (e.key === "t" && !isTyping && !e.ctrlKey && !e.metaKey && !e.altKey) nextTheme();
});
requestAnimationFrame(() => {
  // a page of tables alone has no charts
  if (typeof draw === "function") draw(charts.keys().next().value);
  performance.mark("perfc-interactive");
  root.dataset.ready = "true";
});
