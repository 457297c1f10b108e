import type { PlannedPolicy } from "./rows.ts";

/** What the rules of a generated policy may use. */
const HELD = `held contains label if some label in input.workspace.labels

held contains label if some label in input.key.labels
`;

interface Contract {
  readonly id: string;
  readonly title: string;
  readonly constraint: string;
  readonly effect: "gate" | "filter";
  readonly reason: string;
}

function head({ id, title, constraint, effect, reason }: Contract): string {
  return `# METADATA
# scope: package
# title: ${title}
# custom:
#   signalbox:
#     contract: 1
#     id: ${id}
#     owners: [group:platform]
#     constraints:
#       ${constraint}: {effect: ${effect}, reasons: [${reason}]}
package signalbox.policy.${id.replaceAll("-", "_")}
`;
}

/** Sorted, so that an equal source gives an equal text. */
function set(texts: Iterable<string>): string {
  const sorted = [...new Set(texts)].toSorted();
  return sorted.length === 0 ? "set()" : `{${sorted.map((text) => JSON.stringify(text)).join(", ")}}`;
}

function policy(contract: Contract, rules: string, mode: PlannedPolicy["mode"]): PlannedPolicy {
  return { id: contract.id, mode, files: new Map([[`${contract.id}.rego`, `${head(contract)}\n${rules}`]]) };
}

/** Endpoints that serve by labels. */
interface TaggedEndpoints {
  /** Endpoint → labels of which the caller needs one. */
  readonly tags: ReadonlyMap<string, readonly string[]>;
  /** Endpoints for callers that have none of these labels. */
  readonly usual: ReadonlySet<string>;
}

export function tagPolicy({ tags, usual }: TaggedEndpoints): PlannedPolicy {
  const rows = [...tags].map(([id, labels]) => `\t${JSON.stringify(id)}: ${set(labels)},\n`).toSorted();
  const contract: Contract = {
    id: "tag-routing",
    title: "Endpoints with tags serve only callers with one of these labels",
    constraint: "tag_matches",
    effect: "filter",
    reason: "NO_ENDPOINT_FOR_THE_LABELS",
  };
  const rules = `# Endpoint: labels of which the key or its workspace needs one.
tags := {
${rows.join("")}}

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
`;
  return policy(contract, rules, "enforce");
}

/** Routes whose guardrails check content, which nothing here does. */
export function guardrailPolicy(routes: Iterable<string>, label: string): PlannedPolicy {
  const contract: Contract = {
    id: "imported-guardrails",
    title: "Routes whose guardrails were not imported serve only callers that have another guardrail",
    constraint: "guardrail_replaced",
    effect: "gate",
    reason: "GUARDRAIL_NOT_REPLACED",
  };
  const rules = `# Routes of which the source checked the content of requests or answers.
guarded := ${set(routes)}

${HELD}
pass.guardrail_replaced if not input.request.route in guarded

# Label of keys whose callers check content themselves.
pass.guardrail_replaced if ${JSON.stringify(label)} in held
`;
  return policy(contract, rules, "shadow");
}

/** Keys that may use some routes only, by a label that such a key has. */
export function keyListPolicy(allowed: ReadonlyMap<string, readonly string[]>): PlannedPolicy {
  const contract: Contract = {
    id: "key-routes",
    title: "Keys with a list of models use no other route",
    constraint: "route_listed",
    effect: "gate",
    reason: "ROUTE_NOT_LISTED_FOR_THE_KEY",
  };
  const rows = [...allowed].map(([label, routes]) => `\t${JSON.stringify(label)}: ${set(routes)},\n`).toSorted();
  const rules = `# Label of a key: routes that it may use.
allowed := {
${rows.join("")}}

restricted := ${set(allowed.keys())}

held contains label if some label in input.key.labels

pass.route_listed if count(held & restricted) == 0

pass.route_listed if {
	some label in held
	input.request.route in allowed[label]
}
`;
  return policy(contract, rules, "enforce");
}

/** A condition on the labels of key and workspace, in disjunctive form: any group of which all terms hold. */
interface LabelTerm {
  readonly label: string;
  readonly holds: boolean;
}
export type LabelCondition = readonly (readonly LabelTerm[])[];

export interface Branch {
  /** `null`: what is left. */
  readonly when: LabelCondition | null;
  readonly endpoints: readonly string[];
}

/** Routes of which labels choose the endpoints: the first branch whose condition holds. */
export function branchPolicy(routes: ReadonlyMap<string, readonly Branch[]>): PlannedPolicy {
  const contract: Contract = {
    id: "conditional-routing",
    title: "Labels choose among the endpoints of a route",
    constraint: "branch_chosen",
    effect: "filter",
    reason: "NO_BRANCH_FOR_THE_LABELS",
  };
  const blocks: string[] = [];
  for (const [index, [route, branches]] of [...routes].entries()) {
    const earlier: string[] = [];
    for (const [number, { when, endpoints }] of branches.entries()) {
      const rule = `branch_${index + 1}_${number + 1}`;
      for (const terms of when ?? []) {
        const lines = terms.map(({ label, holds }) => `\t${holds ? "" : "not "}${JSON.stringify(label)} in held\n`);
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
  const rules = `# Routes with branches.
branching := ${set(routes.keys())}

${HELD}
pass.branch_chosen contains candidate.id if {
	not input.request.route in branching
	some candidate in input.candidates
}

${blocks.join("\n")}`;
  return policy(contract, rules, "enforce");
}
