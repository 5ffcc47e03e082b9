import DefaultTheme from "vitepress/theme-without-fonts";
import Moving from "../../moving/index.mjs";
import "./style.css";

export default { extends: DefaultTheme, enhanceApp: ({ app }) => app.component("Moving", Moving) };
