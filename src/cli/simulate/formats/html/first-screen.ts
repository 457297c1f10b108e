import type { FormatContext, ReportModel } from "../model.ts";
import { screenOf, type ScreenRow } from "../screen/screen.ts";
import { html, NOTHING, type Markup } from "./markup.ts";
import { code } from "./names.ts";
import { picturesMarkup } from "./picture.ts";

/** The verdict and the causes before everything else, with the routes that they touch drawn. */
export function firstScreenMarkup(report: ReportModel, context: FormatContext): Markup {
  const { verdict, tone, headline, location: where, facts, rows, decide, explain, more } = screenOf(report, context);
  return html`<section aria-labelledby="first">
    <h2 id="first"><span class="${tone}">${verdict}</span> ${headline}</h2>
    <p>${facts.join(" · ")}${where === "" ? NOTHING : html` · ${code(where)}`}</p>
    ${rows.length === 0 ? NOTHING : tableMarkup(rows)}
    ${decide === "" ? NOTHING : html`<p><strong>Decide:</strong> ${decide}</p>`}
    ${explain === null ? NOTHING : html`<p>${code(explain)}</p>`}
    ${more === "" ? NOTHING : html`<p>Below: ${more}.</p>`}
    ${report.causes.slice(0, MOST_PICTURES).flatMap((cause) => picturesMarkup(cause, report))}
  </section>`;
}

/** More are no overview any more. */
const MOST_PICTURES = 4;

function tableMarkup(rows: readonly ScreenRow[]): Markup {
  return html`<table>
    <caption class="unseen">
      What changes
    </caption>
    <thead>
      <tr>
        <th scope="col">Effect</th>
        <th scope="col">Who</th>
        <th scope="col">What</th>
      </tr>
    </thead>
    <tbody>
      ${rows.map(rowMarkup)}
    </tbody>
  </table>`;
}

function rowMarkup({ tag, tone, who, text, calls, location: where }: ScreenRow): Markup {
  const right = [calls, where].filter((part) => part !== "");
  return html`<tr>
    <th scope="row"><span class="badge ${tone}">${tag}</span></th>
    <td>${who}</td>
    <td>${text}${right.map((part) => html` <small>${part}</small>`)}</td>
  </tr>`;
}
