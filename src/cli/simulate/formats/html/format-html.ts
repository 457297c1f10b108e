import { createHash } from "node:crypto";
import type { FormatContext, ReportModel } from "../model.ts";
import { html, rawElement } from "../../../document/html.ts";
import { documentOf } from "../report-document.ts";
import { PAGE_SCRIPT } from "./script.ts";
import { PAGE_STYLE } from "./style.ts";
import { reportMarkup } from "./report-markup.ts";

/**
 * The report as one page without external resources: its policy allows its own style and script, by
 * their hashes, and nothing else. Complete without script; the same bytes for the same
 * report.
 */
export function formatHtml(report: ReportModel, context: FormatContext): string {
  const { base, head } = report;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${contentPolicy()}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        <meta name="color-scheme" content="light dark" />
        <title>Simulation: ${base.name} → ${head.name}</title>
        ${rawElement("style", PAGE_STYLE)}
      </head>
      <body>
        <a class="skip" href="#results">Skip to the changes</a>
        ${reportMarkup(documentOf(report, context))} ${rawElement("script", PAGE_SCRIPT)}
      </body>
    </html> `;
  return page.toString();
}

function contentPolicy() {
  return `default-src 'none'; script-src '${hashOf(PAGE_SCRIPT)}'; style-src '${hashOf(PAGE_STYLE)}'; base-uri 'none'; form-action 'none'`;
}

function hashOf(text: string) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
