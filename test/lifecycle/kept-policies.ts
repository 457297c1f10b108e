import { createHash } from "node:crypto";

import type { PolicyContract, StoredContent } from "../../src/canon/policy.ts";
import type { ContentReference } from "../../src/lifecycle/records.ts";
import { policyDigest } from "../../src/policy/compiled.ts";
import { storedContent } from "../../src/policy/kept-content.ts";
import { POLICY } from "./policy-rows.ts";

/** A content of a policy as servers keep it; its module is one that cannot be run. */
export function keptPolicy(letter: string, id = POLICY): StoredContent {
  const contract: PolicyContract = {
    contract: 1,
    id,
    title: `Version ${letter}`,
    owners: ["group:privacy"],
    operations: ["chat.completions"],
    constraints: [{ name: "allowed", effect: "gate", reasons: ["NOT_ALLOWED"] }],
    obligations: [],
  };
  const sources = [
    { package: `signalbox.policy.${id.replaceAll("-", "_")}`, source: `# ${letter}\n` },
  ];
  const digest = policyDigest(contract, sources);
  const stringUse = { strings: [], inspects: [] };
  const policy = {
    contract,
    digest,
    sources,
    reasoned: [],
    reads: [],
    relates: false,
    hours: null,
    stringUse,
    path: `${id}.rego`,
    locations: {},
  };
  return storedContent(
    policy,
    {
      bytes: Buffer.from(`\0asm module ${letter}`),
      units: [{ policy, entrypoint: "unit" }],
    },
    "build",
  );
}

/** As rows of the log speak of it. */
export function referenceTo({ digest, module }: StoredContent, revision: number): ContentReference {
  return { revision, digest, module: createHash("sha256").update(module).digest("hex") };
}
