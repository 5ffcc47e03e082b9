// <MovingFigure name="softmax"/> on a page, which markdown.mjs makes of <!-- moving: softmax -->. A page loads the code of its
// own figures only. broken07 is figures/broken.vue of lesson 07, where there is no figures/broken07.vue.
import { defineAsyncComponent, h } from "vue";
import "./moving.css";

const figures = Object.fromEntries(Object.entries(import.meta.glob("./figures/*.vue")).map(([file, load]) => [file.match(/(\w+)\.vue$/)[1], defineAsyncComponent(load)]));

export default {
  props: ["name"],
  render() {
    const [, name, lesson] = this.name.match(/^(\D+)(\d*)$/);
    return figures[this.name] ? h(figures[this.name]) : h(figures[name], { lesson });
  },
};
