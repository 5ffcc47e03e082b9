// The book as a web site: docs/site builds it from the Markdown of the repository, of which nothing is copied.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

const lessons = readdirSync(join(root, "lessons")).filter((name) => /^\d\d_/.test(name));
const read = (page) => readFileSync(join(root, page), "utf8");
const title = (page) => read(page).match(/^# (.*)$/m)[1];
const entry = (page) => ({ text: title(page), link: "/" + page.replace(/README\.md$/, "").replace(/\.md$/, "") });

/** Links to a README lead to its folder; those to files that are not pages, such as headers, become plain text. */
function fitLinks(md) {
  const isPage = (href) => /^(#|https?:)|\.md(#.*)?$/.test(href);
  md.core.ruler.after("inline", "fit-links", ({ tokens }) => {
    for (const { children } of tokens.filter((token) => token.children)) {
      let unlinks = false; // links do not nest
      for (const token of children) {
        if (token.type === "link_open") {
          const href = token.attrGet("href");
          unlinks = !isPage(href);
          token.attrSet("href", href.replace(/(^|\/)README\.md/, (_, before) => before || "./"));
        }
        if (unlinks && token.type.startsWith("link_")) Object.assign(token, { type: "text", tag: "", content: "", nesting: 0 });
      }
    }
  });
}

/** Badges are for the repository's page on GitHub: they are pictures of other sites, or of that page's neighbours. */
function dropBadges(md) {
  const isBadge = (token) => token.type === "image" && /^(https?:|\.\.\/\.\.\/)/.test(token.attrGet("src"));
  md.core.ruler.after("inline", "drop-badges", ({ tokens }) => {
    for (const token of tokens) if (token.children?.some(isBadge)) token.children = [];
  });
}

/** The answer to a question, and what a senior interviewer expects: from the lesson's folder, with links as in docs/. */
function answerTo(question, lesson) {
  const between = (text, begin, end) => {
    const [, rest] = text.split(begin);
    if (rest === undefined) throw new Error(`lessons/${lesson} has no answer to "${question}"`);
    return rest.split(end)[0].trim();
  };
  const answer = between(read(`lessons/${lesson}/README.md`), `<summary>${question}</summary>`, "</details>");
  const remark = between(read(`lessons/${lesson}/interview.md`), `\n### ${question}\n`, "\n### ");
  const senior = remark.replace(/^\w+ asked\.\s+/, "");
  return `${answer}\n\n**A senior interviewer expects more.** ${senior}`.replace(/\]\(\.\.\/(?=\d\d_)/g, "](../lessons/");
}

/** docs/interview.md lists the questions by topic, each with a link to its chapter. Here each has its answer below it. */
function addAnswers(md) {
  const entry = /^- \[(.*)\]\(\.\.\/lessons\/((\d\d)_(\w+))\/README\.md#interview-corner\)(?: \(lesson \d\d, (.*)\))?$/gm;
  md.core.ruler.before("normalize", "add-answers", (state) => {
    if (state.env.relativePath !== "docs/interview.md") return;
    state.src = state.src.replace(entry, (_, question, lesson, number, name, asked) => {
      const anchor = `${number}-${question.toLowerCase()}`.replace(/[^a-z0-9]+/g, "-").replace(/-$/, "");
      if (!asked) return `- [${question}](#${anchor})`; // in a list of those to take when there is little time
      return `<a id="${anchor}"></a>\n\n### ${question}\n\n[${number} ${name}](../lessons/${lesson}/README.md), ${asked}\n
<details><summary>Answer</summary>\n\n${answerTo(question, lesson)}\n\n</details>\n`;
    });
    if (!state.src.includes("<details>")) throw new Error("docs/interview.md has no question as ./learn verify --write lists it");
  });
}

/** {{ }} in code is a matrix, not a template of Vue's. */
function keepBraces(md) {
  const { code_inline } = md.renderer.rules;
  md.renderer.rules.code_inline = (...all) => code_inline(...all).replaceAll("{{", "{<!-- -->{");
}

export default {
  title: "attention-by-hand",
  description: "Learn attention by writing it, in C++",
  lang: "en",
  head: [
    ["link", { rel: "icon", href: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><text y='26' font-size='28'>√</text></svg>" }],
    ["style", {}, ".vp-doc [class*=language-] code{font-size:12.5px}.VPDoc .content-container.content-container{max-width:860px}"], // worked examples are wide
  ],
  base: process.env.SITE_BASE ?? "/",
  srcDir: "..",
  outDir: "../build/site/pages",
  cacheDir: "../build/site/cache",
  srcExclude: ["build/**", ".*/**", "tests/**", "tools/**", "solutions/**", "bench/**", "lessons/*/hints.md", "lessons/*/interview.md"],
  rewrites: { "README.md": "index.md", ":folder/README.md": ":folder/index.md", "lessons/:name/README.md": "lessons/:name/index.md", "models/:name/README.md": "models/:name/index.md" },
  markdown: { config: (md) => [addAnswers, dropBadges, fitLinks, keepBraces].forEach((plugin) => plugin(md)) },
  vite: {
    publicDir: false,
    resolve: { alias: [{ find: /^vue(\/.*)?$/, replacement: join(root, "build/site/node_modules/vue$1") }] }, // for pages outside docs/
  },
  themeConfig: {
    search: { provider: "local" },
    outline: "deep",
    nav: [
      { text: "Interview questions", link: "/docs/interview" },
      { text: "From PyTorch", link: "/docs/from_pytorch" },
      { text: "Glossary", link: "/docs/glossary" },
    ],
    sidebar: [
      { text: "Begin", items: [{ text: "What this is", link: "/" }, ...["docs/using.md", "docs/curriculum.md", "docs/conventions.md", "docs/from_pytorch.md"].map(entry)] },
      { text: "Lessons", items: lessons.map((name) => entry(`lessons/${name}/README.md`)) },
      {
        text: "More",
        items: ["docs/practice.md", "docs/interview.md", "docs/generate.md", "docs/train.md", "docs/glossary.md", "docs/sources.md", "models/small/README.md", "fast/README.md", "docs/measurements.md",
                "docs/architecture.md", "CONTRIBUTING.md"].map(entry),
      },
    ],
  },
};
