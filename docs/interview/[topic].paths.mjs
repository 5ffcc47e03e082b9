// A page of the site for each topic of ../interview.md.
import { topics } from "../.vitepress/course.mjs";
import { topicPage } from "../.vitepress/markdown.mjs";

export default { paths: () => topics.map((topic) => ({ params: { topic: topic.slug, title: topic.title }, content: topicPage(topic) })) };
