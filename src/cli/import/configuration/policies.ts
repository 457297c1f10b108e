import type { PlannedPolicy } from "./rows.ts";

/** A rule that the generated policies share. */
const HELD = `held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels
`;

function policy(id: string, text: string, mode: PlannedPolicy["mode"] = "enforce"): PlannedPolicy {
  return { id, mode, files: new Map([[`${id}.rego`, text]]) };
}

/** Sorted, so that an equal source gives an equal text. */
function set(texts: Iterable<string>): string {
  const sorted = [...new Set(texts)].toSorted();
  return sorted.length === 0
    ? "set()"
    : `{${sorted.map((text) => JSON.stringify(text)).join(", ")}}`;
}

function mapOfSets(sets: ReadonlyMap<string, readonly string[]>): string {
  return [...sets]
    .map(([key, texts]) => `\t${JSON.stringify(key)}: ${set(texts)},\n`)
    .toSorted()
    .join("");
}

/** Endpoints that serve by labels. */
interface TaggedEndpoints {
  /** Endpoint → labels of which the caller needs one. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  /** Endpoints for callers that have none of these labels. */
  readonly usual: ReadonlySet<string>;
}

export function tagPolicy({ tags, usual }: TaggedEndpoints): PlannedPolicy {
  return policy(
    "tag-routing",
    `# METADATA
# scope: package
# title: Endpoints with tags serve only callers with one of these labels
# custom:
#   signalbox:
#     contract: 1
#     id: tag-routing
#     owners: [group:platform]
#     constraints:
#       tag_matches: {effect: filter, reasons: [NO_ENDPOINT_FOR_THE_LABELS]}
package signalbox.policy.tag_routing

# Endpoint: labels of which the key or its workspace needs one.
tags := {
${mapOfSets(tags)}}

# Endpoints for callers that have none of the labels.
usual := ${set(usual)}

known := ${set([...tags.values()].flat())}

${HELD}
pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	count(tags[candidate.id] & held) > 0
}

pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	candidate.id in usual
	count(held & known) == 0
}

# Endpoints of routes without tags.
pass.tag_matches contains candidate.id if {
	some candidate in input.candidates
	not tags[candidate.id]
	not candidate.id in usual
}
`,
  );
}

/** Routes whose guardrails check content, which nothing here does. */
export function guardrailPolicy(routes: Iterable<string>, label: string): PlannedPolicy {
  return policy(
    "imported-guardrails",
    `# METADATA
# scope: package
# title: Routes whose guardrails were not imported serve only callers that have another guardrail
# custom:
#   signalbox:
#     contract: 1
#     id: imported-guardrails
#     owners: [group:platform]
#     constraints:
#       guardrail_replaced: {effect: gate, reasons: [GUARDRAIL_NOT_REPLACED]}
package signalbox.policy.imported_guardrails

# Routes of which the source checked the content of requests or answers.
guarded := ${set(routes)}

${HELD}
pass.guardrail_replaced if not input.request.route in guarded

# Label of keys whose callers check content themselves.
pass.guardrail_replaced if ${JSON.stringify(label)} in held
`,
    "shadow",
  );
}

/** Keys that may use some routes only, by a label that such a key has. */
export function keyListPolicy(allowed: ReadonlyMap<string, readonly string[]>): PlannedPolicy {
  return policy(
    "key-routes",
    `# METADATA
# scope: package
# title: Keys with a list of models use no other route
# custom:
#   signalbox:
#     contract: 1
#     id: key-routes
#     owners: [group:platform]
#     constraints:
#       route_listed: {effect: gate, reasons: [ROUTE_NOT_LISTED_FOR_THE_KEY]}
package signalbox.policy.key_routes

# Label of a key: routes that it may use.
allowed := {
${mapOfSets(allowed)}}

restricted := ${set(allowed.keys())}

held contains label if some label in input.key.labels

pass.route_listed if count(held & restricted) == 0

pass.route_listed if {
	some label in held
	input.request.route in allowed[label]
}
`,
  );
}

/**
 * A condition on the labels of key and workspace, in disjunctive form: any group of which all terms
 * hold.
 */
interface LabelTerm {
  readonly label: string;
  readonly holds: boolean;
}
export type LabelCondition = readonly (readonly LabelTerm[])[];

export interface Branch {
  /** `null`: all other callers. */
  readonly when: LabelCondition | null;
  readonly endpoints: readonly string[];
}

/** Routes of which labels choose the endpoints: the first branch whose condition holds. */
export function branchPolicy(routes: ReadonlyMap<string, readonly Branch[]>): PlannedPolicy {
  const blocks: string[] = [];
  for (const [index, [route, branches]] of [...routes].entries()) {
    const earlier: string[] = [];
    for (const [number, { when, endpoints }] of branches.entries()) {
      const rule = `branch_${index + 1}_${number + 1}`;
      for (const terms of when ?? []) {
        const lines = terms.map(
          ({ label, holds }) => `\t${holds ? "" : "not "}${JSON.stringify(label)} in held\n`,
        );
        blocks.push(`${rule} if {\n${lines.join("")}}\n`);
      }
      const conditions = [
        `\tinput.request.route == ${JSON.stringify(route)}\n`,
        ...earlier.map((name) => `\tnot ${name}\n`),
        ...(when === null ? [] : [`\t${rule}\n`]),
      ];
      blocks.push(`pass.branch_chosen contains candidate.id if {
${conditions.join("")}\tsome candidate in input.candidates
	candidate.id in ${set(endpoints)}
}
`);
      if (when !== null && when.length > 0) earlier.push(rule);
    }
  }
  return policy(
    "conditional-routing",
    `# METADATA
# scope: package
# title: Labels choose among the endpoints of a route
# custom:
#   signalbox:
#     contract: 1
#     id: conditional-routing
#     owners: [group:platform]
#     constraints:
#       branch_chosen: {effect: filter, reasons: [NO_BRANCH_FOR_THE_LABELS]}
package signalbox.policy.conditional_routing

# Routes with branches.
branching := ${set(routes.keys())}

${HELD}
pass.branch_chosen contains candidate.id if {
	not input.request.route in branching
	some candidate in input.candidates
}

${blocks.join("\n")}`,
  );
}
