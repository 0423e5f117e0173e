// The page can be used: charts in view are drawn, keys are heard.

addEventListener("keydown", (e) => {
  if (e.key === "t" && !e.ctrlKey && !e.metaKey && !e.altKey) nextTheme();
});
requestAnimationFrame(() => {
  draw(charts.keys().next().value);
  performance.mark("perfc-interactive");
  root.dataset.ready = "true";
});
