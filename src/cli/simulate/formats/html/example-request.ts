import type { SampleRequest } from "../../../../simulate/sample-request.ts";
import type { SourceLocation } from "../../../../simulate/report/location.ts";
import { explainCommand } from "../../../../simulate/explain/explain-arguments.ts";
import { html, NOTHING, type Content, type Markup } from "./markup.ts";
import { nameList, shownName } from "./names.ts";

/** An example request with the command that explains it. Folded, because a reader opens few of many. */
export function exampleMarkup(sample: SampleRequest, explain: readonly string[], note: string): Markup {
  return html`<details class="example">
    <summary>Example${note === "" ? NOTHING : html` <span>${note}</span>`}</summary>
    ${sampleMarkup(sample)}${explain.length === 0 ? NOTHING : commandMarkup(explain)}
  </details>`;
}

function commandMarkup(explain: readonly string[]): Markup {
  return html`<div class="command">
    <code>${explainCommand(explain)}</code><button type="button" data-copy>Copy</button>
  </div>`;
}

export function locationMarkup(location: SourceLocation | null): Markup {
  return location === null
    ? NOTHING
    : html`<code class="location">${location.file}:${location.line}:${location.column}</code>`;
}

function sampleMarkup(sample: SampleRequest): Markup {
  return html`<dl class="point">
    ${fieldsOf(sample).map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

/** The fields of a request. Absent fields are omitted, because every example would repeat them. */
function fieldsOf(sample: SampleRequest): readonly (readonly [string, Content])[] {
  const { key, time, preferences, dimensions } = sample;
  const fields: (readonly [string, Content])[] = [
    ["workspace", shownName(sample.workspace)],
    ["route", shownName(sample.model)],
    ["operation", sample.operation],
    ["key", `${key.environment}, ${key.workload}`],
  ];
  if (key.owner !== undefined) fields.push(["owner of the key", key.owner]);
  if (key.labels.length > 0) fields.push(["key labels", nameList(key.labels)]);
  if (sample.needs.length > 0) fields.push(["needs", nameList(sample.needs)]);
  if (sample.features.length > 0) fields.push(["uses", nameList(sample.features)]);
  if (sample.signatureFamilies.length > 0) fields.push(["signed reasoning of", nameList(sample.signatureFamilies)]);
  fields.push(["streaming", sample.stream ? "yes" : "no"]);
  fields.push(["context", sample.context], ["most output", sample.maxOutput]);
  if (sample.reasoningEffort !== "unspecified") fields.push(["reasoning effort", sample.reasoningEffort]);
  if (dimensions !== null) fields.push(["dimensions", String(dimensions)]);
  if (preferences !== null) fields.push(["preferences", JSON.stringify(preferences)]);
  if (sample.budget !== undefined) fields.push(["budget", sample.budget]);
  fields.push(["time", `${time.day}, ${time.hour}`]);
  return fields;
}
