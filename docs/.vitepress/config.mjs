// The book as a web site: docs/site builds it from the Markdown of the repository, of which nothing is copied.
import { join } from "node:path";
import { base, groups, repository, root, shortTitleOf, titleOf } from "./course.mjs";
import { plugins } from "./markdown.mjs";

const linkOf = (page) => "/" + page.replace(/README\.md$/, "").replace(/\.md$/, "");
const entry = (page) => ({ text: titleOf(page), link: linkOf(page) });
const lessonEntry = (lesson) => ({ text: shortTitleOf(lesson), docFooterText: lesson.title, link: linkOf(lesson.page) });
const modules = join(root, "build/site/node_modules");

export default {
  title: "attention-by-hand",
  description: "Learn attention by writing it, in C++",
  lang: "en",
  head: [
    ["link", { rel: "icon", href: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><text y='26' font-size='28'>√</text></svg>" }],
    // What is further down is laid out late (style.css) until the reader does something, unless a link, a reload or the way
    // back leads to a place on the page.
    ["script", {}, `if (!location.hash && performance.getEntriesByType("navigation")[0].type === "navigate") {
      document.documentElement.classList.add("untouched");
      for (const event of ["pointerdown", "touchstart", "wheel", "keydown", "scroll"]) addEventListener(event, () => document.documentElement.classList.remove("untouched"), { once: true, passive: true });
    }`],
    ["noscript", {}, "<style>.moving { display: none; }</style>"], // pictures are all that is left
  ],
  base,
  srcDir: "..",
  outDir: "../build/site/pages",
  cacheDir: "../build/site/cache",
  srcExclude: ["README.md", "build/**", ".*/**", "tests/**", "tools/**", "solutions/**", "bench/**", "docs/moving/**", "lessons/*/hints.md", "lessons/*/interview.md"],
  rewrites: { "docs/home.md": "index.md", ":folder/README.md": ":folder/index.md", "lessons/:name/README.md": "lessons/:name/index.md", "models/:name/README.md": "models/:name/index.md" },
  router: { prefetchLinks: false }, // the sidebar's thirty lessons are more than any page
  appearance: { disableTransition: false }, // else every page computes all styles twice more before it can be used
  markdown: { config: (md) => plugins.forEach((plugin) => plugin(md)) },
  transformPageData(page) {
    if (page.params) page.title = page.params.title;
    if (page.frontmatter.layout === "home" && repository) page.frontmatter.hero.actions.push({ theme: "alt", text: "Repository", link: repository });
  },
  vite: {
    publicDir: false,
    worker: { format: "es" },
    resolve: {
      alias: [
        { find: /^vue(\/.*)?$/, replacement: join(modules, "vue$1") }, // for pages outside docs/
        { find: "vitepress/theme-without-fonts", replacement: join(modules, "vitepress/dist/client/theme-default/without-fonts.js") },
      ],
    },
  },
  themeConfig: {
    search: {
      provider: "local", // lessons before questions about them
      options: { miniSearch: { searchOptions: { boostDocument: (id) => (id.includes("/lessons/") ? 4 : id.includes("/interview") ? 0.25 : 1) } } },
    },
    outline: "deep",
    ...(repository && { socialLinks: [{ icon: "github", link: repository, ariaLabel: "The repository" }], editLink: { pattern: `${repository}/blob/HEAD/:path`, text: "This page in the repository" } }),
    nav: [
      { text: "Lessons", link: "/docs/curriculum" },
      { text: "Interview", link: "/docs/interview" },
      { text: "PyTorch", link: "/docs/from_pytorch" },
      { text: "Glossary", link: "/docs/glossary" },
    ],
    sidebar: [
      { text: "Begin", items: [{ text: "What this is", link: "/" }, ...["docs/using.md", "docs/curriculum.md", "docs/conventions.md", "docs/from_pytorch.md"].map(entry)] },
      ...groups.map(({ title, lessons }) => ({ text: title, collapsed: true, items: lessons.map(lessonEntry) })),
      { text: "Interview", items: ["docs/interview.md", "docs/practice.md"].map(entry) },
      {
        text: "More",
        collapsed: true,
        items: ["docs/generate.md", "docs/train.md", "docs/glossary.md", "docs/sources.md", "models/small/README.md", "fast/README.md", "docs/measurements.md",
                "docs/architecture.md", "CONTRIBUTING.md"].map(entry),
      },
    ],
  },
};
