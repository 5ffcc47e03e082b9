// <Moving name="softmax"/> on a page, which markdown.mjs makes of <!-- moving: softmax -->. The code of a figure is loaded just
// before it comes into view; until then, the page shows what was drawn at the build. broken07 is figures/broken.vue of lesson 07,
// where there is no figures/broken07.vue.
import { defineAsyncComponent, h } from "vue";
import "./moving.css";

/** Vue's hydrateOnVisible, which asks at once where the figure is: then the whole page is laid out once more. */
function hydrate(start, forEach) {
  const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && (observer.disconnect(), start()), { rootMargin: "300px" });
  forEach((element) => observer.observe(element));
  return () => observer.disconnect();
}
const lazy = (loader) => defineAsyncComponent({ loader, hydrate });
const figures = Object.fromEntries(Object.entries(import.meta.glob("./figures/*.vue")).map(([file, load]) => [file.match(/(\w+)\.vue$/)[1], lazy(load)]));

export default {
  props: ["name"],
  render() {
    const [, name, lesson] = this.name.match(/^(\D+)(\d*)$/);
    return figures[this.name] ? h(figures[this.name]) : h(figures[name], { lesson });
  },
};
