import type {
  DimensionReport,
  EvidenceReport,
  UnusedFinding,
  PolicyReport,
  SettingChange,
  SideReport,
} from "../../../../simulate/report/report.ts";
import type { ReportModel } from "../model.ts";
import { amountText, capitalised, numberText } from "../../../terminal/amounts.ts";
import { valueText } from "../wording/change-wording.ts";
import { FRESH } from "../wording/comparison.ts";
import { evidenceCautions, NOT_JUDGED } from "../wording/messages.ts";
import { LATENT_SENTENCE, LATENT_TITLE, latentCut, latentText } from "../wording/latent.ts";
import { settingText } from "../wording/settings.ts";
import { html, NOTHING, type Content, type Markup, table } from "./markup.ts";
import { code, nameList } from "./names.ts";
import { locationMarkup } from "./example-request.ts";

/** Rules that no request uses; those new in head first, because the change adds them. */
export function findingsMarkup({ findings, newFindings, complete }: ReportModel): Markup {
  const known = findings.filter(({ in_base: inBase }) => inBase);
  const row = ({ kind, subject, in_base: inBase, place }: UnusedFinding): Content =>
    html`<tr>
      <th scope="row">${code(subject)}</th>
      <td>${valueText(kind)}</td>
      <td>${inBase ? "in base already" : html`<strong>new in head</strong>`}</td>
      <td>${locationMarkup(place)}</td>
    </tr>`;
  return section(
    "findings",
    "Unused parts of head",
    findings.length === 0
      ? none("Some request uses every policy, constraint, reason, route and endpoint of head.")
      : html`${complete ? NOTHING : html`<p class="lead">${capitalised(NOT_JUDGED)}.</p>`}
        ${table("Unused parts of head", ["Part", "Finding", "Since", "Location"], [...newFindings, ...known].map(row))}`,
  );
}

/** What changed policies would do with rows that no file has; nothing where no policy would do anything else. */
export function latentMarkup({ latent }: ReportModel): Markup {
  const changes = latent?.changes ?? [];
  const cut = latentCut(latent);
  if (changes.length === 0 && cut === null) return NOTHING;
  return section(
    "latent",
    LATENT_TITLE,
    html`<p class="lead">${LATENT_SENTENCE}</p>
      <ul>
        ${changes.map((change) => html`<li>${code(change.policy)} ${latentText(change)} <small>${locationMarkup(change.place)}</small></li>`)}
      </ul>
      ${cut === null ? NOTHING : html`<p>${capitalised(cut)}.</p>`}`,
  );
}

export function settingsMarkup(changes: readonly SettingChange[]): Markup {
  const body =
    changes.length === 0
      ? none("No setting of the files differs.")
      : html`<ul>
          ${changes.map(settingMarkup)}
        </ul>`;
  return section("changed-settings", "Changed settings", body);
}

function settingMarkup(change: SettingChange): Content {
  const { path, values, note, where } = settingText(change);
  return html`<li>
    ${code(path)}
    ${code(values)}${note === "" ? NOTHING : html` ${note}`}${where === "" ? NOTHING : html` <small>${where}</small>`}
  </li>`;
}

export function dimensionsMarkup(report: ReportModel): Markup {
  const row = ({ name, values, distinguished: apart, read_by: readBy, reason }: DimensionReport): Content =>
    html`<tr>
      <th scope="row">${code(name)}</th>
      <td class="number">${numberText(values)}</td>
      <td class="number">${numberText(apart)}</td>
      <td>${readBy.length === 0 ? html`nothing` : nameList(readBy)}</td>
      <td>${reason ?? ""}</td>
    </tr>`;
  return section(
    "dimensions",
    "Dimensions",
    html`<p class="lead">${report.spaceText}. Values of a dimension that nothing reads are not distinguished.</p>
      ${table("What requests can differ in", ["Dimension", "Values#", "Distinguished#", "Read by", "Why"], report.space.dimensions.map(row))}`,
  );
}

export function evidenceMarkup(evidence: EvidenceReport | null): Markup {
  if (evidence === null) return NOTHING;
  const { decisions, unrepresentable } = evidence;
  const row = ({ why, decisions: each }: EvidenceReport["unrepresentable"][number]): Content =>
    html`<tr>
      <th scope="row">${why}</th>
      <td class="number">${numberText(each)}</td>
    </tr>`;
  return section(
    "evidence",
    "Evidence",
    html`<p class="lead">${amountText(decisions, "decision was", "decisions were")} read.</p>
      ${evidenceCautions(evidence).map((caution) => html`<p>${caution}.</p>`)}
      ${unrepresentable.length === 0 ? none("Head can express every one of them.") : table("Decisions that head cannot express", ["Why", "Decisions#"], unrepresentable.map(row))}`,
  );
}

export function sidesMarkup({ base, head, fresh }: ReportModel, digest: string | null): Markup {
  return section(
    "sides",
    "Both sides",
    html`${fresh ? html`<p class="lead">${FRESH}</p>` : NOTHING}
      <div class="sides">${sideMarkup("Base", base)}${sideMarkup("Head", head)}</div>
      ${digest === null ? NOTHING : html`<p class="digest">SHA-256 of the JSON report, which is what an approver signs:<br /><code>${digest}</code></p>`}`,
  );
}

function sideMarkup(title: string, { name, commit, table_revision: revision, policies, warnings }: SideReport): Markup {
  const row = ({ id, digest, slot, content, from }: PolicyReport): Content =>
    html`<tr>
      <th scope="row">${code(id)}</th>
      <td>
        ${slot}${content === "removal" ? ", its removal" : ""}${from === "base" && title === "Head" ? ", kept from base" : ""}
      </td>
      <td class="hash">${code(digest)}</td>
    </tr>`;
  const warned = warnings.map(
    ({ code: number, file, line, column, message, hint }) =>
      html`<li>
        ${code(number)} ${locationMarkup({ file, line, column })}<br />${message}${hint === "" ? NOTHING : html` ${hint}`}
      </li>`,
  );
  return html`<div>
    <h3>${title}</h3>
    <dl class="point">
      <dt>name</dt>
      <dd>${code(name)}</dd>
      <dt>commit</dt>
      <dd class="hash">${commit === null ? "a folder" : code(commit)}</dd>
      <dt>table revision</dt>
      <dd class="hash">${code(revision)}</dd>
    </dl>
    ${policies.length === 0 ? none("No policies.") : table(`Policies of ${title.toLowerCase()}`, ["Policy", "Slot", "Digest"], policies.map(row))}
    <h4>Warnings</h4>
    ${
      warned.length === 0
        ? none("None.")
        : html`<ul class="warnings">
            ${warned}
          </ul>`
    }
  </div>`;
}

function section(id: string, title: string, body: Markup): Markup {
  return html` <section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    ${body}
  </section>`;
}

function none(text: string): Markup {
  return html`<p class="none">${text}</p>`;
}
