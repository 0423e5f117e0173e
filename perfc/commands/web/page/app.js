// The page: a model and settings in, a report out.

import { InPage, OnServer } from "./backend.js";
import { byId, Form, fragment, linked } from "./form.js";

let files = [];
let form, backend, catalogue, started;
let lastId = 0;
let isRunning = false;
let isWaiting = false;
let runningKey = "";
let shownUrl = "";

const modelName = () => byId("model").value.trim();
const show = (id, isShown) => { byId(id).hidden = !isShown; };
const message = (id, text) => { byId(id).textContent = text; show(id, Boolean(text)); };

function setFiles(chosen) {
  files = chosen;
  byId("drop").classList.toggle("full", files.length > 0);
  byId("dropped").textContent = files.length ? files.map((f) => f.name).join(", ") : "Drop a model";
  const size = files.reduce((n, f) => n + f.size, 0);
  byId("kinds").textContent = files.length ? `${(size / 1e6).toFixed(size < 1e6 ? 3 : 1)} MB` : ".onnx, .pt2, .gguf, .safetensors, config.json";
}

function working(text) {
  byId("stage").textContent = text;
  show("work", Boolean(text));
  byId("answer").ariaBusy = String(Boolean(text));
}

// Sends a request now, or after the one that runs; only the last one waits.
function submit({ whole = false } = {}) {
  if (!files.length && !modelName()) return;
  const settings = form.read();
  const key = JSON.stringify([form.operation.name, settings, modelName(), files.map((f) => f.name), whole]);
  if (isRunning) { isWaiting = key !== runningKey; return; }
  runningKey = key;
  history.replaceState(null, "", fragment(form.operation.name, settings, files.length ? "" : modelName()));
  message("error", "");
  isRunning = true;
  working(whole ? "writing the whole report" : "analyzing");
  byId("progress").removeAttribute("value");
  const request = {
    id: (lastId += 1), operation: form.operation.name, model: modelName(), files, settings,
    hasQuick: form.operation.has_quick, isWhole: whole,
  };
  started.then(() => { if (request.id === lastId) backend.submit(request); });
}

function answered(reply) {
  if (reply.id !== lastId) return;
  message("error", reply.error);
  if (reply.output && reply.isWhole) save(reply.output);
  else if (reply.output) place(reply);
  if (reply.error) show("welcome", false);
  if (reply.isFirst) { working("predicting"); return; }
  isRunning = false;
  working("");
  document.documentElement.dataset.answered = reply.id;
  setTimeout(() => navigator.serviceWorker?.controller?.postMessage("all"), 3000);
  if (isWaiting) { isWaiting = false; submit(); }
}

function place({ output, line, isFloor, isFirst }) {
  URL.revokeObjectURL(shownUrl);
  shownUrl = URL.createObjectURL(new Blob([output], { type: "text/html" }));
  byId("report").src = shownUrl;
  byId("line").textContent = byId("line").title = line;
  const wasShown = !byId("report").hidden;
  document.documentElement.dataset.shown = lastId;
  show("welcome", false);
  show("report", true);
  show("bar", true);
  const why = isFirst ? "Lower bounds; predictions follow." : "Lower bounds only: this page was built without predictors.";
  message("note", isFloor ? why : "");
  if (matchMedia("(max-width: 820px)").matches && !wasShown) byId("answer").scrollIntoView({ behavior: "smooth" });
}

function save(output) {
  const name = (files[0]?.name || modelName()).split(".")[0].replace("/", "-");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([output], { type: "text/html" }));
  link.download = `${name}-${form.operation.name}.html`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function receive(reply) {
  if (reply.type === "answer") answered(reply);
  else if (reply.type === "ready") { if (!isRunning) working(""); }
  else if (reply.type === "broken") { isRunning = false; working(""); message("error", `Python did not start: ${reply.text}`); }
  else if (reply.type === "loading") {
    byId("progress").value = reply.done / reply.size;
    if (reply.done < reply.size) working(`loading, ${(reply.done / 1e6).toFixed(1)} of ${(reply.size / 1e6).toFixed(1)} MB; once per browser`);
  } else { byId("progress").removeAttribute("value"); working(reply.text); }
}

function cancel() {
  if (!isRunning) return;
  lastId += 1;
  isRunning = isWaiting = false;
  working("");
  backend.stop();
}

async function copied(button, text) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1200);
}

function wire() {
  byId("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
  byId("settings").addEventListener("change", () => submit());
  byId("model").addEventListener("change", () => {
    if (!modelName()) return;
    setFiles([]);
    const [isSample, isShipped, isEncoder] = [catalogue.samples, catalogue.models, catalogue.encoders].map((names) => names.includes(modelName()));
    // a shipped decoder that is also a sample graph, such as gpt2, suits both; a name on the hub either
    const isServed = isShipped && !isEncoder;
    if ((isSample || isShipped) && !(isSample && isServed)) suit(isServed);
    submit();
  });
  byId("file").addEventListener("change", (event) => take([...event.target.files]));
  byId("cancel").addEventListener("click", cancel);
  byId("copy").addEventListener("click", (e) => copied(e.currentTarget, byId("line").textContent));
  byId("link").addEventListener("click", (e) => copied(e.currentTarget, location.href));
  byId("download").addEventListener("click", () => submit({ whole: true }));
  byId("keys-button").addEventListener("click", () => byId("keys").showModal());
  addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("over"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("over");
    take([...event.dataTransfer.files]);
  });
  addEventListener("hashchange", opened);
  addEventListener("keydown", key);
}

function take(chosen) {
  if (!chosen.length) return;
  setFiles(chosen);
  byId("model").value = "";
  suit(chosen.some((f) => /\.(json|gguf|safetensors)$/i.test(f.name)));
  submit();
}

// Language models are served, graphs are analyzed, unless another operation is chosen.
function suit(isLanguageModel) {
  const { name } = form.operation;
  if (isLanguageModel && name === "analyze") form.choose("serve");
  // a published predictor of language models answers for encoders too
  if (!isLanguageModel && name === "serve" && !form.read().predictor) form.choose("analyze");
}

function key(event) {
  const isTyping = event.target.matches("input:not([type=file]), select");
  if (event.key === "Escape") cancel();
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); byId("model").focus(); }
  if (event.key === "o") byId("file").click();
  if (event.key === "?") byId("keys").showModal();
  const one = catalogue.operations[Number(event.key) - 1];
  if (one) { form.choose(one.name); submit(); }
}

function opened() {
  const { op, model, settings } = linked();
  form.choose(op || form.operation.name, settings);
  if (model) { setFiles([]); byId("model").value = model; submit(); }
}

// Files come through the service worker from the first load on, so that the page works offline.
async function offline() {
  if (!("serviceWorker" in navigator) || catalogue.is_local) return;
  navigator.serviceWorker.addEventListener("message", () => {
    document.documentElement.dataset.offline = "";
    byId("privacy").textContent = "Runs in this browser, also offline. Models stay on this device; nothing is uploaded.";
  });
  try {
    await navigator.serviceWorker.register("offline.js");
    const controlled = new Promise((go) => {
      if (navigator.serviceWorker.controller) go();
      navigator.serviceWorker.addEventListener("controllerchange", go);
    });
    await Promise.race([controlled, new Promise((go) => setTimeout(go, 1500))]);
  } catch { /* a browser that forbids it, as in private windows: the page works online */ }
}

async function main() {
  const { token } = linked();
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch("catalogue.json", { headers });
  if (!response.ok) { message("error", "This address needs the token that `perfc ui` printed."); return; }
  catalogue = await response.json();
  byId("file").accept = catalogue.suffixes.flatMap((s) => (s === ".onnx.gz" ? [".gz"] : [s])).join(",");
  byId("privacy").textContent = catalogue.is_local
    ? "Runs on this machine by perfc ui; files are deleted after the answer."
    : "Runs in this browser. Models stay on this device; nothing is uploaded.";
  form = new Form(catalogue, () => submit());
  wire();
  started = offline().then(() => {
    backend = catalogue.is_local ? new OnServer(receive, token) : new InPage(receive);
  });
  opened();
}

main();
