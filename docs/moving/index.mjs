// <MovingFigure name="softmax"/> on a page, which markdown.mjs makes of <!-- moving: softmax -->. A page loads the code of its
// own figures only.
import { defineAsyncComponent, h } from "vue";
import "./moving.css";

const figures = Object.fromEntries(Object.entries(import.meta.glob("./figures/*.vue")).map(([file, load]) => [file.match(/(\w+)\.vue$/)[1], defineAsyncComponent(load)]));

export default { props: ["name"], render() { return h(figures[this.name]); } };
