import { modelOf } from "../../../src/cli/simulate/formats/model.ts";
import { PAGE_STYLE } from "../../../src/cli/simulate/formats/html/style.ts";
import { documentOf } from "../../../src/cli/simulate/formats/report-document.ts";
import { reportMarkup } from "../../../src/cli/simulate/formats/html/report-markup.ts";
import type { SimulationReport } from "../../../src/simulate/report/report.ts";
import { isObject } from "../../api/client.ts";

/**
 * Draws a report with the markup and style of the HTML report, in a shadow tree, so that neither
 * page changes the other.
 *
 * @returns what is wrong with the text; `null` where the report is shown.
 */
export function showReport(text: string, container: HTMLElement): string | null {
  const root = container.shadowRoot ?? container.attachShadow({ mode: "open" });
  root.replaceChildren();
  const report = readReport(text);
  if (typeof report === "string") return report;
  let markup: string;
  try {
    markup = reportMarkup(
      documentOf(modelOf(report), { colour: false, width: 80, reportDigest: null }),
    ).toString();
  } catch {
    return "The report is damaged: it lacks something that every report has. Make it again with signalbox simulate.";
  }
  root.adoptedStyleSheets = [styleSheet()];
  // The markup escapes every text that it is given; what it parses to runs no script, and the
  // content policy allows none.
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  const page = document.createElement("div");
  page.className = "page";
  page.append(...parsed.body.childNodes);
  // This page has its own main part.
  for (const main of page.querySelectorAll("main")) {
    const part = document.createElement("div");
    part.append(...main.childNodes);
    main.replaceWith(part);
  }
  for (const title of page.querySelectorAll("h2"))
    title.classList.toggle("fail", title.textContent?.startsWith("FAIL "));
  root.append(page);
  root.addEventListener("click", followLink);
  return null;
}

function readReport(text: string): SimulationReport | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "The file is not JSON. Open the file that signalbox simulate --format json wrote.";
  }
  const format = isObject(value) ? value.format : undefined;
  if (format === "signalbox.simulation.v4") {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the format says so; what is missing makes the drawing fail
    return value as SimulationReport;
  }
  return typeof format === "string" && format.startsWith("signalbox.simulation.")
    ? "The report is of another version; this console reads signalbox.simulation.v4. Make it again with this version."
    : "The file is no simulation report. Open the file that signalbox simulate --format json wrote.";
}

/** Those of the console, in its width. */
const TYPEFACES = `
.page { max-width: none; padding: 0; font-family: var(--sans) }
h1, h2, .verdict strong { font-family: inherit }
h1 { font-size: 1.4rem }
h2 { font-size: 1.2rem }
code { font-family: var(--mono) }
.fail { color: var(--stop) }
tbody :is(th, td) { overflow-wrap: normal }
tbody :is(th, td):first-child { min-width: 6rem }`;

/** The style of a page of its own, for a part of this one. The palette is this page's. */
function styleSheet(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(
    PAGE_STYLE.replaceAll(/^( *)html \{/gm, "$1:host {").replaceAll(/^( *)body \{/gm, "$1.page {") +
      TYPEFACES,
  );
  return sheet;
}

/** Links within the report: the address of this page is the router's. */
function followLink(event: Event): void {
  const { target, currentTarget } = event;
  if (!(target instanceof Element) || !(currentTarget instanceof ShadowRoot)) return;
  const href = target.closest("a")?.getAttribute("href") ?? "";
  if (!href.startsWith("#")) return;
  event.preventDefault();
  const found = currentTarget.getElementById(href.slice(1));
  found?.closest("details")?.setAttribute("open", "");
  found?.scrollIntoView();
}
