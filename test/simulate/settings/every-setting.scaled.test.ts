import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { compileTable } from "../../../src/compile/compile-table.ts";
import { routesSchema } from "../../../src/compile/routes-schema.ts";
import type { SettingChange } from "../../../src/simulate/report/report.ts";
import type { ReportedSide } from "../../../src/simulate/request.ts";
import { changedSettings } from "../../../src/simulate/settings/changed-settings.ts";
import {
  SETTING_EFFECTS,
  type SettingEffect,
} from "../../../src/simulate/settings/setting-effect.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { positionsToCut } from "../../support/long.ts";
import { compiledSources, simulate } from "../small-sides.ts";
import { leavesOf, type Leaf, type Pattern } from "./schema-leaves.ts";
import { WHOLE_FILE } from "./whole-file.ts";

const SCHEMA = routesSchema(Object.keys(DIALECTS).toSorted());
// A secret is of an environment variable or of a file; there is one console and one webhook.
const LEAVES = leavesOf(JSON.parse(JSON.stringify(SCHEMA)) as Record<string, unknown>).filter(
  ({ pattern }) =>
    !["console.oidc.client_secret.file", "alerts.secret.file"].includes(pattern.join(".")),
);
const WHOLE: unknown = parse(WHOLE_FILE);
const BASE = baseOf(sideOf(WHOLE));

/** Of values that name something: another name that is there, or that may be. */
const OTHERS: Readonly<Record<string, readonly unknown[]>> = {
  include: [["other/*.yaml"]],
  base_url: [
    "https://elsewhere.example/v1",
    "https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1",
  ],
  api_version: ["2025-01-01"],
  id: ["spare-2"],
  model: ["large", "claude"],
  provider: ["open", "beta", "alpha"],
  region: ["eu-central", "us-east", "eu-west"],
  preset_region: ["eu-west-3"],
  primary: ["large-o", "judge-a", "large-g"],
  peers: [["large-o"]],
  fallbacks: [["large-g"]],
  flags: [["no_stream_options"], []],
  beta_flags: [["files-api-2025-04-14"], ["context-management-2025-06-27"], []],
  default_dimensions: [512],
  context_window: [9000, 64000],
  default_moderation_route: ["judge-2"],
  title: ["Some provider"],
  operations: [["generate", "moderate"], ["moderate"], ["rerank"]],
  upstream_model: ["large-9"],
  tier: ["regulated"],
  path: ["/health"],
  header: ["x-other-key"],
  prefix: ["Key "],
  service: ["bedrock-mantle", "other"],
  profile: ["second"],
  env: ["OTHER_KEY"],
  file: ["other.key"],
  scopes: [["https://www.googleapis.com/auth/other"]],
  managed_by: [["acme", "retail"]],
  roles: [["eu"], []],
  soak: ["12h"],
  dir: ["rules"],
  environments: [["production"]],
  workloads: [["batch"]],
  owners: [["group:payments"]],
  time_zone: ["America/New_York"],
  labels: [["eu", "reviewer", "us"], ["eu", "reviewer"], ["reviewer"]],
  efforts: [["low"], ["low", "medium", "high"]],
  refuses: [[]],
  accepts: [["top_k"], []],
  denial_link: ["https://wiki.example/policies/{policy}"],
  url: ["https://console.example"],
  issuer: ["https://idp.example/realms/other"],
  client_id: ["console"],
  group: ["on-call"],
  workspaces: [["retail"], ["acme", "retail"]],
  issued_by: ["ci"],
  audience: ["signalbox-2"],
  claims: ["repo:shop/app"],
  workspace: ["retail"],
  workload: ["web"],
  environment: ["development"],
  owner: ["group:search"],
  jwks_uri: ["https://cluster.example/other"],
  jwks_file: ["keys/other.json"],
};

test("the example has a value at every leaf of the schema of routes.yaml", () => {
  const absent = LEAVES.filter(({ pattern }) => pathsOf(WHOLE, pattern).length === 0);
  expect(absent.map(({ pattern }) => pattern.join("."))).toEqual([]);
  expect(LEAVES.length).toBeGreaterThan(100);
});

// No file of another version compiles.
const CHANGEABLE = LEAVES.filter(({ pattern }) => pattern.join(".") !== "version");

test.each(CHANGEABLE.map((leaf) => [leaf.pattern.join("."), leaf] as const))(
  "a changed %s is reported",
  (_, leaf) => {
    const { path, before, after, head } = changeOf(leaf);
    const items = changedSettings(BASE, head, { newPolicies: null, samePolicies: true });
    expect(items.length).toBeGreaterThan(0);
    const own = items.filter((item) => isAbout(item, path));
    expect(own.length, JSON.stringify(items)).toBeGreaterThan(0);
    for (const item of own) {
      expect(item.before).not.toBe(item.after);
      expect(item.location).not.toBeNull();
      expect(SETTING_EFFECTS).toHaveProperty(item.effect);
      expect(lineOf(item, head)).toMatch(lineWith(leaf.pattern, item));
    }
    expect(JSON.stringify(before)).not.toBe(JSON.stringify(after));
  },
);

/** Effects of settings that some class of requests may show. */
const SHOWN: readonly SettingEffect[] = ["decides", "price", "vocabulary"];

test.each(
  positionsToCut(CHANGEABLE.length, 8).flatMap((index) => {
    const leaf = CHANGEABLE[index];
    return leaf === undefined ? [] : [[leaf.pattern.join("."), leaf] as const];
  }),
)(
  "a changed %s changes decisions only in its declared scope",
  { timeout: 60_000 },
  async (_, leaf) => {
    const policies = await compiledSources([]);
    const report = await simulate({ ...BASE, policies }, { ...changeOf(leaf).head, policies });
    expect(report.changed_settings.length).toBeGreaterThan(0);
    if (report.changed_settings.some(({ effect }) => SHOWN.includes(effect))) return;
    expect(report.declared.changed_classes).toBe(0);
  },
);

/** The line that an item names, in the file of its side. */
function lineOf({ location }: SettingChange, head: ReportedSide): string {
  const { text } = (location?.side === "base" ? BASE : head).files.routes;
  return text.split("\n")[(location?.line ?? 0) - 1] ?? "";
}

/** The line of the key, of the item that a list gained, or of the preset that gives the value. */
function lineWith(pattern: Pattern, { path }: SettingChange): RegExp {
  const name = pattern.at(-1) ?? "";
  if (name === "*") return /^ +["\w*-]+:|^ +- /;
  return new RegExp(`^ *(?:- )?(?:${name}|${path.split(".").at(-1)}|preset|id):|^ *- `);
}

function isAbout({ path }: SettingChange, at: Path): boolean {
  const names = at.map((name, index) =>
    typeof name === "number" && at[index - 1] === "endpoints" ? idOf(name) : String(name),
  );
  const text = names.join(".");
  // Rows that come and go are items of their own; a list of a map's members is one item.
  return (
    path === text ||
    text.startsWith(`${path}.`) ||
    path.startsWith(`${text}.`) ||
    path === "endpoints.spare-2" ||
    isOfPreset(path, at)
  );
}

/** What a preset gives is compared, not its name. */
function isOfPreset(path: string, [section, id, key]: Path): boolean {
  return String(key).startsWith("preset") && path.startsWith(`${section}.${id}.`);
}

function idOf(index: number): string {
  return (WHOLE as { endpoints: readonly { id: string }[] }).endpoints[index]?.id ?? "";
}

type Path = readonly (string | number)[];

/** The first change of a leaf that makes another file without errors. */
function changeOf({ pattern, schema }: Leaf): {
  readonly path: Path;
  readonly before: unknown;
  readonly after: unknown;
  readonly head: ReportedSide;
} {
  const errors: string[] = [];
  for (const path of pathsOf(WHOLE, pattern)) {
    const before = valueAt(WHOLE, path);
    for (const after of candidates(before, pattern, schema)) {
      if (JSON.stringify(after) === JSON.stringify(before)) continue;
      const head = sideOf(changed(path, after));
      if (typeof head !== "string") return { path, before, after, head };
      errors.push(`${JSON.stringify(after)}: ${head}`);
    }
  }
  throw new Error(`no change of ${pattern.join(".")} compiles\n${errors.join("\n")}`);
}

function* candidates(before: unknown, pattern: Pattern, schema: Leaf["schema"]): Generator {
  const key = pattern.findLast((name) => name !== "*" && name !== "[]") ?? "";
  if (Object.hasOwn(OTHERS, key)) yield* OTHERS[key] ?? [];
  const values = (Reflect.get(schema, "enum") ?? []) as readonly unknown[];
  if (Array.isArray(before)) {
    yield before.slice(0, -1);
    yield before.slice(1);
    return;
  }
  yield* values;
  if (typeof before === "boolean") yield !before;
  if (typeof before === "number") yield* [before + 1, before - 1, before / 10, before * 2];
  if (typeof before === "string" && /^\d+(ms|s|m|h)$/.test(before)) yield* ["7s", "3m", "11m"];
  // Absent.
  yield undefined;
}

function pathsOf(value: unknown, [name, ...rest]: Pattern): readonly Path[] {
  if (name === undefined) return [[]];
  if (typeof value !== "object" || value === null) return [];
  const names = Array.isArray(value)
    ? name === "[]"
      ? value.map((_, index) => index)
      : []
    : name === "*"
      ? Object.keys(value)
      : Object.hasOwn(value, name)
        ? [name]
        : [];
  return names.flatMap((own) =>
    pathsOf(Reflect.get(value, own), rest).map((path) => [own, ...path]),
  );
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, name) => Reflect.get(at as object, name), value);
}

function changed(path: Path, value: unknown): unknown {
  const copy = structuredClone(WHOLE) as object;
  const owner = valueAt(copy, path.slice(0, -1)) as object;
  const name = path.at(-1) ?? "";
  if (value === undefined) Reflect.deleteProperty(owner, name);
  else Reflect.set(owner, name, value);
  return copy;
}

function baseOf(side: ReportedSide | string): ReportedSide {
  if (typeof side === "string") throw new Error(side);
  return side;
}

/** A file as one side of a comparison, or why it does not compile. */
function sideOf(value: unknown): ReportedSide | string {
  const routes = { path: "routes.yaml", text: stringify(value) };
  const { table, diagnostics } = compileTable(routes, { policies: [] });
  if (table === null)
    return diagnostics.find(({ severity }) => severity === "error")?.message ?? "no error";
  return { name: ".", commit: null, table, files: { routes, policies: [] }, warnings: [] };
}
