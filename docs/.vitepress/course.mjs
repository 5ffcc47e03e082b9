// What the site knows about the course: read from the repository, so that nothing is listed twice.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
export const read = (page) => readFileSync(join(root, page), "utf8");
export const titleOf = (page) => read(page).match(/^# (.*)$/m)[1];
export const base = process.env.SITE_BASE ?? "/"; // where the site is on its host
export const slugOf = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
export const hours = (minutes) => `${(minutes / 60).toFixed(1).replace(/\.0$/, "")} hours`;

/** "lessons/00_warm_up/README.md" and so on, with what the comments below their headings say. */
export const lessons = readdirSync(join(root, "lessons")).filter((name) => /^\d\d_/.test(name)).map((name) => {
  const page = `lessons/${name}/README.md`;
  const text = read(page);
  const [, write] = text.match(/^<!-- curriculum: (.*?) \| .* -->$/m);
  const [, minutes, asked, after = ""] = text.match(/^<!-- study: (\d+) minutes \| (\w+ asked)(?: \| after (.*?))? -->$/m);
  return { name, page, number: name.slice(0, 2), title: titleOf(page), write, minutes: +minutes, asked, after: after.match(/\d\d/g) ?? [] };
});

/** "00 Warm-up" of "00 · Warm-up: softmax and a linear layer". */
export const shortTitleOf = ({ number, title }) => `${number} ${title.match(/· ([^:]*)/)[1]}`;

/** The parts of the course, from the comments in docs/curriculum.md. */
export const groups = [...read("docs/curriculum.md").matchAll(/^<!-- group (\d\d): (.*?) \| (.*) -->$/gm)].map(([, first, title, text], i, all) => {
  const members = lessons.filter(({ number }) => number >= first && number < (all[i + 1]?.[1] ?? "~"));
  return { title, text, lessons: members, minutes: members.reduce((sum, { minutes }) => sum + minutes, 0) };
});

/** Where the repository is on the web: as SITE_REPOSITORY says, or GitHub, or git. Undefined where none of them knows. */
export const repository = (() => {
  const { SITE_REPOSITORY, GITHUB_SERVER_URL = "https://github.com", GITHUB_REPOSITORY } = process.env;
  if (SITE_REPOSITORY) return SITE_REPOSITORY;
  if (GITHUB_REPOSITORY) return `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`;
  try {
    const remote = execFileSync("git", ["remote", "get-url", "origin"], { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const [, host, path] = remote.trim().match(/^(?:https:\/\/|ssh:\/\/|)(?:[^@/]*@)?([\w.-]+\.\w+)[/:](.+?)(?:\.git)?$/);
    return `https://${host}/${path}`;
  } catch {} // no git, no remote, or a folder
})();
export const linkTo = (path, line) => `${repository}/blob/HEAD/${path}${line ? `#L${line}` : ""}`;
export const isFile = (path) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile() ?? false;

/** Functions and classes of include/attn: name -> [header, line]. A name that several headers declare is none. */
export const declared = new Map();
for (const header of readdirSync(join(root, "include/attn")).filter((name) => name.endsWith(".hpp"))) {
  read(`include/attn/${header}`).split("\n").forEach((line, i) => {
    const name = line.match(/^(?:class|struct) (\w+)/)?.[1] ?? line.match(/^(?:template <.*> ?)?(?:inline |constexpr |\[\[nodiscard\]\] )*[\w:<>, ]+[\s&*]+(\w+)\(/)?.[1];
    if (name) declared.set(name, declared.has(name) && declared.get(name)?.[0] !== header ? undefined : declared.get(name) ?? [header, i + 1]);
  });
}

/** Terms of the glossary: [term, anchor]. "Adapter (LoRA)" has two. */
export const terms = [...read("docs/glossary.md").matchAll(/^\*\*(.+?)\.\*\*/gm)].flatMap(([, term]) =>
  term.split(/ \(|\)|, /).filter((part) => part.length > 2).map((part) => [part, slugOf(term)]));

/** The answer to a question, and what a senior interviewer expects: from the lesson's folder, with links as in docs/. */
function answerTo(question, lesson) {
  const between = (text, begin, end) => {
    const [, rest] = text.split(begin);
    if (rest === undefined) throw new Error(`lessons/${lesson} has no answer to "${question}"`);
    return rest.split(end)[0].trim();
  };
  const answer = between(read(`lessons/${lesson}/README.md`), `<summary>${question}</summary>`, "</details>");
  const remark = between(read(`lessons/${lesson}/interview.md`), `\n### ${question}\n`, "\n### ");
  return `${answer}\n\n**A senior interviewer expects more.** ${remark.replace(/^\w+ asked\.\s+/, "")}`;
}

/** docs/interview.md: topics with their questions, and in how many minutes a question should be among those learned. */
const entry = /^- \[(.*)\]\(\.\.\/lessons\/((\d\d)_\w+)\/README\.md#interview-corner\)(?: \(lesson \d\d, (.*) asked\))?$/gm;
const index = read("docs/interview.md").split(/^## /m);
const least = new Map(); // "01 question" -> 15, 30 or 60
for (const part of index.find((section) => section.startsWith("By minutes")).split(/^### /m).slice(1)) {
  const minutes = part.startsWith("An hour") ? 60 : parseInt(part);
  for (const [, question, , number] of part.matchAll(entry)) least.set(number + question, minutes);
}
export const topics = index.map((section) => {
  const [title] = section.split("\n");
  const questions = [...section.matchAll(entry)].filter(([, , , , asked]) => asked).map(([, question, lesson, number, asked]) =>
    ({ question, lesson, number, asked, anchor: slugOf(`${number}-${question}`), minutes: least.get(number + question), answer: () => answerTo(question, lesson) }));
  return { title, slug: slugOf(title), questions };
}).filter(({ questions }) => questions.length > 0);
if (topics.length === 0 || least.size === 0) throw new Error("docs/interview.md has no question as ./learn verify --write lists it");
