import { DROPPED_FIELDS, type DroppedField } from "../../../src/canon/generate/edit.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { Operation } from "../../../src/canon/operation.ts";
import type { ServiceError } from "../../../src/canon/error.ts";
import type { InferenceRequest } from "../../../src/canon/request.ts";
import type { ModelRow } from "../../../src/canon/table.ts";
import type { Target } from "../../../src/dialects/dialect.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../../src/dialects/table.ts";
import { DIALECT_NAMES, lacking, MODEL, NO_EDITS, targetOf } from "./target.ts";
import { ASPECTS, GLANCE } from "./glance.ts";
import { CHAT_PROBES } from "./probes/chat.ts";
import { COMPLETIONS_PROBES } from "./probes/completions.ts";
import { COUNT_TOKENS_PROBES, MESSAGES_PROBES } from "./probes/messages.ts";
import type { Probe } from "./probes/probe.ts";
import { RESPONSES_PROBES } from "./probes/responses.ts";
import { route } from "../../support/table.ts";
import { SURFACES, type Spoken } from "./table.ts";
import { needsTranslation, prepareTranslation } from "../../../src/dialects/translate-request.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const PROBES: Readonly<Partial<Record<Operation, readonly Probe[]>>> = {
  "chat.completions": CHAT_PROBES,
  completions: COMPLETIONS_PROBES,
  responses: RESPONSES_PROBES,
  messages: MESSAGES_PROBES,
  "messages.count_tokens": COUNT_TOKENS_PROBES,
};

export function probesOf({ operation }: Spoken): readonly Probe[] {
  return PROBES[operation] ?? [];
}

/** What a target makes of a body. */
export type Outcome =
  /** The door, or the surface's parser, says no: no target gets the body. */
  | {
      readonly kind: "refused";
      readonly by: "surface";
      readonly code: string;
      readonly param: string | null;
    }
  /** The decision says no: the target lacks the feature, capability or signature family. */
  | {
      readonly kind: "refused";
      readonly by: "decision";
      readonly code: string;
      readonly param: string | null;
    }
  /**
   * The translation says no, although the decision said yes: only for values that cannot be sent.
   */
  | {
      readonly kind: "refused";
      readonly by: "translation";
      readonly code: string;
      readonly param: string | null;
    }
  | {
      readonly kind: "sent";
      readonly path: string;
      readonly body: JsonObject;
      readonly headers: readonly string[];
      readonly stripped: readonly string[];
      readonly dropped: readonly DroppedField[];
      /**
       * What the router itself makes use of: the route, the preferences, how the answer is to be
       * given.
       */
      readonly ours: readonly unknown[];
    };

const ROUTE = route("r", "a", []);

/**
 * Runs a body the way of a request: the door, the decision's comparison, and then the relay or the
 * translation.
 */
export function outcomeOf(
  spoken: Spoken,
  probe: Pick<Probe, "body" | "headers">,
  target: Target,
): Outcome {
  const request = spoken.read(probe.body, probe.headers ?? undefined);
  if ("code" in request) return refused("surface", request);
  if (request.unknownKind) return refused("surface", request.unknownKind);
  const missing = lacking(request, target);
  if (missing !== null) {
    const paths: ReadonlyMap<string, string> = request.paths;
    return { kind: "refused", by: "decision", code: missing, param: paths.get(missing) ?? null };
  }
  const ours = [request.model, request.preferences, request.includeUsage];
  const { surface } = spoken;
  if (
    target.endpoint.dialect === surface.dialect &&
    !needsTranslation(ROUTE, request.shape, target.endpoint)
  ) {
    const edited = surface.relay.edit(
      request,
      target.endpoint,
      target.provider,
      "reject",
      NO_EDITS,
    );
    return {
      kind: "sent",
      path: surface.relay.path(target.endpoint),
      ...edited,
      dropped: [],
      ours,
    };
  }
  return translated(spoken, request, target, ours);
}

function translated(
  { surface }: Spoken,
  request: InferenceRequest,
  target: Target,
  ours: readonly unknown[],
): Outcome {
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) return refused("translation", canonical);
  const prepared = prepareTranslation(canonical, ROUTE, request.shape, target, upstreamOf(target));
  if ("code" in prepared) return refused("translation", prepared);
  const dropped = [...new Set(prepared.dropped)].toSorted();
  return { kind: "sent", ...prepared.formatted, stripped: prepared.stripped, dropped, ours };
}

function upstreamOf({ endpoint }: Target) {
  const name = DIALECT_NAMES.find((dialect) => dialect === endpoint.dialect);
  if (name === undefined) throw new Error(`no dialect ${endpoint.dialect}`);
  return upstreamFor("generate", name);
}

function refused(
  by: "surface" | "translation",
  { code, param }: Pick<ServiceError, "code" | "param">,
): Outcome {
  return { kind: "refused", by, code, param };
}

/**
 * A model that takes all that some models of its dialect take, and whose row maps efforts to
 * budgets.
 */
const GENEROUS_BUDGETS = { low: 1_024, medium: 4_096, high: 16_384, max: 32_768 } as const;

export function generousModel(dialect: GenerateDialect): ModelRow {
  return {
    ...MODEL,
    accepts: GENERATE_DIALECTS[dialect].optional,
    reasoning: { efforts: null, budgets: GENEROUS_BUDGETS },
  };
}

/**
 * What one probe's cell says. `usual`: what even the smallest body loses on the way; it stands
 * once, above the table.
 */
function cell(
  spoken: Spoken,
  probe: Probe,
  dialect: GenerateDialect,
  usual: ReadonlySet<string>,
): string {
  const full: Probe = { ...probe, body: { ...spoken.body, ...probe.body } };
  const plain = outcomeOf(spoken, full, targetOf(dialect));
  if (plain.kind === "refused" && plain.by === "decision") {
    const generous = outcomeOf(spoken, full, targetOf(dialect, generousModel(dialect)));
    if (generous.kind === "sent") return `${sentCell(generous, usual)} ¹`;
  }
  if (plain.kind === "sent") return sentCell(plain, usual);
  // Where the surface says no, the row says what of; a translation's refusal names what it looked
  // at.
  const where = plain.by === "translation" && plain.param !== null ? ` (\`${plain.param}\`)` : "";
  return `✗ \`${plain.code}\`${where}`;
}

function sentCell(
  { stripped, dropped }: Extract<Outcome, { kind: "sent" }>,
  usual: ReadonlySet<string>,
): string {
  const lost = dropped.filter((field) => !usual.has(field)).map((field) => `\`${field}\``);
  if (lost.length > 0) return `~ ${lost.join(", ")}`;
  return stripped.length > 0 ? "stripped" : "=";
}

function usuallyDropped(spoken: Spoken, dialect: GenerateDialect): readonly DroppedField[] {
  const outcome = outcomeOf(spoken, { body: spoken.body, headers: null }, targetOf(dialect));
  return outcome.kind === "sent" ? outcome.dropped : [];
}

function section(spoken: Spoken): string {
  const usual = new Map(
    DIALECT_NAMES.map((dialect) => [dialect, new Set<string>(usuallyDropped(spoken, dialect))]),
  );
  const always = [...usual]
    .filter(([, dropped]) => dropped.size > 0)
    .map(
      ([dialect, dropped]) =>
        `- \`${dialect}\`: ${[...dropped].map((field) => `\`${field}\``).join(", ")}`,
    );
  const rows = probesOf(spoken).map((probe) => [
    probe.says,
    ...DIALECT_NAMES.map((dialect) =>
      cell(spoken, probe, dialect, usual.get(dialect) ?? new Set()),
    ),
  ]);
  const heading = `## Surface \`${spoken.operation}\` (\`${spoken.surface.dialect}\`)`;
  const note =
    always.length === 0 ? "" : `Lost by every request on the way to\n\n${always.join("\n")}\n\n`;
  return `${heading}\n\n${note}${table(["The request says", ...DIALECT_NAMES.map((name) => `\`${name}\``)], rows)}`;
}

/** The few things that people ask first, for every pair. */
function glance(spoken: Spoken): string {
  const bodies = GLANCE[spoken.operation];
  if (bodies === undefined) return "";
  const usual = new Map(
    DIALECT_NAMES.map((dialect) => [dialect, new Set<string>(usuallyDropped(spoken, dialect))]),
  );
  const rows = ASPECTS.map((aspect) => {
    const body = bodies[aspect];
    const probe = { says: aspect, of: [], body: body ?? {}, headers: null };
    const cells = DIALECT_NAMES.map((dialect) =>
      body === undefined ? "–" : cell(spoken, probe, dialect, usual.get(dialect) ?? new Set()),
    );
    return [aspect, ...cells];
  });
  return `### \`${spoken.operation}\`\n\n${table(["", ...DIALECT_NAMES.map((name) => `\`${name}\``)], rows)}`;
}

/**
 * docs/translation-matrix.md: what every member of every surface becomes in every dialect, found
 * out by running the code.
 */
export function translationMatrix(): string {
  const dropped = Object.entries(DROPPED_FIELDS).map(([field, meaning]) => [
    `\`${field}\``,
    meaning,
  ]);
  return `# Translation matrix

Written by \`npm run generate\`; do not edit. Each cell was found by running one request
through the surface's parser, the decision's comparison and the printer of the dialect; the test fails when this file says anything else.

- \`=\`: the endpoint gets it, in its own format. Where surface and dialect are the same, as it came.
- \`~\`: the endpoint gets the request; what the names stand for was omitted or changed, which the evidence records.
- \`stripped\`: taken out, which the evidence records: who the caller's user is stays with the caller.
- \`✗\`: the request is refused with a 400 before anything is sent; the name is the feature or capability that the endpoint lacks, or the
  error's code with the member that it names. A route with another endpoint may take it.
- ¹: only where the model's row in routes.yaml says so (\`accepts\`, \`reasoning.budgets\`).

Capabilities must also be listed by the model's row and, most of them, be approved for the workspace. Members that no row names are refused
as \`unknown_field\`; a route may say otherwise (\`unknown_fields\`).

## At a glance

\`–\`: the surface's own protocol has no such thing. Token counts come back from every protocol to every surface with the same totals, streamed or
not; what a provider does not count stays unknown (\`usage_unknown\` where a surface demands a number).

${SURFACES.map(glance)
  .filter((text) => text !== "")
  .join("\n\n")}

${SURFACES.map(section).join("\n\n")}

## What may be lost

${table(["Name", "What was done"], dropped)}
`;
}

/** Padded as the formatter of the repository pads. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = [head, ...rows].map((row) => row.map((text) => text.replaceAll("|", "\\|")));
  const widths = head.map((_text, column) =>
    Math.max(3, ...escaped.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const [first = [], ...others] = escaped;
  return [line(first), line(widths.map((width) => "-".repeat(width))), ...others.map(line)].join(
    "\n",
  );
}
