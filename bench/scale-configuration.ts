import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Source } from "../src/canon/diagnostic.ts";
import type { ConfigurationFiles } from "../src/compile/load.ts";

export interface ConfigurationSize {
  readonly routes: number;
  readonly workspaces: number;
  readonly policies: number;
}

/** What head changes: one more fallback of one route, or one line of one policy. */
export type ConfigurationChange = "fallback" | "policy";

const ROOT = new URL("../", import.meta.url);
const TIERS = ["standard", "regulated", "internal"];
const LABELS = ["eu", "tools", "images", "office-hours", "batch-only"];
const KEY_LABELS = ["vip", "pii", "trial", "audit"];
const CHAT = ["gpt-5-us", "gpt-5-eu", "mistral-large-eu"];

/**
 * The models and providers of this repository for many routes, workspaces and policies; the same
 * for the same sizes.
 */
export function scaleConfiguration(
  size: ConfigurationSize,
  change: ConfigurationChange | null,
): ConfigurationFiles {
  const fixture = parse(readFileSync(new URL("routes.yaml", ROOT), "utf8"));
  const endpoints: readonly string[] = Object.values<{
    primary: string;
    fallbacks?: readonly string[];
  }>(fixture.routes)
    .flatMap(({ primary, fallbacks = [] }) => [primary, ...fallbacks])
    .filter((name, index, all) => all.indexOf(name) === index);
  const chat = [
    ...new Set([...CHAT, ...endpoints.filter((name) => /gpt|mistral|claude/.test(name))]),
  ];
  const routes = Array.from({ length: size.routes }, (_, number) => {
    const chosen = chat.filter((_name, index) => (number * 7 + index * 3) % 5 < 2).slice(0, 4);
    const [primary = chat[number % chat.length], ...fallbacks] = chosen;
    const added =
      change === "fallback" && number === 3
        ? chat.filter((name) => !chosen.includes(name)).slice(0, 1)
        : [];
    const row = {
      primary,
      fallbacks: [...fallbacks, ...added],
      on_gap: number % 2 === 0 ? "narrow" : "deny",
    };
    return [`route-${number}`, row] as const;
  });
  const { regions, providers, dimensions, context_window } = fixture.workspaces.demo.approve;
  const names = routes.map(([name]) => name);
  const workspaces = Array.from({ length: size.workspaces }, (_, number) => {
    const approve = {
      routes: names.filter(
        (_name, index) => (index + number) % 5 === 0 || index === number % names.length,
      ),
      regions,
      providers,
      capabilities: ["tools", "json_schema", "reasoning", "image_input"].filter(
        (_name, bit) => (number & (1 << bit)) !== 0,
      ),
      dimensions,
      context_window,
    };
    const labels = LABELS.filter((_name, bit) => ((number * 3) & (1 << bit)) !== 0);
    return [`tenant-${number}`, { tier: TIERS[number % TIERS.length], labels, approve }] as const;
  });
  fixture.routes = Object.fromEntries(routes);
  fixture.workspaces = Object.fromEntries(workspaces);
  fixture.vocabulary = {
    environments: ["production", "test", "staging"],
    workloads: ["web", "batch"],
    labels: [...LABELS, ...KEY_LABELS],
  };
  fixture.policies = {
    dir: "policies",
    managed_by: ["tenant-0"],
    initial_mode: { "*": "enforce" },
  };
  const policies = Array.from({ length: size.policies }, (_, number) =>
    policySource(number, change === "policy" && number === 1),
  );
  return { routes: { path: "routes.yaml", text: JSON.stringify(fixture) }, policies };
}

/** Policies of ten kinds; further ones of a kind have other values. */
function policySource(number: number, isChanged: boolean): Source {
  const round = Math.floor(number / KINDS.length);
  const kind = KINDS[number % KINDS.length];
  if (kind === undefined) throw new RangeError("bench: no such policy");
  const [constraint, effect, body] = kind(round, isChanged);
  const id = `rule-${number}`;
  const text = `# METADATA
# scope: package
# title: Rule ${number}
# custom:
#   signalbox:
#     contract: 1
#     id: ${id}
#     owners: [group:platform]
#     constraints:
#       ${constraint}: {effect: ${effect}, reasons: [RULE_${number}]}
package signalbox.policy.${id.replaceAll("-", "_")}

${body}
`;
  return { path: `policies/${id}.rego`, text };
}

type Kind = (
  round: number,
  isChanged: boolean,
) => readonly [constraint: string, effect: string, body: string];

const of = (values: readonly string[], round: number): string =>
  values[round % values.length] ?? "";

const KINDS: readonly Kind[] = [
  (round) => [
    "resident",
    "require_all",
    `pass.resident contains c.id if {
	some c in input.candidates
	not "eu" in input.workspace.labels
}

# signalbox: later ${of(TIERS, round)}-${round}
pass.resident contains c.id if {
	some c in input.candidates
	c.region in data.regions.eu
	input.workspace.tier != "${of(TIERS, round)}-${round}"
}`,
  ],
  (round, isChanged) => [
    "separate",
    "gate",
    `pass.separate if input.key.environment == "production"

pass.separate if input.workspace.tier != "${of(TIERS, round + (isChanged ? 1 : 0))}"

pass.separate if "vip" in input.key.labels`,
  ],
  (round) => [
    "short",
    "gate",
    `pass.short if input.request.context in {"unspecified", "to_1k", "to_4k", "to_${of(["16k", "64k"], round)}"}

pass.short if input.workspace.tier == "${of(TIERS, round)}"`,
  ],
  (round) => [
    "effort",
    "gate",
    `pass.effort if not input.request.reasoning_effort in {"${of(["high", "xhigh", "max"], round)}", "max"}

pass.effort if "${of(KEY_LABELS, round)}" in input.key.labels`,
  ],
  (round) => [
    "hours",
    "gate",
    `pass.hours if not "office-hours" in input.workspace.labels

pass.hours if input.time.hour in {"morning", "${of(["afternoon", "evening"], round)}"}`,
  ],
  (round) => [
    "kept",
    "filter",
    `pass.kept contains c.id if {
	some c in input.candidates
	c.retention == "none"
}

pass.kept contains c.id if {
	some c in input.candidates
	not "${of(["pii", "audit"], round)}" in input.key.labels
}`,
  ],
  (round) => [
    "tools",
    "gate",
    `pass.tools if not "${of(["tools", "image_input", "reasoning"], round)}" in input.request.needs

pass.tools if "${of(LABELS, round + 1)}" in input.workspace.labels`,
  ],
  (round) => [
    "output",
    "gate",
    `pass.output if input.request.max_output in {"unspecified", "to_1k", "to_4k"}

pass.output if input.workspace.tier != "${of(TIERS, round + 1)}"`,
  ],
  (round) => [
    "batch",
    "gate",
    `pass.batch if input.key.workload != "batch"

pass.batch if input.request.stream == ${round % 2 === 0 ? "false" : "true"}

pass.batch if "batch-only" in input.workspace.labels`,
  ],
  (round) => [
    "untrained",
    "filter",
    `pass.untrained contains c.id if {
	some c in input.candidates
	not c.trains_on_data
}

pass.untrained contains c.id if {
	some c in input.candidates
	input.request.data_collection == "allow"
	"${of(KEY_LABELS, round + 2)}" in input.key.labels
}`,
  ],
];
