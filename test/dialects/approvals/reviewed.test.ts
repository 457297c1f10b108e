import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { sdkProbes } from "./sdk-probes.ts";
import { passes } from "./what-passes.ts";

const SURFACES = {
  chat: "/v1/chat/completions",
  completions: "/v1/completions",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  moderations: "/v1/moderations",
  messages: "/api/v1/messages",
  count_tokens: "/api/v1/messages/count_tokens",
} as const;

const REVIEW =
  "What an official SDK can send past a workspace's approvals has changed. Read each line of the difference: what makes a provider fetch, execute, remember, " +
  "call another model or spend otherwise needs an approval or is refused (src/dialects/kinds.ts). Then write the list: " +
  "npm exec -- vitest run --project long test/dialects/approvals/reviewed.test.ts -u";

/** A probe as a request to the route `r`; all members of a responses body may be absent in the SDK, and two must be there. */
function requestOf(name: string, value: JsonValue): JsonValue {
  return isJsonObject(value) ? { ...(name === "responses" ? { input: "a" } : {}), ...value, model: "r" } : value;
}

/** Dated versions of one type, and names of tools that a toolset configures, are one kind. */
const kindOf = (kind: string): string => kind.replaceAll(/_20\d{6}\b/g, "_*").replace(/\.configs\.\w+/, ".configs.*");

describe("what passes the approvals of a workspace, of all that the official SDKs declare, is reviewed:", () => {
  const all = sdkProbes();

  it.each(Object.entries(SURFACES))("%s", async (name, surface) => {
    const probes = all.get(name) ?? [];
    expect(probes.length).toBeGreaterThan(8);
    const unapproved = new Set<string>();
    const withTools = new Set<string>();
    for (const { kind, value } of probes) {
      // The name of the route stands where the SDK lists its vendor's models.
      if (kind.startsWith(".model=")) continue;
      const body = requestOf(name, value);
      if (passes(surface, body, [])) unapproved.add(kindOf(kind));
      else if (passes(surface, body, ["tools"])) withTools.add(kindOf(kind));
    }
    const listed = [
      "# Passes where nothing is approved",
      ...[...unapproved].toSorted(),
      "# Passes where `tools` alone is approved",
      ...[...withTools.difference(unapproved)].toSorted(),
    ];
    await expect(`${listed.join("\n")}\n`, REVIEW).toMatchFileSnapshot(`reviewed/${name}.txt`);
  });
});
