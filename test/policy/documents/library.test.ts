import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { policy } from "../../../src/cli/policy/policy.ts";
import type { Source } from "../../../src/canon/diagnostic.ts";
import { WEEKDAYS, type LocalTime } from "../../../src/canon/policy.ts";
import { type PolicyData, type PolicyInput, type PolicySet } from "../../../src/canon/policy.ts";
import { compilePolicies, type CompiledPolicies } from "../../../src/policy/compile-policies.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import { runCommand } from "../../keys/command.ts";
import { readText } from "./document.ts";
import { candidate, ordinaryInput, sampleData, toolchain } from "../samples.ts";

const root = new URL("../../../", import.meta.url);

function sourcesOf(folder: string): readonly Source[] {
  return readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(".rego"))
    .map((name) => ({ path: `${folder}/${name}`, text: readText(`${folder}/${name}`) }));
}

function idsOf(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ path }) => /^[^/]+\/([^/_]+)\.rego$/.exec(path)?.[1] ?? []);
}

const library = sourcesOf("policy-library");
const active = [...sourcesOf("policies"), ...sourcesOf("policies/lib")];

const { workspace, key, request } = ordinaryInput();

/** As {@link sampleData}, with a workspace that may use vectors of 256 and 1,024 dimensions. */
const data: PolicyData = {
  ...sampleData,
  approved: { ...sampleData.approved, dimensions: { demo: [256, 1024] } },
};

const labelled = (...labels: readonly string[]) => ({ workspace: { ...workspace, labels } });
const needing = (...needs: PolicyInput["request"]["needs"]) => ({ request: { ...request, needs } });
const effort = (reasoning_effort: PolicyInput["request"]["reasoning_effort"]) => ({
  request: { ...request, reasoning_effort },
});
const at = (weekday: LocalTime["weekday"], hour: number) => ({
  local_time: { "Europe/Berlin": { weekday, hour } },
});
const embedding = (dimensions: number) =>
  ({ operation: "embeddings", request: { ...request, dimensions } }) as const;
const served = (...providers: readonly string[]) => ({
  candidates: providers.map((provider, index) => candidate(`c${index}`, { provider })),
});

/**
 * What is refused: constraint, reason, and the candidates that fail. One row for each reason at
 * least.
 */
const refusals: readonly (readonly [string, Partial<PolicyInput>, readonly string[]])[] = [
  [
    "audio",
    needing("audio_input", "tools"),
    ["modality-approval audio_labelled AUDIO_NOT_APPROVED"],
  ],
  [
    "spoken answers",
    needing("audio_input", "audio_output"),
    ["modality-approval audio_labelled AUDIO_OUTPUT_NOT_APPROVED"],
  ],
  ["files", needing("file_input"), ["modality-approval files_labelled FILES_NOT_APPROVED"]],
  ["images", needing("image_input"), ["modality-approval images_labelled IMAGES_NOT_APPROVED"]],
  [
    "drawn answers",
    needing("image_output"),
    ["modality-approval images_labelled IMAGE_OUTPUT_NOT_APPROVED"],
  ],
  ["video", needing("video_input"), ["modality-approval video_labelled VIDEO_NOT_APPROVED"]],
  [
    "images with the label for files",
    { ...labelled("files"), ...needing("file_input", "image_input") },
    ["modality-approval images_labelled IMAGES_NOT_APPROVED"],
  ],
  ["high effort", effort("high"), ["reasoning-effort effort_within_ceiling EFFORT_ABOVE_CEILING"]],
  [
    "the highest effort with a label for a high one",
    { ...effort("max"), ...labelled("reasoning-high") },
    ["reasoning-effort effort_within_ceiling EFFORT_ABOVE_CEILING"],
  ],
  [
    "a tier without a ceiling",
    { workspace: { ...workspace, tier: "new" } },
    ["reasoning-effort effort_within_ceiling EFFORT_CEILING_NOT_DECLARED"],
  ],
  [
    "office hours at night",
    { ...labelled("office-hours"), ...at("monday", 3) },
    ["time-windows office_hours OUTSIDE_OFFICE_HOURS"],
  ],
  [
    "office hours on a Sunday",
    { ...labelled("office-hours"), ...at("sunday", 10) },
    ["time-windows office_hours OUTSIDE_WORKING_DAYS"],
  ],
  [
    "off-peak work in the afternoon",
    { ...labelled("off-peak"), ...at("friday", 17) },
    ["time-windows off_peak IN_OFFICE_HOURS"],
  ],
  [
    "a provider under review",
    served("provider-a", "example-under-review"),
    ["provider-deny-list provider_not_denied PROVIDER_UNDER_REVIEW c1"],
  ],
  [
    "a provider with an incident",
    served("provider-a", "example-incident"),
    ["provider-deny-list provider_not_denied PROVIDER_INCIDENT c1"],
  ],
  [
    "providers of all lists, for the first reason in plan order",
    served("example-contract-ended", "example-incident", "example-under-review"),
    ["provider-deny-list provider_not_denied PROVIDER_CONTRACT_ENDED c0+c1+c2"],
  ],
  [
    "a vector of another length",
    embedding(512),
    ["embedding-dimensions length_approved LENGTH_NOT_APPROVED"],
  ],
  [
    "a vector of no stated length",
    embedding(0),
    ["embedding-dimensions length_stated LENGTH_NOT_STATED"],
  ],
  [
    "a vector in a workspace that has no lengths",
    { ...embedding(256), workspace: { ...workspace, id: "other" } },
    ["embedding-dimensions length_approved NO_LENGTH_APPROVED"],
  ],
];

describe("the policy library", () => {
  let compiled: CompiledPolicies;
  let set: PolicySet;

  beforeAll(async () => {
    compiled = await compilePolicies(library, { cache: null, toolchain });
    set = await createPolicySet(compiled, [], data);
  }, 60_000);

  const refused = (changes: Partial<PolicyInput>): readonly string[] =>
    set
      .evaluate(ordinaryInput(changes))
      .verdicts.filter(({ verdict }) => verdict !== "pass")
      .map(({ policy: { id }, constraint, reason, failing }) =>
        [id, constraint, reason, ...(failing.length === 0 ? [] : [failing.join("+")])].join(" "),
      );

  test("compiles without a finding, alone and beside the active policies", async () => {
    expect(compiled.diagnostics).toEqual([]);
    expect(compiled.policies.map(({ contract }) => contract.id)).toEqual(idsOf(library).toSorted());
    const together = await compilePolicies([...active, ...library], { cache: null, toolchain });
    expect(together.diagnostics).toEqual([]);
    expect(together.policies.length).toBe(idsOf(active).length + compiled.policies.length);
  });

  test("needs no library file: a policy can be copied alone", () => {
    expect(compiled.policies.filter(({ sources }) => sources.length > 1)).toEqual([]);
  });

  test("is formatted", async () => {
    expect((await toolchain.format({ modules: library })).modules).toEqual(library);
  });

  test("passes its tests, which cover every line, every verdict and every reason", async () => {
    const argv = ["test", "--dir", "policy-library", "--strict", "--threshold", "100"];
    const { code, stdout, stderr } = await runCommand(policy, argv, { cwd: fileURLToPath(root) });
    expect(`${stdout}${stderr}`).toContain(" passed");
    expect(code).toBe(0);
  });

  test.for<readonly [string, Partial<PolicyInput>]>([
    ["an ordinary request", {}],
    ["tools and structured output", needing("tools", "json_schema")],
    [
      "every modality with its label",
      {
        ...labelled("audio", "files", "images", "video"),
        ...needing("audio_output", "file_input", "image_output", "video_input"),
      },
    ],
    ["effort at the ceiling", effort("medium")],
    [
      "effort that a label of the workspace allows",
      { ...effort("high"), ...labelled("reasoning-high") },
    ],
    [
      "effort that a label of the key allows",
      { ...effort("max"), key: { ...key, labels: ["reasoning-max"] } },
    ],
    ["an approved vector length", embedding(1024)],
    ["office hours in the morning", { ...labelled("office-hours"), ...at("tuesday", 8) }],
    ["off-peak work at night", { ...labelled("off-peak"), ...at("monday", 3) }],
  ])("lets pass: %s", ([, changes]) => {
    expect(refused(changes)).toEqual([]);
  });

  test.for(refusals)("refuses %s", ([, changes, expected]) => {
    expect(refused(changes)).toEqual(expected);
  });

  test("every reason of every constraint has a refused request in this test", () => {
    const given = new Set(
      refusals.flatMap(([, , lines]) => lines.map((line) => line.split(" ").slice(0, 3).join(" "))),
    );
    const declared = compiled.policies.flatMap(({ contract: { id, constraints } }) =>
      constraints.flatMap(({ name, reasons }) =>
        reasons.map((reason) => `${id} ${name} ${reason}`),
      ),
    );
    expect(declared.filter((line) => !given.has(line))).toEqual([]);
  });

  test.for(WEEKDAYS.flatMap((day) => [0, 7, 8, 17, 18, 23].map((hour) => [day, hour] as const)))(
    "%s at %d:00 is in exactly one window",
    ([day, hour]) => {
      const closed = ["office-hours", "off-peak"].filter(
        (label) => refused({ ...labelled(label), ...at(day, hour) }).length > 0,
      );
      expect(closed.length).toBe(1);
    },
  );
});

test("docs/policy-reference.md has a row for every policy shipped with Signalbox", () => {
  const rows = [
    ...readText("docs/policy-reference.md").matchAll(/^\| `([a-z-]+)` \|(?: [^|]{20,} \|){3}$/gm),
  ];
  expect(rows.map(([, id = ""]) => id).toSorted()).toEqual(
    [...idsOf(active), ...idsOf(library)].toSorted(),
  );
  expect(rows.length).toBeGreaterThanOrEqual(10);
});
