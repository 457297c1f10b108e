import type { ChangeGroup, CandidateReport, ResultReport } from "../../../../simulate/report/report.ts";
import { numberText } from "../../../terminal/amounts.ts";
import { commonSubsequence, sharingText } from "../wording/results.ts";
import { code } from "./names.ts";
import { html, NOTHING, type Markup } from "./markup.ts";
import type { OfSides } from "../../../../simulate/sample-request.ts";

type Mark = "kept" | "added" | "removed" | "moved" | "changed";

interface MarkedCandidate {
  readonly candidate: CandidateReport;
  readonly mark: Mark;
}

const SIGN_OF_MARK: Readonly<Record<Mark, string>> = { kept: "", added: "+", removed: "−", moved: "↕", changed: "≠" };

/** How each endpoint changes between the sides. `moved`: both sides try it, in another order among the common ones. */
export function markCandidates(
  base: readonly CandidateReport[],
  head: readonly CandidateReport[],
): OfSides<readonly MarkedCandidate[]> {
  const steady = longestCommonOrder(base, head);
  const marksFrom = (candidates: readonly CandidateReport[], others: readonly CandidateReport[], absent: Mark) =>
    candidates.map((candidate): MarkedCandidate => {
      const same = others.find(({ endpoint }) => endpoint === candidate.endpoint);
      if (same === undefined) return { candidate, mark: absent };
      if (!isSame(candidate, same)) return { candidate, mark: "changed" };
      return { candidate, mark: steady.has(candidate.endpoint) ? "kept" : "moved" };
    });
  return { base: marksFrom(base, head, "removed"), head: marksFrom(head, base, "added") };
}

/** Base and head beside each other. */
export function plansMarkup({ words, base, head }: Pick<ChangeGroup, "words" | "base" | "head">): Markup {
  const sharing = words.includes("sharing_changed");
  const marked = markCandidates(base.plan, head.plan);
  return html`<div class="plans">
    <div class="side">
      <h5>Base</h5>
      ${resultMarkup(base, marked.base, sharing)}
    </div>
    <div class="side">
      <h5>Head</h5>
      ${resultMarkup(head, marked.head, sharing)}
    </div>
  </div>`;
}

function resultMarkup(result: ResultReport, candidates: readonly MarkedCandidate[], sharing: boolean): Markup {
  return html`${result.denial === null ? NOTHING : denialMarkup(result.denial)}${planMarkup(result, candidates, sharing)}${editsMarkup(result.edits)}`;
}

function planMarkup(result: ResultReport, candidates: readonly MarkedCandidate[], sharing: boolean): Markup {
  if (candidates.length > 0)
    return html`<ol>
      ${candidates.map((each) => candidateMarkup(each, sharing))}
    </ol>`;
  return result.denial === null ? html`<p class="denied">No endpoint</p>` : NOTHING;
}

function candidateMarkup({ candidate, mark }: MarkedCandidate, sharing: boolean): Markup {
  const text = html`<code>${candidate.endpoint}</code> ${candidate.model} at ${candidate.provider},
    ${candidate.region}${sharing ? `, ${sharingText(candidate)}` : ""}`;
  if (mark === "kept") return html`<li>${text}</li>`;
  return html`<li class="${mark}">${text} <em>${SIGN_OF_MARK[mark]} ${mark}</em></li>`;
}

function denialMarkup({ policy, constraint, reason }: NonNullable<ResultReport["denial"]>): Markup {
  const rule = constraint === "" ? code(policy) : html`${code(policy)} / ${code(constraint)}`;
  return html`<p class="denied">
    <strong>× Denied</strong> by ${rule}${reason === "" ? NOTHING : html`<br />${code(reason)}`}
  </p>`;
}

function editsMarkup(edits: ResultReport["edits"]): Markup {
  if (edits === null) return NOTHING;
  const { max_output_tokens: most, strip_fields: fields } = edits;
  return html`${most === null ? NOTHING : html`<p class="edit">at most ${numberText(most)} output tokens</p>`}${fields.length === 0 ? NOTHING : html`<p class="edit">takes out ${fields.map((field, index) => html`${index === 0 ? "" : ", "}${code(field)}`)}</p>`}`;
}

function isSame(left: CandidateReport, right: CandidateReport): boolean {
  return left.model === right.model && left.provider === right.provider && left.region === right.region;
}

/** Endpoints of a longest run that both sides try in the same order. Of two such runs it takes the one that ends first in base. */
function longestCommonOrder(base: readonly CandidateReport[], head: readonly CandidateReport[]): ReadonlySet<string> {
  const [before, after] = [base, head].map((candidates) => candidates.map(({ endpoint }) => endpoint).toReversed());
  return new Set([...commonSubsequence(before ?? [], after ?? []).keys()].map((index) => after?.[index] ?? ""));
}
