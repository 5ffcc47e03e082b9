// The reference, in a thread of its own: a figure asks, and the page stays as quick as it was.
//
// A mistake is chosen when a program starts, by its environment. So each mistake gets an instance of its own, of a module
// that is compiled once.
import attnUrl from "../../build/site/moving/attn.wasm?url";
import brokenUrl from "../../build/site/moving/broken.wasm?url";
import weightsUrl from "../../build/site/moving/small.safetensors?url";
import configUrl from "../../models/small/config.json?url";
import tokenizerUrl from "../../models/small/tokenizer.json?url";

const modules = {
  attn: { url: attnUrl, program: () => import("../../build/site/moving/attn.mjs") },
  broken: { url: brokenUrl, program: () => import("../../build/site/moving/broken.mjs") },
};
const small = { "config.json": configUrl, "tokenizer.json": tokenizerUrl, "model.safetensors": weightsUrl };
const needSmall = ["read_text", "write_text", "split"]; // questions about models/small
const compiled = {};
const instances = new Map(); // mistake -> the instance; the last few

async function bytesOf(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The computing part of this page does not come (${response.status}).`);
  return response.arrayBuffer();
}
const compile = async (name) => WebAssembly.compile(await bytesOf(modules[name].url));

let files; // of models/small
const fetchSmall = () => Promise.all(Object.entries(small).map(async ([name, url]) => [name, new Uint8Array(await bytesOf(url))]));

/** Puts models/small into a folder of the instance's own. */
async function bring(instance) {
  const all = await files;
  instance.FS.mkdir("/small");
  for (const [name, bytes] of all) instance.FS.writeFile(`/small/${name}`, bytes);
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
    if (needSmall.includes(question)) files ??= fetchSmall(); // while the module is compiled
    if (!instances.has(mistake)) instances.set(mistake, start(mistake));
    const instance = await instances.get(mistake);
    if (needSmall.includes(question)) await (instance.brought ??= bring(instance));
    postMessage({ ticket, begun: true });
    const text = instance.ccall("answer", "string", ["string", "string"], [question, request]);
    postMessage({ ticket, ...JSON.parse(text, numbers) });
  } catch (error) {
    postMessage({ ticket, error: error.message });
  }
  for (const old of [...instances.keys()].filter((one) => one && one !== mistake).slice(0, -3)) instances.delete(old);
});
