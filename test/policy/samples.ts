import { hash } from "node:crypto";
import type { Source } from "../../src/canon/diagnostic.ts";
import type { PolicyCandidate, PolicyData, PolicyInput } from "../../src/canon/policy.ts";
import { createToolchain, type Toolchain } from "../../src/policy/toolchain/toolchain.ts";
import { testCache } from "../support/cache.ts";

/**
 * What a test has compiled, no other compiles again, in this run or a later one: the result is kept
 * by everything that it comes from.
 */
export const toolchain: Toolchain = {
  check: (request) => sharedBy(request).check(request),
  build: (request) => sharedBy(request).build(request),
  test: (request) => sharedBy(request).test(request),
  format: (request) => sharedBy(request).format(request),
};

const FOLDERS = Array.from({ length: 16 }, (_, digit) =>
  createToolchain({ cache: testCache(digit.toString(16)) }),
);

function sharedBy(request: object): Toolchain {
  const first = Number.parseInt(hash("sha1", JSON.stringify(request)).slice(0, 1), 16);
  return FOLDERS[first] ?? uncached;
}

/** Without a cache, for tests of the toolchain itself and for policies that are drawn at random. */
export const uncached = createToolchain({ cache: null });

/**
 * A policy file: METADATA with constraints and obligations as flow YAML, the package, and the
 * rules.
 */
export function policySource(
  id: string,
  constraints: Readonly<Record<string, string>>,
  rules: string,
  operations: string | null = null,
  obligations: Readonly<Record<string, string>> = {},
): Source {
  const lines = [
    "# METADATA",
    "# scope: package",
    `# title: Policy ${id}`,
    "# custom:",
    "#   signalbox:",
    "#     contract: 1",
    `#     id: ${id}`,
    "#     owners: [group:tests]",
    ...(operations === null ? [] : [`#     applies_to: {operations: ${operations}}`]),
    ...members("constraints", constraints),
    ...members("obligations", obligations),
    `package signalbox.policy.${id.replaceAll("-", "_")}`,
    "",
    rules,
    "",
  ];
  return { path: `policies/${id}.rego`, text: lines.join("\n") };
}

function members(name: string, facts: Readonly<Record<string, string>>): readonly string[] {
  const lines = Object.entries(facts).map(([member, text]) => `#       ${member}: ${text}`);
  return lines.length === 0 ? [] : [`#     ${name}:`, ...lines];
}

export function candidate(id: string, changes: Partial<PolicyCandidate> = {}): PolicyCandidate {
  return {
    id,
    rank: "primary",
    model: "model-a",
    provider: "provider-a",
    region: "eu-west",
    dialect: "openai-chat",
    retention: "none",
    trains_on_data: false,
    capabilities: ["json_schema", "tools"],
    signature_family: "none",
    latency_class: "unspecified",
    ...changes,
  };
}

/** An ordinary request: a standard workspace without labels, no capability needed. */
export function ordinaryInput(changes: Partial<PolicyInput> = {}): PolicyInput {
  return {
    operation: "chat.completions",
    workspace: { id: "demo", tier: "standard", labels: [] },
    budget: { remaining: "unlimited" },
    local_time: {},
    key: { environment: "production", workload: "other", owner: "other", labels: [] },
    request: {
      route: "chat-small",
      needs: [],
      stream: false,
      context: "to_1k",
      max_output: "unspecified",
      reasoning_effort: "unspecified",
      dimensions: 0,
      allow_fallbacks: true,
      data_collection: "deny",
      zdr: false,
    },
    time: { day: "weekday", hour: "morning" },
    candidates: [
      candidate("in-us", { region: "us-east", retention: "days_30" }),
      candidate("in-eu", { rank: "fallback" }),
    ],
    ...changes,
  };
}

export const sampleData: PolicyData = {
  approved: {
    regions: { demo: ["eu-west", "us-east"] },
    providers: { demo: ["provider-a"] },
    routes: { demo: ["chat-small"] },
    capabilities: { demo: ["json_schema", "tools"] },
    dimensions: { demo: [] },
  },
  regions: { eu: ["eu-west"], us: ["us-east"] },
};
