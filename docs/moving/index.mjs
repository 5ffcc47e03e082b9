// <Moving name="softmax"/> on a page, which markdown.mjs makes of <!-- moving: softmax -->. The code of a figure is loaded just
// before it comes into view; until then, the page shows what was drawn at the build. broken07 is figures/broken.vue of lesson 07,
// where there is no figures/broken07.vue.
import { defineAsyncComponent, h, hydrateOnVisible } from "vue";
import "./moving.css";

const lazy = (loader) => defineAsyncComponent({ loader, hydrate: hydrateOnVisible({ rootMargin: "300px" }) });
const figures = Object.fromEntries(Object.entries(import.meta.glob("./figures/*.vue")).map(([file, load]) => [file.match(/(\w+)\.vue$/)[1], lazy(load)]));

export default {
  props: ["name"],
  render() {
    const [, name, lesson] = this.name.match(/^(\D+)(\d*)$/);
    return figures[this.name] ? h(figures[this.name]) : h(figures[name], { lesson });
  },
};
