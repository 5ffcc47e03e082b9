import DefaultTheme from "vitepress/theme-without-fonts";
import SoftmaxTemperature from "./SoftmaxTemperature.vue";
import "./style.css";

export default { extends: DefaultTheme, enhanceApp: ({ app }) => app.component("SoftmaxTemperature", SoftmaxTemperature) };
