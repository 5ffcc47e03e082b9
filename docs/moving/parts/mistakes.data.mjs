// The catalogued mistakes that a figure offers: { "01": { unscaled: "the scores are not divided by √D", ... } }
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const tests = join(dirname(fileURLToPath(import.meta.url)), "../../../tests");
const broken = ["00", "01", "03", "06"]; // as in CMakeLists.txt

export default {
  load: () =>
    Object.fromEntries(broken.map((number) => {
      const folder = readdirSync(tests).find((name) => name.startsWith(number));
      const { mistakes } = JSON.parse(readFileSync(join(tests, folder, "mistakes.json"), "utf8"));
      return [number, Object.fromEntries(mistakes.map(({ id, says }) => [id, says]))];
    })),
};
