// Serves the built site until Ctrl-C, and prints its address.
//
//   node serve.mjs ROOT [PAGE]     with a page, such as lessons/01_self_attention_v1/, opens it in a browser
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { serve } from "./pages.mjs";

const [root, page = ""] = process.argv.slice(2);
const pages = join(root, "build/site/pages");
const { BROWSER, DISPLAY, PATH, SSH_CONNECTION, WAYLAND_DISPLAY } = process.env;

/** The browser as a command for sh, "" where there is none. */
function browser() {
  if (BROWSER) return BROWSER;
  const opens = (PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, "xdg-open")));
  return opens && (DISPLAY || WAYLAND_DISPLAY) ? "xdg-open" : "";
}

const server = await serve(pages, 4173).catch(() => serve(pages, 0)); // another site may be at the usual port
const { port } = server.address();
const address = `http://127.0.0.1:${port}/${page}`;
console.log(`${address}   (Ctrl-C ends it)`);
if (page && browser()) {
  const opening = spawn("sh", ["-c", `${browser()} "$1"`, "sh", address], { stdio: "ignore" });
  opening.on("exit", (code) => code && console.log("The browser did not start: open this address yourself."));
} else if (page) {
  console.log("There is no browser here: open this address yourself.");
  if (SSH_CONNECTION) console.log(`Over SSH, run this on your own machine first: ssh -N -L ${port}:127.0.0.1:${port} HOST`);
}
