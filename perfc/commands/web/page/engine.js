// Loads Python and perfc in a worker. A file that begins with the magic bytes of gzip is unpacked,
// whatever its headers are; small files come at once, weights when a predictor opens them.

async function unpacked(response, onBytes) {
  const counted = response.body.pipeThrough(new TransformStream({
    transform(chunk, out) { onBytes(chunk.length); out.enqueue(chunk); },
  }));
  const reader = counted.getReader();
  const first = await reader.read();
  const rest = new ReadableStream({
    start(out) { if (!first.done) out.enqueue(first.value); else out.close(); },
    async pull(out) {
      const { done, value } = await reader.read();
      if (done) out.close(); else out.enqueue(value);
    },
  });
  const isGzip = !first.done && first.value[0] === 0x1f && first.value[1] === 0x8b;
  return isGzip ? rest.pipeThrough(new DecompressionStream("gzip")) : rest;
}

export class Engine {
  constructor(base, report) {
    this.base = base;
    this.report = report;
    this.hasNumpy = false;
    this.mounts = 0;
  }

  url(name) { return new URL(name, this.base).href; }

  // One request: a Response with the contents of a file of the build.
  async fetched(name, type) {
    const { size } = this.manifest.files[name];
    let done = 0;
    const response = await this.fetch(this.url(name));
    if (!response.ok) throw new Error(`${name}: ${response.status}`);
    const stream = await unpacked(response, (n) => {
      done += n;
      this.report({ type: "bytes", name, done, size });
    });
    return new Response(stream, { headers: { "Content-Type": type } });
  }

  async bytes(name) {
    return new Uint8Array(await (await this.fetched(name, "application/octet-stream")).arrayBuffer());
  }

  async start() {
    this.fetch = self.fetch.bind(self);
    this.manifest = await (await this.fetch(this.url("manifest.json"))).json();
    const code = this.bytes("code.bin");
    // Pyodide requests these two by name
    const wasm = this.fetched("pyodide.wasm.bin", "application/wasm");
    const library = this.fetched("stdlib.bin", "application/octet-stream");
    self.fetch = (request, ...more) => {
      const name = String(request.url || request);
      if (name.endsWith("/pyodide.asm.wasm")) return wasm;
      if (name.endsWith("/python_stdlib.zip")) return library;
      if (name.endsWith("/pyodide-lock.json")) return Promise.resolve(Response.json(this.manifest.lock));
      return this.fetch(request, ...more);
    };
    const script = new Blob([await this.bytes("pyodide.asm.bin")], { type: "text/javascript" });
    const [{ loadPyodide }] = await Promise.all([
      import(this.url("pyodide.mjs")), import(URL.createObjectURL(script)),
    ]);
    this.report({ type: "stage", text: "starting Python" });
    this.python = await loadPyodide({ indexURL: this.url("./"), fullStdLib: false });
    this.site = this.python.runPython("import site; site.getsitepackages()[0]");
    this.python.unpackArchive(await code, "zip", { extractDir: this.site });
    for (const [path, name, size] of this.manifest.lazy) this.lazy(`${this.site}/${path}`, name, size);
    this.session = this.python.pyimport("perfc.commands.web.session");
    this.session.listen((name) => this.report({ type: "stage", text: name }));
  }

  // A file whose contents are requested when it is first read.
  lazy(path, name, size) {
    const { FS } = this.python;
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    FS.writeFile(path, new Uint8Array(0));
    const { node } = FS.lookupPath(path);
    const usual = node.stream_ops;
    let isLoaded = false;
    node.usedBytes = size;
    node.stream_ops = {
      ...usual,
      read: (stream, ...more) => {
        if (!isLoaded) {
          const request = new XMLHttpRequest();
          request.open("GET", this.url(name), false);
          request.responseType = "arraybuffer";
          request.send();
          if (request.status !== 200 || request.response.byteLength !== size) {
            throw new FS.ErrnoError(29);
          }
          node.contents = new Uint8Array(request.response);
          isLoaded = true;
          this.report({ type: "bytes", name, done: size, size });
        }
        return usual.read(stream, ...more);
      },
    };
  }

  async numpy() {
    if (this.hasNumpy || !this.manifest.files["numpy.bin"]) return;
    this.report({ type: "stage", text: "loading predictors" });
    this.python.unpackArchive(await this.bytes("numpy.bin"), "zip", { extractDir: this.site });
    this.python.runPython("import importlib; importlib.invalidate_caches()");
    this.hasNumpy = true;
  }

  // Answers a request; for another model than before, with its lower bounds first.
  async answer({ id, operation, model, files, settings, hasQuick, isWhole }) {
    const canPredict = this.hasNumpy || Boolean(this.manifest.files["numpy.bin"]);
    const { FS } = this.python;
    let folder = model;
    if (files.length) {
      folder = `/model${this.mounts += 1}`;
      FS.mkdirTree(folder);
      // slices of the file are read when Python reads them
      FS.mount(FS.filesystems.WORKERFS, { files }, folder);
      FS.chdir(folder);
    }
    try {
      const run = (form) => {
        const values = this.python.toPy(settings);
        const names = this.python.toPy(files.map((f) => f.name));
        const reply = this.session.run_operation(operation, files.length ? "." : model, names, values, form);
        const fields = reply.toJs({ dict_converter: Object.fromEntries });
        for (const one of [values, names, reply]) one.destroy();
        return fields;
      };
      const key = [operation, model, ...files.map((f) => `${f.name} ${f.size} ${f.lastModified}`)].join();
      const isNew = key !== this.last;
      this.last = key;
      if (hasQuick && (isNew || !canPredict) && !isWhole) {
        const quick = run("quick");
        if (!quick.error || !canPredict) this.report({ type: "answer", id, ...quick, isFirst: canPredict, isFloor: true });
        if (!canPredict) return;
      }
      if (!canPredict) {
        this.report({ type: "answer", id, output: "", line: "", error: "needs predictors, which this page was built without" });
        return;
      }
      await this.numpy();
      this.report({ type: "answer", id, ...run(isWhole ? "whole" : "page"), isWhole, isFirst: false, isFloor: false });
    } finally {
      if (files.length) {
        FS.chdir("/");
        FS.unmount(folder);
        FS.rmdir(folder);
      }
    }
  }
}
