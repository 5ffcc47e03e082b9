// Opens every page of the built site in Chromium, on a phone and on a desktop, in light and dark mode. Nothing may be
// wrong: an error in the console, a file that does not come, an image without a picture or without words, a link that
// leads nowhere, a page that scrolls sideways.
//
//   node - ROOT <check.mjs     in build/site, whose node_modules has playwright-core; exit code 1 when something is wrong
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { fileOf, serve } from "../../docs/.vitepress/pages.mjs";

const pages = join(process.argv[2], "build/site/pages");
const server = await serve(pages, 0);
const origin = `http://127.0.0.1:${server.address().port}`;

const paths = readdirSync(pages, { recursive: true })
  .filter((file) => file.endsWith(".html") && file !== "404.html")
  .map((file) => "/" + file.replace(/(^|\/)index\.html$/, "$1").replace(/\.html$/, ""))
  .sort();

const problems = [];
const anchors = new Map(); // page -> the ids on it
const links = []; // [page, link]
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
for (const [width, colorScheme] of [[360, "dark"], [1280, "light"]]) {
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
  let here = "";
  const note = (text) => problems.push(`${here} at ${width}: ${text}`);
  page.on("console", (message) => message.type() === "error" && note(`console: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  const stopped = "net::ERR_ABORTED"; // a page fetches others early, and we leave it before they are there
  page.on("requestfailed", (request) => request.failure().errorText !== stopped && note(`does not come: ${request.url()}`));
  for (here of paths) {
    await page.goto(origin + here, { waitUntil: "load" });
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    const seen = await page.evaluate(() => ({
      sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      images: [...document.querySelectorAll(".vp-doc img")].map((i) => [i.src, i.naturalWidth, i.alt]),
      links: [...document.querySelectorAll(".vp-doc a[href]")].map((a) => a.href),
      ids: [...document.querySelectorAll("[id]")].map((e) => e.id),
      text: document.querySelector(".vp-doc")?.innerText.length ?? 0,
    }));
    if (seen.sideways > 0) note(`scrolls sideways by ${seen.sideways} pixels`);
    if (seen.text < 500) note(`shows only ${seen.text} characters`);
    for (const [source, drawn, alt] of seen.images) {
      if (!drawn) note(`an image is not there: ${source}`);
      if (!alt) note(`an image has no words for those who cannot see it: ${source}`);
    }
    anchors.set(here, new Set(seen.ids));
    links.push(...seen.links.filter((link) => link.startsWith(origin)).map((link) => [here, new URL(link)]));
  }
  await page.close();
}
for (const [from, { pathname, hash }] of links) {
  const to = pathname.replace(/index\.html$/, "").replace(/\.html$/, "");
  if (!fileOf(pages, pathname)) problems.push(`${from}: the link ${pathname} leads nowhere`);
  else if (hash && !anchors.get(to)?.has(decodeURIComponent(hash.slice(1)))) problems.push(`${from}: nothing on ${to} is called ${hash}`);
}
await browser.close();
server.close();
console.log([...new Set(problems)].join("\n") || `${paths.length} pages, each at 360 and 1280 pixels: nothing wrong`);
process.exit(problems.length === 0 ? 0 : 1);
