import type { View } from "../../../../simulate/sample-request.ts";
import type { DimensionCut, EvidenceReport } from "../../../../simulate/report/report.ts";
import type { ReportModel } from "../model.ts";
import { LABEL_OF_VIEW } from "./comparison.ts";
import { amountText, capitalised, numberText, percentageText, requestShapesText } from "../../../terminal/amounts.ts";
import { ACCESS_WORDING, type Look } from "../wording/change-wording.ts";
import { policyLine } from "../wording/comparison.ts";
import { keptText } from "../wording/messages.ts";
import { html, NOTHING, type Markup, tableElement } from "./markup.ts";
import { code } from "./names.ts";

/** What a reader takes away who reads nothing else; its two cards are the tabs between the views. */
export function verdictMarkup(report: ReportModel): Markup {
  return html` <section class="choice" aria-labelledby="verdict">
    <h2 id="verdict" class="unseen">Verdict</h2>
    <fieldset class="views">
      <legend>Candidate policies; choose the view shown below</legend>
      ${cardMarkup(report, "declared")} ${cardMarkup(report, "promoted")}
    </fieldset>
    <ul class="facts-line">
      ${factsOf(report).map(({ tone, sign, text }) => html`<li class="${tone}"><b aria-hidden="true">${sign}</b><span>${text}</span></li>`)}
    </ul>
    ${report.complete ? NOTHING : cutMarkup(report.cut)}
  </section>`;
}

function cardMarkup(report: ReportModel, view: View): Markup {
  const comparison = report[view];
  const { title, sentence, look } = ACCESS_WORDING[comparison.access];
  const among = report.complete ? "" : " among the classes that were decided";
  const checked = view === "declared" ? html` checked` : NOTHING;
  const changed =
    comparison.changed_classes === 0
      ? html`No class changes.`
      : html`${amountText(comparison.changed_classes, "class changes", "classes change")},
        ${requestShapesText(comparison.changed_shapes)}.`;
  const paths = comparison.new_data_paths.length;
  return html`<label class="verdict ${look.tone}"
    ><input type="radio" name="view" id="show-${view}" autocomplete="off" ${checked} /><span class="view"
      >${LABEL_OF_VIEW[view]}</span
    ><strong><span class="sign" aria-hidden="true">${look.sign}</span> ${capitalised(title)}${among}</strong
    ><span>${report.complete ? sentence : "The others may change more."}</span
    ><span
      >${changed}${paths === 0 ? html` No new data path.` : html` <b>${amountText(paths, "new data path", "new data paths")}.</b>`}</span
    ></label
  >`;
}

interface Fact extends Look {
  readonly text: Markup;
}

function factsOf(report: ReportModel): readonly Fact[] {
  const { complete, assertions, evidence, declared, promoted, unchanged, policyDifferences } = report;
  const decided = report.spaceText;
  const facts: Fact[] = [
    complete
      ? { tone: "good", sign: "✓", text: html`<strong>Complete:</strong> ${decided}, every one decided on both sides.` }
      : { tone: "stop", sign: "!", text: html`<strong>Incomplete:</strong> not every class was decided. ${decided}.` },
  ];
  if (unchanged !== null) {
    facts.push({ tone: complete ? "good" : "narrow", sign: "=", text: html`<strong>${unchanged.sentence}</strong>` });
  }
  if (policyDifferences.length > 0) {
    const lines = policyDifferences.map(policyLine).join("; ");
    facts.push({ tone: "quiet", sign: "≠", text: html`<a href="#sides"><strong>Policies:</strong></a> ${lines}.` });
  }
  if (assertions !== null) {
    const { passed, failed, waived } = assertions;
    const gates = assertions.failedGates.length;
    const bad = failed > 0 || gates > 0;
    const short = gates === 0 ? NOTHING : html`; ${amountText(gates, "coverage gate fails", "coverage gates fail")}`;
    facts.push({
      tone: bad ? "stop" : "good",
      sign: bad ? "×" : "✓",
      text: html`<a href="#assertions"><strong>Assertions:</strong></a>
        ${failed === 0 ? NOTHING : html`<strong>${numberText(failed)} failed</strong>, `}${numberText(passed)}
        ${complete ? "passed" : "passed so far"}${waived === 0 ? NOTHING : html`, ${numberText(waived)} waived`}${short}.`,
    });
  }
  const indeterminate = [declared, promoted].some(({ words }) =>
    words.some(({ word }) => word === "indeterminate_new"),
  );
  if (indeterminate) {
    facts.push({
      tone: "stop",
      sign: "?",
      text: html`<strong>Newly indeterminate:</strong> a constraint could not be evaluated for some requests.`,
    });
  }
  const fresh = report.newFindings.length;
  if (fresh > 0 && complete) {
    facts.push({
      tone: "narrow",
      sign: "!",
      text: html`<a href="#findings"><strong>Findings:</strong></a> ${amountText(fresh, "part", "parts")} of head that
        no request uses, new in head.`,
    });
  }
  if (evidence !== null) facts.push({ tone: "quiet", sign: "·", text: evidenceText(evidence) });
  return facts;
}

function evidenceText({ decisions, from, to, declared, promoted }: EvidenceReport): Markup {
  const range = from === null || to === null ? NOTHING : html` from ${from} to ${to}`;
  const seen = ({ groups, decisions: inThem }: EvidenceReport["declared"]): Markup =>
    html`${amountText(groups, "change")} seen (${percentageText(inThem, decisions)} of decisions)`;
  return html`<a href="#evidence"><strong>Evidence:</strong></a> ${amountText(decisions, "decision")}${range}. As
    declared ${seen(declared)}, as if promoted ${seen(promoted)}.`;
}

function cutMarkup(cut: readonly DimensionCut[]): Markup {
  const row = (one: DimensionCut): Markup =>
    html`<tr>
      <th scope="row">${code(one.dimension)}</th>
      <td>${keptText(one)}</td>
    </tr>`;
  return html`<div class="alert">
    <p>
      <strong>Not every class was decided.</strong> The results below cover only the classes that were decided; others
      may change too.
    </p>
    ${
      cut.length === 0
        ? NOTHING
        : tableElement(
            html`<caption>
              Dimensions that were cut
            </caption>`,
            ["Dimension", "Decided"],
            cut.map(row),
          )
    }
  </div>`;
}
