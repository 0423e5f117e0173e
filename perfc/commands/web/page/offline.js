// Service worker: files of one build come from a cache once they have been requested.

const CACHE = "perfc-@BUILD@";
const FILES = [/* FILES */];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(CACHE));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith("perfc-") && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  })());
});

async function answer(request) {
  const cache = await caches.open(CACHE);
  const url = request.url.split("#")[0];
  const known = await cache.match(url);
  if (known) return known;
  const response = await fetch(request);
  if (response.ok && response.type === "basic") await cache.put(url, response.clone());
  return response;
}

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method === "GET" && url.origin === location.origin) event.respondWith(answer(event.request));
});

// The rest, such as weights of other runtimes, when the page is idle.
self.addEventListener("message", (event) => {
  if (event.data !== "all") return;
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    for (const name of FILES) {
      const url = new URL(name, self.registration.scope).href;
      if (!(await cache.match(url))) await cache.add(url);
    }
    event.source?.postMessage("all");
  })());
});
