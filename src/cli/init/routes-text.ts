import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { InitPlan, PlannedEndpoint, PlannedProvider } from "./plan.ts";

/** The policies that a new folder begins with; texts are those of this release. */
export const INIT_POLICIES = ["data-retention", "eu-residency", "tool-approval"] as const;

/** A commented routes.yaml. */
export function routesText(plan: InitPlan): string {
  const routes = routesOf(plan);
  const listed = (member: string): readonly JsonValue[] => [
    ...new Set([...plan.models.values()].flatMap((model) => listOf(model[member]))),
  ];
  const dimensions = listed("dimensions");
  const windows = [...plan.models.values()].flatMap(({ context_window: window }) =>
    typeof window === "number" ? [window] : [],
  );
  const approve = {
    routes: routes.map(({ name }) => name),
    regions: [...new Set([...plan.providers, ...plan.endpoints].map(({ region }) => region))],
    providers: plan.providers.map(({ id }) => id),
    capabilities: listed("capabilities"),
    ...(dimensions.length === 0 ? {} : { dimensions }),
    ...(dimensions.length === 0 || windows.length === 0
      ? {}
      : { context_window: Math.max(...windows) }),
  };
  return `# yaml-language-server: $schema=./routes.schema.json
#
# Where requests may go, and who may send them there.
#
#   signalbox check                  reports every problem of this file
#   signalbox policy test --strict   runs the tests of the policies
#   signalbox serve --demo           serves it, with first keys; without secrets the built-in simulated provider answers
#
# Read it from the bottom: a workspace approves routes, a route names endpoints, an endpoint is one model at one provider.

version: 1

# Only the regions listed here exist. A group named after an area lets the compiler compare its regions with hosts.
regions:
${[...plan.groups].map(([group, regions]) => `  ${group}: ${flow([...regions])}`).join("\n")}

# A preset gives protocol, address and flags; \`signalbox check\` prints the resolved values. Keys written here replace its keys.
# \`trains_on_data\` is what you gave init: check your contracts. A provider that may train gets only requests with
# \`"provider": {"data_collection": "allow"}\`. Add \`retention\` too; left out, the longest is assumed.
# \`on_missing_secret: simulate\` lets the simulated provider answer until the secret is set. Remove it in production.
providers:
${plan.providers.map((provider) => providerText(provider, plan.trainsOnData)).join("\n\n")}

# What a model can do wherever it is served. A request that needs a capability not listed here is refused by name.
models:
${[...plan.models].map(([id, row]) => `  ${flow(id)}: ${flow(row)}`).join("\n")}

# One model at one provider. Add \`price: { input: …, output: … }\`, US dollars per million tokens, where budgets need it.
endpoints:
${plan.endpoints.map(({ row }) => `  - ${flow(row)}`).join("\n")}

# The names that clients write as \`model\`. With \`on_gap: narrow\` a fallback that lacks something is left out for that request.
routes:
${routes.map(({ name, row }) => `  ${flow(name)}: ${flow(row)}`).join("\n")}

# What each tenant may use. Whatever is not approved here is denied, before any policy is evaluated.
workspaces:
  ${flow(plan.workspace)}:
    tier: standard
    approve:
${Object.entries(approve)
  .map(([name, value]) => `      ${name}: ${flow(value)}`)
  .join("\n")}
    limits: { requests_per_minute: 600, concurrency: 50 }

# Rego policies in policies/, each with its tests. In shadow a policy is evaluated and recorded, and denies nothing; a promotion enforces it.
policies:
  initial_mode: { eu-residency: enforce, "*": shadow }
  managed_by: ${flow([plan.workspace])}

# Labels that keys and workspaces may have and policies can read: eu-residency reads \`eu\`, tool-approval the other two.
vocabulary:
  labels: [eu, tools, hosted-tools]
`;
}

function providerText(
  { id, preset, title, region, baseUrl, auth }: PlannedProvider,
  trainsOnData: boolean,
): string {
  const lines = [
    `  # ${title}`,
    `  ${flow(id)}:`,
    `    preset: ${preset}`,
    `    region: ${region}`,
  ];
  if (baseUrl !== null)
    lines.push(
      "    # Replace the parts in capitals by the names of your account.",
      `    base_url: ${baseUrl}`,
    );
  lines.push(`    trains_on_data: ${trainsOnData}`);
  if (auth !== "none") lines.push(`    auth: ${flow(auth)}`);
  return lines.join("\n");
}

/**
 * One route for all generating models; one for each other model, since only models of its kind can
 * replace it.
 */
function routesOf({
  endpoints,
  models,
}: InitPlan): readonly { readonly name: string; readonly row: JsonObject }[] {
  const generates = ({ model }: PlannedEndpoint): boolean =>
    listOf(models.get(model)?.["operations"]).includes("generate");
  const groups = new Map<string, PlannedEndpoint[]>();
  for (const endpoint of endpoints) {
    const name = generates(endpoint) ? "chat" : endpoint.model;
    groups.set(name, [...(groups.get(name) ?? []), endpoint]);
  }
  return [...groups].map(([name, [primary, ...fallbacks]]) => ({
    name,
    row: {
      primary: primary?.row["id"] ?? "",
      ...(fallbacks.length === 0
        ? {}
        : { fallbacks: fallbacks.map(({ row }) => row["id"] ?? ""), on_gap: "narrow" }),
    },
  }));
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value)
    ? value.flatMap((item: JsonValue | undefined) => (item === undefined ? [] : [item]))
    : [];
}

/** Text that needs no quotes in YAML. */
const PLAIN = /^[A-Za-z_][A-Za-z0-9_./-]*(?::[A-Za-z0-9_./-]+)*$/;
const NOT_TEXT: ReadonlySet<string> = new Set(["true", "false", "null", "yes", "no", "on", "off"]);

/** A value in YAML's flow style, on one line: `{ bearer: { env: NAME } }`. */
function flow(value: JsonValue): string {
  if (Array.isArray(value))
    return `[${value.map((item: JsonValue | undefined) => flow(item ?? null)).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(
      ([name, member]) => `${flow(name)}: ${flow(member ?? null)}`,
    );
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  if (typeof value !== "string") return String(value);
  return PLAIN.test(value) && !NOT_TEXT.has(value) ? value : JSON.stringify(value);
}
