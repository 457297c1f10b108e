import type { AssertionResult, AssertionsReport, CoverageResult } from "../../../../simulate/report/report.ts";
import { amountText, classesText, numberText } from "../wording/amounts.ts";
import { COVERAGE_WORDING } from "../wording/change-words.ts";
import { standpointText } from "../wording/messages.ts";
import { capitalised, type Look } from "./look.ts";
import { html, NOTHING, type Markup } from "./markup.ts";
import { code, nameList } from "./names.ts";
import { placeMarkup, witnessMarkup } from "./witness.ts";

const LOOK_OF_STATUS: Readonly<Record<AssertionResult["status"], Look>> = {
  FAIL: { sign: "×", tone: "stop" },
  WAIVED: { sign: "~", tone: "narrow" },
  PASS: { sign: "✓", tone: "good" },
};

/** Failures first: they are why the command fails. */
export function assertionsMarkup(assertions: AssertionsReport | null): Markup {
  if (assertions === null) {
    return html`<section aria-labelledby="assertions">
      <h2 id="assertions">Assertions</h2>
      <p class="none">There is no assertions file.</p>
    </section>`;
  }
  const { file, results, coverage, passed, failed, waived } = assertions;
  const ordered = (["FAIL", "WAIVED", "PASS"] as const).flatMap((status) =>
    results.filter((result) => result.status === status),
  );
  return html` <section aria-labelledby="assertions">
      <h2 id="assertions">Assertions</h2>
      <p class="lead">
        ${code(file)}: ${numberText(failed)} failed, ${numberText(waived)} waived, ${numberText(passed)} passed.
      </p>
      ${
        ordered.length === 0
          ? html`<p class="none">The file asserts nothing.</p>`
          : html`<ul class="assertions">
              ${ordered.map(assertionMarkup)}
            </ul>`
      }
    </section>
    ${
      coverage.length === 0
        ? NOTHING
        : html`<section aria-labelledby="coverage">
            <h2 id="coverage">Coverage</h2>
            <ul class="coverage">
              ${coverage.map(coverageMarkup)}
            </ul>
          </section>`
    }`;
}

function assertionMarkup(result: AssertionResult): Markup {
  const { id, title, kind, status, classes, violations, message, witness, explain, waiver, place } = result;
  const against = html`· ${kind}, looked at ${standpointText(result)}, held against
  ${classesText(classes)}${violations === 0 ? NOTHING : html`, <strong>${amountText(violations, "violation")}</strong>`}`;
  const shown = witness === null ? NOTHING : witnessMarkup(witness, explain ?? [], "");
  return html`<li class="assertion">
    ${statusBadge(status)}
    <div>
      <h3>${title === "" ? id : title}</h3>
      <p class="note">${code(id)} ${against} ${placeMarkup(place)}</p>
      ${message === null ? NOTHING : html`<p>${message}</p>`}${waiver === null ? NOTHING : waiverMarkup(waiver)}${shown}
    </div>
  </li>`;
}

function waiverMarkup({ until, reason, owner, expired }: NonNullable<AssertionResult["waiver"]>): Markup {
  return html`<p class="waiver">
    ${expired ? html`<strong>Waiver expired on ${until}</strong>` : html`Waived until ${until}`} by ${owner}: ${reason}
  </p>`;
}

function statusBadge(status: AssertionResult["status"]): Markup {
  const { sign, tone } = LOOK_OF_STATUS[status];
  return html`<span class="badge ${tone}">${sign} ${status}</span>`;
}

function coverageMarkup({ what, covered, of, required, status, missing, place }: CoverageResult): Markup {
  const percent = of === 0 ? 100 : (covered / of) * 100;
  const gate = required === null ? html`no gate` : html`gate ${required} %`;
  return html`<li>
    <h3>${capitalised(COVERAGE_WORDING[what])} ${required === null ? NOTHING : statusBadge(status)}</h3>
    ${barMarkup(percent, required, status)}
    <p class="note">
      ${numberText(covered)} of ${numberText(of)}${of === 0 ? "" : ` (${Math.floor(percent)} %)`}, ${gate}
      ${placeMarkup(place)}
    </p>
    ${
      missing.length === 0
        ? NOTHING
        : html`<details>
            <summary>${numberText(missing.length)} not covered</summary>
            <div>${nameList(missing)}</div>
          </details>`
    }
  </li>`;
}

/** Widths are attributes of a drawing: the page's policy refuses style attributes. The text beside it says the same. */
function barMarkup(percent: number, required: number | null, status: CoverageResult["status"]): Markup {
  const width = bounded(percent);
  const line =
    required === null
      ? NOTHING
      : html`<rect class="gate" x="${Math.min(bounded(required), 99.5)}" y="0" width="0.5" height="6" />`;
  return html`<svg
    class="bar ${status === "FAIL" ? "short" : "enough"}"
    viewBox="0 0 100 6"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <rect class="track" y="1.5" width="100" height="3" />
    <rect class="fill" y="1.5" width="${width}" height="3" />
    ${line}
  </svg>`;
}

function bounded(percent: number): number {
  return Math.round(Math.min(100, Math.max(0, percent)) * 10) / 10;
}
