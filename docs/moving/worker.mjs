// The reference, in a thread of its own: a figure asks, and the page stays as quick as it was.
//
// A mistake is chosen when a program starts, by its environment. So each mistake gets an instance of its own, of a module
// that is compiled once.
import attnUrl from "../../build/site/moving/attn.wasm?url";
import brokenUrl from "../../build/site/moving/broken.wasm?url";

const modules = {
  attn: { url: attnUrl, program: () => import("../../build/site/moving/attn.mjs") },
  broken: { url: brokenUrl, program: () => import("../../build/site/moving/broken.mjs") },
};
const compiled = {};
const instances = new Map(); // mistake -> the instance; the last few

async function compile(name) {
  const response = await fetch(modules[name].url);
  if (!response.ok) throw new Error(`The computing part of this page does not come (${response.status}).`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** mistake: "" or "01.unscaled" */
async function start(mistake) {
  const name = mistake ? "broken" : "attn";
  compiled[name] ??= compile(name);
  const [{ default: program }, module] = await Promise.all([modules[name].program(), compiled[name]]);
  const [lesson, id] = mistake.split(".");
  return program({
    instantiateWasm: (imports, done) => (WebAssembly.instantiate(module, imports).then((instance) => done(instance, module)), {}),
    preRun: [(self) => mistake && (self.ENV[`ATTN_MISTAKE_${lesson}`] = id)],
  });
}

const numbers = (_, x) => (x === "NaN" ? NaN : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x);

addEventListener("message", async ({ data: { ticket, question, request, mistake } }) => {
  try {
    if (!instances.has(mistake)) instances.set(mistake, start(mistake));
    const instance = await instances.get(mistake);
    const text = instance.ccall("answer", "string", ["string", "string"], [question, request]);
    postMessage({ ticket, ...JSON.parse(text, numbers) });
  } catch (error) {
    postMessage({ ticket, error: error.message });
  }
  for (const old of [...instances.keys()].filter((one) => one && one !== mistake).slice(0, -3)) instances.delete(old);
});
