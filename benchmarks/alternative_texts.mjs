// What other tools say of the cases that alternative_texts.py writes to standard input; run by it in a folder with
//
//   npm install axe-core jsdom htmlhint html-validate markdownlint markdown-it @github/markdownlint-github
//     @double-great/alt-text eslint@9 eslint-plugin-jsx-a11y

import { readFileSync } from "node:fs";
import altText from "@double-great/alt-text";
import github from "@github/markdownlint-github";
import eslint from "eslint";
import a11y from "eslint-plugin-jsx-a11y";
import { HtmlValidate } from "html-validate";
import htmlhint from "htmlhint";
import { JSDOM } from "jsdom";
import MarkdownIt from "markdown-it";
import { lint } from "markdownlint/promise";

// The rules of each tool that are about pictures, or about links and buttons without a name.
const AXE = ["image-alt", "input-image-alt", "image-redundant-alt", "link-name", "button-name", "role-img-alt"];
const HTML_VALIDATE = ["wcag/h30", "wcag/h36", "wcag/h37", "text-content"];
const MARKDOWNLINT = ["MD045", "no-default-alt-text", "no-empty-alt-text", "no-generic-link-text"];
const ESLINT = { "jsx-a11y/alt-text": ["error", { 'input[type="image"]': [] }], "jsx-a11y/img-redundant-alt": "error" };

const axe = readFileSync("node_modules/axe-core/axe.min.js", "utf8");
const validator = new HtmlValidate({ extends: ["html-validate:a11y"] });
const languageOptions = { parserOptions: { ecmaFeatures: { jsx: true } } };

const pictures = (page) => [...new JSDOM(page).window.document.querySelectorAll("img, input[type=image]")];

const jsx = (picture) => {
  const known = ["src", "alt", "type", "role", "aria-label", "aria-labelledby", "aria-hidden"];
  const attributes = [...picture.attributes].filter(({ name }) => known.includes(name));
  return `<${picture.localName} ${attributes.map(({ name, value }) => `${name}={${JSON.stringify(value)}}`).join(" ")} />`;
};

const tools = {
  "axe-core": async ({ page }) => {
    const { window } = new JSDOM(page, { runScripts: "outside-only", pretendToBeVisual: true });
    window.eval(axe);
    const { violations } = await window.axe.run(window.document, { runOnly: { type: "rule", values: AXE } });
    return violations.map((each) => each.id);
  },
  htmlhint: ({ page }) => htmlhint.HTMLHint.verify(page, { "alt-require": true }).map((each) => each.rule.id),
  "html-validate": async ({ page }) => {
    const { results } = await validator.validateString(page);
    const rules = results.flatMap((each) => each.messages).map((each) => each.ruleId);
    return rules.filter((rule) => HTML_VALIDATE.includes(rule));
  },
  "@github/markdownlint-github": async ({ markup }) => {
    const config = Object.fromEntries([["default", false], ...MARKDOWNLINT.map((rule) => [rule, true])]);
    const strings = { page: `# A page\n\n${markup}\n` };
    const markdownItFactory = () => new MarkdownIt({ html: true });
    const { page } = await lint({ strings, config, customRules: [...github], markdownItFactory });
    return page.map((each) => each.ruleNames.at(-1));
  },
  "@double-great/alt-text": ({ page }) =>
    pictures(page)
      .map((each) => altText(each.getAttribute("alt") ?? "", { "end-with-punctuation": false }))
      .filter(Boolean),
  "eslint-plugin-jsx-a11y": ({ page }) => {
    const code = `x = [${pictures(page).map(jsx).join(", ")}];`;
    const settings = [{ plugins: { "jsx-a11y": a11y }, rules: ESLINT, languageOptions }];
    return new eslint.Linter().verify(code, settings).map((each) => each.ruleId);
  },
};

const cases = JSON.parse(readFileSync(0, "utf8"));
const found = {};
for (const [tool, judge] of Object.entries(tools)) {
  const { version } = JSON.parse(readFileSync(`node_modules/${tool}/package.json`, "utf8"));
  const said = (found[`${tool} ${version}`] = {});
  for (const each of cases) said[each.name] = await judge(each);
}
console.log(JSON.stringify(found));
