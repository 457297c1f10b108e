import type { AssertionResult } from "../../../../simulate/report/report.ts";
import type { AssertionModel, AssertionsModel, CoverageModel } from "../model.ts";
import { amountText, capitalised, classesText, numberText } from "../../../terminal/amounts.ts";
import { COVERAGE_TITLE, NOT_JUDGED, SO_FAR, type CoverageJudgement } from "../wording/messages.ts";
import type { Look } from "../wording/change-wording.ts";
import { html, NOTHING, type Markup } from "./markup.ts";
import { code, nameList } from "./names.ts";
import { locationMarkup, exampleMarkup } from "./example-request.ts";

const LOOK_OF_STATUS: Readonly<Record<AssertionResult["status"], Look>> = {
  FAIL: { sign: "×", tone: "stop" },
  WAIVED: { sign: "~", tone: "narrow" },
  PASS: { sign: "✓", tone: "good" },
};

/** Failures first: they are why the command fails. */
export function assertionsMarkup(assertions: AssertionsModel | null, complete: boolean): Markup {
  if (assertions === null) {
    return html`<section aria-labelledby="assertions">
      <h2 id="assertions">Assertions</h2>
      <p class="none">There is no assertions file.</p>
    </section>`;
  }
  const { file, worstFirst, coverage, passed, failed, waived } = assertions;
  return html` <section aria-labelledby="assertions">
      <h2 id="assertions">Assertions</h2>
      <p class="lead">
        ${code(file)}: ${numberText(failed)} failed, ${numberText(waived)} waived, ${numberText(passed)}
        ${complete ? "passed" : `passed so far: ${SO_FAR}`}.
      </p>
      ${
        worstFirst.length === 0
          ? html`<p class="none">The file asserts nothing.</p>`
          : html`<ul class="assertions">
              ${worstFirst.map(assertionMarkup)}
            </ul>`
      }
    </section>
    ${
      coverage.length === 0
        ? NOTHING
        : html`<section aria-labelledby="coverage">
            <h2 id="coverage">${COVERAGE_TITLE}</h2>
            ${complete ? NOTHING : html`<p class="lead">${capitalised(NOT_JUDGED)}.</p>`}
            <ul class="coverage">
              ${coverage.map(coverageMarkup)}
            </ul>
          </section>`
    }`;
}

function assertionMarkup(result: AssertionModel): Markup {
  const { id, title, kind, status, classes, violations, message, example, explain, waiver, place } = result;
  const against = html`· ${kind}, looked at ${result.lookedAt}, held against
  ${classesText(classes)}${violations === 0 ? NOTHING : html`, <strong>${amountText(violations, "violation")}</strong>`}`;
  // A waiver that a part of the classes does not need may be needed by the others.
  const text = status === "PASS" && waiver !== null ? null : message;
  const shown = example === null ? NOTHING : exampleMarkup(example, explain ?? [], "");
  return html`<li class="assertion">
    ${statusBadge(status, result.label)}
    <div>
      <h3>${title === "" ? id : title}</h3>
      <p class="note">${code(id)} ${against} ${locationMarkup(place)}</p>
      ${text === null ? NOTHING : html`<p>${text}</p>`}${waiverOf(result)}${shown}
    </div>
  </li>`;
}

function waiverOf({ status, waiver, needless }: AssertionModel): Markup {
  if (needless !== null) return html`<p class="waiver">${capitalised(needless)}</p>`;
  return waiver === null || status === "PASS" ? NOTHING : waiverMarkup(waiver);
}

function waiverMarkup({ until, reason, owner, expired }: NonNullable<AssertionResult["waiver"]>): Markup {
  return html`<p class="waiver">
    ${expired ? html`<strong>Waiver expired on ${until}</strong>` : html`Waived until ${until}`} by ${owner}: ${reason}
  </p>`;
}

function statusBadge(status: AssertionResult["status"], text: string): Markup {
  const { sign, tone } = LOOK_OF_STATUS[status];
  return html`<span class="badge ${tone}">${sign} ${text}</span>`;
}

function coverageMarkup(result: CoverageModel): Markup {
  const { title, judgement, covered, of, required, missing, place } = result;
  const percent = of === 0 ? 100 : (covered / of) * 100;
  const gate = required === null ? html`not gated` : html`gate ${required} %`;
  return html`<li>
    <h3>${capitalised(title)} ${judgementBadge(judgement)}</h3>
    ${barMarkup(percent, required, judgement)}
    <p class="note">
      ${numberText(covered)} of ${numberText(of)}${of === 0 ? "" : ` (${Math.floor(percent)} %)`}, ${gate}
      ${locationMarkup(place)}
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

function judgementBadge(judgement: CoverageJudgement): Markup {
  if (judgement === "not gated") return NOTHING;
  if (judgement === "not judged") return html`<span class="badge quiet">· ${judgement}</span>`;
  return statusBadge(judgement, judgement);
}

/** Widths are attributes of a drawing: the page's policy refuses style attributes. The text beside it has the same figure. */
function barMarkup(percent: number, required: number | null, judgement: CoverageJudgement): Markup {
  const width = bounded(percent);
  const line =
    required === null
      ? NOTHING
      : html`<rect class="gate" x="${Math.min(bounded(required), 99.5)}" y="0" width="0.5" height="6" />`;
  return html`<svg
    class="bar ${judgement === "FAIL" ? "short" : "enough"}"
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
