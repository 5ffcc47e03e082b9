// The built site on this machine, as a static host shows it: for docs/site serve, open and check.
import { readFileSync, realpathSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, sep } from "node:path";
import { gzipSync } from "node:zlib";

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".json": "application/json" };

/** The file behind an address; undefined where there is none in the folder. A link that leads out of it is none. */
export function fileOf(pages, path) {
  const folder = realpathSync(pages) + sep;
  const asked = join(folder, decodeURIComponent(path));
  const file = [asked, asked + ".html", join(asked, "index.html")].find((f) => statSync(f, { throwIfNoEntry: false })?.isFile());
  return file && realpathSync(file).startsWith(folder) ? file : undefined;
}

/** Serves a folder on a port, 0 for any; returns the server once it listens. */
export async function serve(pages, port) {
  const server = createServer((request, response) => {
    let file, content;
    try {
      file = fileOf(pages, new URL(request.url, "http://localhost").pathname);
      content = file && readFileSync(file);
    } catch {} // no address, or a file that cannot be read
    const type = { "content-type": types[extname(file ?? "")] ?? "application/octet-stream" };
    const packs = /\bgzip\b/.test(request.headers["accept-encoding"]); // as hosts do
    response.writeHead(content ? 200 : 404, packs && content ? { ...type, "content-encoding": "gzip" } : type);
    response.end(content && packs ? gzipSync(content) : content);
  });
  await new Promise((ready, failed) => server.once("error", failed).listen(port, "127.0.0.1", ready));
  return server;
}
