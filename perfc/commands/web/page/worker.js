// The worker of the page: Python runs here, so that the page stays responsive.

import { Engine } from "./engine.js";

const engine = new Engine(new URL("./", self.location.href), (message) => postMessage(message));
const ready = engine.start().then(
  () => postMessage({ type: "ready" }),
  (error) => { postMessage({ type: "broken", text: String(error.message || error) }); throw error; },
);
let last = ready.catch(() => undefined);

self.addEventListener("message", ({ data }) => {
  last = last.then(() => ready).then(() => engine.answer(data)).catch((error) => {
    // a crash of Python, such as exhausted memory: the page starts a new worker
    postMessage({ type: "answer", id: data.id, output: "", line: "", error: String(error.message || error).trim().split("\n").at(-1), isBroken: true });
  });
});
