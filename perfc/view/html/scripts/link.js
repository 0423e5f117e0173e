// `#kernel=6` in the address is the kernel that is selected.

const pageAddress = () => location.href.split("#")[0];

function openLinked() {
  const linked = /^#kernel=(\d{1,9})$/.exec(location.hash);
  if (!linked) return;
  const kernel = Number(linked[1]);
  if (kernel < shown.kernels.time_s.length) select(kernel, "link");
  else byId("count").textContent = `no kernel ${kernel}`;
}

onSelect((kernel, from) => {
  if (from === "link") return;
  const isLinked = location.hash.startsWith("#kernel=");
  if (kernel === null && !isLinked) return;
  // Stepping through a table is no journey: the way back leads to where the reader came from.
  history.replaceState(null, "", kernel === null ? pageAddress() : `${pageAddress()}#kernel=${kernel}`);
});
addEventListener("hashchange", openLinked);
openLinked();
