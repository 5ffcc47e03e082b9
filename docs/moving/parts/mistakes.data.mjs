// The catalogued mistakes that a figure offers: { "01": { unscaled: "the scores are not divided by √D", ... } }, of the files in
// broken.txt.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const tests = join(here, "../../../tests");

export default {
  load() {
    const all = {};
    for (const [, number, name] of readFileSync(join(here, "../broken.txt"), "utf8").matchAll(/^(\d\d)\/(\S+)$/gm)) {
      const folder = readdirSync(tests).find((one) => one.startsWith(number));
      const { mistakes } = JSON.parse(readFileSync(join(tests, folder, "mistakes.json"), "utf8"));
      for (const { id, says, file } of mistakes) if (file === name) (all[number] ??= {})[id] = says;
    }
    return all;
  },
};
