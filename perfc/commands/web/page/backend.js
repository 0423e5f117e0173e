// Backends: Python in a worker of this page, or the local server that the page came from.

export class InPage {
  constructor(receive) {
    this.receive = receive;
    this.start();
  }

  start() {
    this.isReady = false;
    this.loaded = new Map();
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.addEventListener("message", ({ data }) => this.forward(data));
    this.worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.receive({ type: "broken", text: event.message || "the worker could not start" });
    });
  }

  forward(message) {
    if (message.type === "ready") this.isReady = true;
    if (message.type === "bytes") {
      this.loaded.set(message.name, message);
      const all = [...this.loaded.values()];
      const [done, size] = ["done", "size"].map((key) => all.reduce((n, m) => n + m[key], 0));
      this.receive({ type: "loading", done, size });
      return;
    }
    if (message.isBroken) this.stop();
    this.receive(message);
  }

  submit(request) {
    this.worker.postMessage(request);
  }

  // Ends what runs; Python starts again.
  stop() {
    this.worker.terminate();
    this.start();
  }
}

export class OnServer {
  constructor(receive, token) {
    this.receive = receive;
    this.token = token;
    queueMicrotask(() => receive({ type: "ready" }));
  }

  async submit({ id, operation, model, files, settings, isWhole }) {
    this.running = new AbortController();
    const body = new FormData();
    for (const [name, value] of Object.entries(settings)) body.append(name, value);
    body.append("answer", isWhole ? "whole" : "page");
    if (!files.length) body.append("model", model);
    for (const file of files) body.append("file", file, file.name);
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : {};
    this.receive({ type: "stage", text: files.length ? "sending" : "analyzing" });
    try {
      const response = await fetch(`api/${operation}`, { method: "POST", body, headers, signal: this.running.signal });
      const reply = await response.json();
      this.receive({ type: "answer", id, output: "", line: "", error: "", isWhole, ...reply });
    } catch (error) {
      if (error.name === "AbortError") return;
      this.receive({ type: "answer", id, output: "", line: "", error: "no answer from the server: is `perfc ui` running?", isWhole });
    }
  }

  stop() {
    this.running?.abort();
    this.receive({ type: "ready" });
  }
}
