// What the site makes of the repository's Markdown, beyond what VitePress does: plugins of markdown-it.
import { createRequire } from "node:module";
import { dirname, join, normalize } from "node:path";
import { base, declared, groups, hours, isFile, lessons, linkTo, read, repository, root, shortTitleOf, slugOf, terms, topics } from "./course.mjs";

const require = createRequire(join(root, "build/site/package.json"));
const escapeHtml = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** ```math blocks as SVG, which shrinks with the page, and as MathML for those who listen. */
function typesetFormulas(md) {
  const { mathjax } = require("mathjax-full/js/mathjax.js");
  const { TeX } = require("mathjax-full/js/input/tex.js");
  const { SVG } = require("mathjax-full/js/output/svg.js");
  const { liteAdaptor } = require("mathjax-full/js/adaptors/liteAdaptor.js");
  const { RegisterHTMLHandler } = require("mathjax-full/js/handlers/html.js");
  const { SerializedMmlVisitor } = require("mathjax-full/js/core/MmlTree/SerializedMmlVisitor.js");
  require("mathjax-full/js/input/tex/ams/AmsConfiguration.js");
  const adaptor = liteAdaptor();
  RegisterHTMLHandler(adaptor);
  const formatError = (_, error) => { throw error; };
  const document = mathjax.document("", { InputJax: new TeX({ packages: ["base", "ams"], formatError }), OutputJax: new SVG({ fontCache: "local" }) });
  const visitor = new SerializedMmlVisitor();
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, i, ...rest) => {
    if (tokens[i].info.trim() !== "math") return fence(tokens, i, ...rest);
    const svg = adaptor.innerHTML(document.convert(tokens[i].content, { display: true })).replace("<svg ", '<svg aria-hidden="true" ');
    document.clear();
    const mathml = visitor.visitTree(document.convert(tokens[i].content, { display: true, end: 20 })).replace(/\n\s*/g, "");
    return `<div class="formula" v-pre>${svg}<span class="visually-hidden">${mathml}</span></div>\n`;
  };
}

/** A block of code knows its columns: the style sheet fits its letters to the page. Commands may be wrapped, numbers may not. */
function measureCode(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (tokens, i, ...rest) => {
    const columns = Math.max(...tokens[i].content.split("\n").map((line) => [...line].length));
    const commands = /^(\.\/learn|git|docker|hf|grep) /.test(tokens[i].content) ? "commands " : "";
    return fence(tokens, i, ...rest).replace(/^<div class="language-/, `<div style="--columns:${Math.max(columns, 40)}" class="${commands}language-`);
  };
}

/** On a phone, the rows of a wide table become blocks: each cell below the words of its column. */
function stackTables(md) {
  md.renderer.rules.table_open = (tokens, i, options, env, self) => self.renderToken(tokens, i, options); // VitePress makes it scroll
  md.core.ruler.after("inline", "stack-tables", ({ tokens }) => {
    tokens.forEach((table, i) => {
      if (table.type !== "table_open") return;
      const end = tokens.findIndex((token, j) => j > i && token.type === "table_close");
      const cells = tokens.slice(i, end).filter((_, j, all) => /^t[hd]_open$/.test(all[j].type));
      const texts = tokens.slice(i, end).filter((_, j, all) => /^t[hd]_open$/.test(all[j - 1]?.type)).map(({ content }) => content.replace(/\]\(.*?\)|[[`*]/g, ""));
      const heads = cells.filter(({ type }) => type === "th_open").length;
      const widths = Array(heads).fill(0);
      const words = Array(heads).fill(0);
      texts.forEach((text, j) => {
        widths[j % heads] = Math.max(widths[j % heads], [...text].length);
        words[j % heads] = Math.max(words[j % heads], ...text.split(/[\s,]+/).map((word) => [...word].length));
      });
      cells.forEach((cell, j) => cell.type === "td_open" && texts[j % heads] && cell.attrSet("data-column", texts[j % heads]));
      const sum = (all) => all.reduce((total, width) => total + width, 0);
      const letters = sum(words.map((word, j) => Math.max(word, Math.min(widths[j], 24)))) + 3 * heads;
      if (letters > 44) table.attrJoin("class", "stacks");
      if (sum(words) + 3 * heads > 84) table.attrJoin("class", "stacks-early");
    });
  });
}

/** A picture that stands alone is a figure: its caption is its title here, or else the title in the picture. Phones get NAME_phone.svg, if there is one. */
function captionFigures(md) {
  md.core.ruler.after("inline", "caption-figures", ({ tokens, env, Token }) => {
    const folder = dirname(env.relativePath === "index.md" ? "docs/home.md" : env.relativePath);
    const svgOf = (name) => {
      const file = normalize(join(folder, name));
      return isFile(file) ? read(file) : "";
    };
    const sizeOf = (name) => { // the page does not move when the picture comes
      const [, width, height, shown] = svgOf(name).match(/viewBox="0 0 (\S+) (\S+)" width="(\S+)"/) ?? [];
      return shown ? [["width", shown], ["height", Math.round((height * shown) / width)]] : [];
    };
    for (const image of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "image")) image.attrs.push(...sizeOf(image.attrGet("src")));
    tokens.forEach(({ type, children }, i) => {
      if (type !== "inline" || children.length !== 1 || children[0].type !== "image" || tokens[i - 1].type !== "paragraph_open") return;
      tokens[i - 1].tag = tokens[i + 1].tag = "figure";
      const html = (content) => Object.assign(new Token("html_inline", "", 0), { content });
      const [title, source] = [children[0].attrGet("title"), children[0].attrGet("src")];
      const [whole = "", first] = svgOf(source).match(/<title>((.*?)(?:[.:;](?= ).*?)?)<\/title>/)?.slice(1) ?? [];
      const caption = title ? escapeHtml(title) : whole.length <= 110 ? whole : first;
      const phone = source.replace(/\.svg$/, "_phone.svg");
      if (svgOf(phone)) {
        children.unshift(html(`<picture><source media="(max-width: 640px)" srcset="./${phone}" ${sizeOf(phone).map(([name, value]) => `${name}="${value}"`).join(" ")}>`));
        children.push(html("</picture>"));
      }
      children.push(html(`<figcaption>${caption.replace(/([^.])$/, "$1.")} `));
      if (/^lessons\//.test(env.relativePath)) {
        const open = new Token("link_open", "a", 1);
        open.attrSet("href", "../../docs/conventions.md#colours");
        children.push(open, Object.assign(new Token("text", "", 0), { content: "Colours" }), new Token("link_close", "a", -1));
      }
      children.push(html("</figcaption>"));
    });
  });
}

/** Links to a README lead to its folder; those to files that are not pages, such as headers, into the repository. */
function fitLinks(md) {
  const isPage = (href) => /^(#|https?:)|\.md(#.*)?$/.test(href);
  md.core.ruler.after("inline", "fit-links", ({ tokens, env }) => {
    for (const { children } of tokens.filter((token) => token.children)) {
      let unlinks = false; // links do not nest
      for (const token of children) {
        if (token.type === "link_open") {
          const href = token.attrGet("href");
          unlinks = !isPage(href) && !repository;
          if (!isPage(href)) token.attrSet("href", linkTo(normalize(join(dirname(env.relativePath), href))));
          if (env.relativePath === "index.md" && !/^(#|https?:)/.test(href)) token.attrSet("href", normalize(join("docs", href))); // docs/home.md
          token.attrSet("href", token.attrGet("href").replace(/(^|\/)README\.md/, (_, before) => before || "./"));
        }
        if (unlinks && token.type.startsWith("link_")) Object.assign(token, { type: "text", tag: "", content: "", nesting: 0 });
      }
    }
  });
}

/** The first mention of a file, function or class of the course leads to it in the repository; of a term, to the glossary. */
function linkMentions(md) {
  const byWord = new Map(terms.map(([term, anchor]) => [term.toLowerCase(), anchor]));
  const form = new RegExp(`(?<![\\w-])(${[...byWord.keys()].sort((a, b) => b.length - a.length).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})(s?)(?![\\w-])`, "i");
  const placeOf = (code, folder) => {
    const name = code.replace(/\(.*\)$/, "");
    const file = [name, `include/${name}`, `${folder}/${name}`].find((path) => /\.\w+$/.test(name) && !name.startsWith(".") && isFile(path));
    if (file) return linkTo(file);
    const place = declared.get(name);
    return place && linkTo(`include/attn/${place[0]}`, place[1]);
  };
  md.core.ruler.after("fit-links", "link-mentions", ({ tokens, env, Token }) => {
    if (!/^lessons\//.test(env.relativePath)) return;
    const seen = new Set();
    const linked = (href, inner, kind) => {
      const open = new Token("link_open", "a", 1);
      open.attrs = [["href", href], ["class", kind]];
      return [open, inner, new Token("link_close", "a", -1)];
    };
    tokens.forEach((token, i) => {
      if (!token.children || tokens[i - 1]?.type === "heading_open") return;
      let inLink = false;
      token.children = token.children.flatMap((child) => {
        if (child.type === "link_open") inLink = true;
        if (child.type === "link_close") inLink = false;
        if (inLink) return [child];
        if (child.type === "code_inline" && repository && !seen.has(child.content)) {
          const href = placeOf(child.content, dirname(env.relativePath));
          if (href) seen.add(child.content);
          return href ? linked(href, child, "mention") : [child];
        }
        if (child.type !== "text") return [child];
        const parts = [];
        let rest = child.content;
        for (let found; (found = rest.match(form)); ) {
          const text = (content) => Object.assign(new Token("text", "", 0), { content });
          const anchor = byWord.get(found[1].toLowerCase());
          parts.push(text(rest.slice(0, found.index)));
          parts.push(...(seen.has(anchor) ? [text(found[0])] : linked(`../../docs/glossary.md#${anchor}`, text(found[0]), "term")));
          seen.add(anchor);
          rest = rest.slice(found.index + found[0].length);
        }
        return [...parts, Object.assign(new Token("text", "", 0), { content: rest })];
      });
    });
  });
}

/** The terms of the glossary are anchors. */
function nameTerms(md) {
  md.core.ruler.after("inline", "name-terms", ({ tokens, env }) => {
    if (env.relativePath !== "docs/glossary.md") return;
    tokens.forEach(({ children }, i) => {
      const term = children?.[1]?.type === "strong_open" && children[2].content.match(/^(.+)\.$/);
      if (term) tokens[i - 1].attrSet("id", term[1].toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, ""));
    });
  });
}

/** Badges are for the repository's page on GitHub: they are pictures of other sites, or of that page's neighbours. */
function dropBadges(md) {
  const isBadge = (token) => token.type === "image" && /^(https?:|\.\.\/\.\.\/)/.test(token.attrGet("src"));
  md.core.ruler.after("inline", "drop-badges", ({ tokens }) => {
    for (const token of tokens) if (token.children?.some(isBadge)) token.children = [];
  });
}

/** A line break is a space: Vue drops one between two elements, such as links. */
function keepSpaces(md) {
  md.renderer.rules.softbreak = () => " ";
}

/** Code breaks at spaces: not within an option such as --all, and not within a small matrix. */
function keepWords(md) {
  const { code_inline } = md.renderer.rules;
  const word = /(?<!\S)(?:\[[^\][]+;[^\][]+\]|\S*[-/]\S+)(?!\S)/g;
  const keep = (one) => (one.length > (one[0] === "[" ? 34 : 24) ? one : `<span class="whole">${one}</span>`); // what is longer may need two lines
  md.renderer.rules.code_inline = (...all) => code_inline(...all).replace(/(?<=^<code[^>]*>).*(?=<\/code>$)/s, (code) => code.replace(word, keep));
}

/** {{ }} in code is a matrix, not a template of Vue's. */
function keepBraces(md) {
  const { code_inline } = md.renderer.rules;
  md.renderer.rules.code_inline = (...all) => code_inline(...all).replaceAll("{{", "{<!-- -->{");
}

/** Below the heading of a lesson: how long it takes, what one writes, how it is checked. */
function factsOf({ number, write, minutes, asked, after }) {
  const link = (other) => `[${other}](../${lessons.find((lesson) => lesson.number === other).name}/README.md)`;
  const needs = after.length === 0 ? "" : ` · after ${after.map(link).join(", ")}`;
  return `**${minutes} minutes** · ${asked} in interviews${needs}\n\n**You write** ${write} · **check it with** \`./learn check ${number}\`\n`;
}

const card = ({ title, text, lessons, minutes }) =>
  `<li><strong>${title}</strong> <span>${lessons.length === 1 ? "1 lesson" : `${lessons.length} lessons`}, ${hours(minutes)}</span>
<p>${escapeHtml(text)}</p><p>${lessons.map((lesson) => `<a href="${base}lessons/${lesson.name}/" title="${escapeHtml(lesson.title)}">${escapeHtml(shortTitleOf(lesson))}</a>`).join(" ")}</p></li>`;

const choice = (name, label, options) => `<fieldset><legend>${label}</legend>${options
  .map(([value, text], i) => `<label><input type="radio" name="${name}" value="${value}"${i === 0 ? " checked" : ""}> ${text}</label>`).join(" ")}</fieldset>`;
const asked = [["often", "often"], ["sometimes", "at least sometimes"]];
const byMinutes = choice("minutes", "You have", [["all", "no limit"], ["15", "15 minutes"], ["30", "30 minutes"], ["60", "an hour"]]);
const classesOf = ({ asked, minutes = 90 }) => `${{ often: "often sometimes", sometimes: "sometimes", rarely: "" }[asked]} ${[15, 30, 60].filter((most) => minutes <= most).map((most) => `within-${most}`).join(" ")}`;

/** docs/interview.md on the site: all questions with a filter; a page for each topic has the answers. */
function listQuestions(source) {
  const [before, rest] = source.split("<!-- gate: questions begin -->");
  if (rest === undefined) throw new Error("docs/interview.md has no part that ./learn verify --write writes");
  const list = topics.map(({ title, slug, questions }) => `<div class="topic">\n\n## ${title}\n\n<p><a href="${base}docs/interview/${slug}.html">All answers on this topic</a></p>\n<ul class="questions">\n${questions
    .map((one) => `<li class="${classesOf(one)}"><a href="${base}docs/interview/${slug}.html#${one.anchor}">${escapeHtml(one.question)}</a></li>`).join("\n")}\n</ul>\n\n</div>\n`);
  return `${before}\n<div class="filter">${choice("asked", "Asked", [...asked, ["all", "all"]])}${byMinutes}</div>\n\n${list.join("\n")}`;
}

/** The page of a topic, for docs/interview/[topic].paths.mjs. */
export function topicPage({ title, questions }) {
  const one = (question) => `<div class="question ${classesOf(question)}">\n\n### ${question.question} {#${question.anchor}}\n
[Lesson ${question.number}](../../lessons/${question.lesson}/README.md), ${question.asked} asked\n
<details><summary>Answer</summary>\n\n${question.answer().replace(/\]\(\.\.\/(?=\d\d_)/g, "](../../lessons/").replace(/\]\((?=figures\/|#)/g, `](../../lessons/${question.lesson}/`).replace(/(?<=\/)#/g, "README.md#")}\n\n</details>\n</div>\n`;
  return `# ${title}\n\nSay your answer aloud before you unfold ours. [All topics](../interview.md)\n
<div class="filter">${choice("asked", "Asked", [["all", "all"], ...asked])}</div>\n\n${questions.map(one).join("\n")}`;
}

/** The letters from A to Z, each leading to the first of its terms. */
function firstTerms() {
  const first = new Map();
  for (const [, term] of read("docs/glossary.md").matchAll(/^\*\*([A-Z].*?)\.\*\*/gm)) if (!first.has(term[0])) first.set(term[0], slugOf(term));
  return [...first].map(([letter, anchor]) => `[${letter}](#${anchor})`).join(" ");
}

function addFacts(md) {
  md.core.ruler.before("normalize", "add-facts", (state) => {
    const page = state.env.relativePath;
    const lesson = lessons.find(({ name }) => page === `lessons/${name}/index.md`);
    if (lesson) state.src = state.src.replace(/^<!-- study: .*$/m, `\n${factsOf(lesson)}`);
    if (repository) state.src = state.src.replaceAll("ADDRESS-OF-THIS-REPOSITORY", repository);
    if (page === "docs/interview.md") state.src = listQuestions(state.src);
    if (page === "docs/glossary.md") state.src = state.src.replace(/^\*\*/m, `${firstTerms()}\n\n**`);
    if (page === "index.md") { // docs/home.md
      const all = hours(groups.reduce((sum, { minutes }) => sum + minutes, 0));
      state.src = state.src.replace("<!-- map -->", `<ul class="map">\n${groups.map(card).join("\n")}\n</ul>\n\n${lessons.length} lessons, ${all} in all.`);
    }
  });
}

/** <!-- moving: softmax --> is a figure of docs/moving/, where its module is built. */
function moveFigures(md) {
  const { html_block } = md.renderer.rules;
  md.renderer.rules.html_block = (tokens, i, ...rest) => {
    const name = isFile("build/site/moving/attn.wasm") && tokens[i].content.match(/^<!-- moving: (\w+) -->/)?.[1];
    return name ? `<Moving name="${name}" />\n` : html_block(tokens, i, ...rest);
  };
}

export const plugins = [typesetFormulas, measureCode, addFacts, dropBadges, nameTerms, stackTables, captionFigures, fitLinks, linkMentions, keepSpaces, keepWords, keepBraces, moveFigures];
