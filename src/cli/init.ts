import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { stringify } from "yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import { CommandError, UsageError, type CommandIo } from "./terminal/command-io.ts";
import {
  ID_FORM,
  givenText,
  defaultFlags,
  textFlags,
  listItems,
  readWorkspaceName,
  flagCommand,
  shownPath,
} from "./terminal/command-line.ts";
import { groupOf } from "./import/configuration/provider-location.ts";
import { packagedText } from "./terminal/process.ts";
import { createFiles, fileBelow } from "./terminal/write-file.ts";
import { suggest } from "../compile/authored/literal-secrets.ts";
import { PRESET_NAMES, presetOf, type Preset } from "../compile/presets.ts";
import { listedPrice, PRICE_LIST } from "../compile/prices.ts";

const DEFAULT_WORKSPACE = "demo";

const INIT_HELP = `Usage: signalbox init [DIRECTORY] [options]

Writes a commented routes.yaml with the providers chosen, schemas for editors, and three policies with their tests.
On a terminal, prompts for values that no flag gives. Overwrites nothing: if one of the files exists already, none is written
(an existing .gitignore is kept).

  DIRECTORY           where to write (default: .); created if it is missing
  --providers A,B     presets, such as openai,anthropic; docs/presets.md lists them
  --workspace NAME    the first tenant (default: ${DEFAULT_WORKSPACE})
  --regions A,B       regions or areas wanted, such as eu (default: each provider's global address, else its first)
  --no-training       declares that, by your contracts, the providers do not train on requests
  --yes               no questions; without --no-training, trains_on_data: true is written
  --help              this text

Exit codes: 0 written, 1 not written, 2 usage.
`;

const FLAGS = {
  ...textFlags("providers", "workspace", "regions"),
  ...defaultFlags({ "no-training": false, yes: false }),
};

export const init = flagCommand(
  { name: "init", help: INIT_HELP, flags: FLAGS },
  async (values, io, positionals) => {
    const [directory = ".", ...others] = positionals;
    if (others.length > 0)
      throw new UsageError(`DIRECTORY: give one folder at most${givenText(positionals)}`);
    const isInteractive = io.terminal === true && !values.yes;
    const { ask = askOnTerminal } = io;
    const answer = async (option: string | undefined, question: string): Promise<string> =>
      option ?? (isInteractive ? (await ask(question)).trim() : "");
    const answers = readAnswers({
      providers: await answer(
        values.providers,
        `Providers, separated by commas (${PRESET_NAMES.join(", ")}): `,
      ),
      workspace: await answer(values.workspace, `Workspace (${DEFAULT_WORKSPACE}): `),
      regions: await answer(values.regions, "Regions wanted, such as eu (anywhere): "),
      noTraining: await answer(
        values["no-training"] ? "yes" : undefined,
        "Do your contracts exclude that they train on requests? yes or no (no): ",
      ),
    });
    const folder = resolve(io.cwd, directory);
    await write(folder, shownPath(io.cwd, folder), routesText(answers), io);
    if (answers.trainsOnData) io.stdout(TRAINING);
  },
);

async function askOnTerminal(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } catch {
    // Ctrl-C and the end of the input are errors of readline.
    throw new CommandError("nothing was written: the questions were not answered");
  } finally {
    lines.close();
  }
}

type AnswerTexts = Readonly<Record<"providers" | "workspace" | "regions" | "noTraining", string>>;

function readAnswers(texts: AnswerTexts) {
  /** Names of presets, in the order of the answer. */
  const providers = [...new Set(listItems(texts.providers))];
  if (providers.length === 0)
    throw new UsageError("--providers: is missing; give it, such as --providers openai,anthropic");
  const workspace = readWorkspaceName(texts.workspace === "" ? DEFAULT_WORKSPACE : texts.workspace);
  /** Regions or areas; none: the widest address of each provider. */
  const regions = listItems(texts.regions);
  if (!regions.every((region) => ID_FORM.test(region)))
    throw new UsageError("--regions: must be regions or areas, separated by commas, such as eu,us");
  const noTraining = texts.noTraining.toLowerCase();
  if (!["", "no", "n", "yes", "y"].includes(noTraining))
    throw new UsageError("--no-training: answer yes or no");
  return { providers, workspace, regions, trainsOnData: !noTraining.startsWith("y") };
}

/** Policies of a new folder, copied from this release. */
export const INIT_POLICIES = ["data-retention", "eu-residency", "tool-approval"] as const;

/**
 * Schemas for editors (docs/editor.md). Outside of `policies`, where `opa` would take them for
 * data.
 */
const EDITOR_SCHEMAS = ["routes", "routes-part", "routes-overlay", "assertions", "input"].map(
  (name) => `${name}.schema.json`,
);

async function write(folder: string, shown: string, routes: string, io: CommandIo) {
  const copies = [
    ".regal/config.yaml",
    "policies/lib/workspace.rego",
    ...INIT_POLICIES.flatMap((id) => [`policies/${id}.rego`, `policies/${id}_test.rego`]),
  ];
  const hasGitignore = existsSync(join(folder, ".gitignore"));
  const texts: (readonly [name: string, text: string | Promise<string>])[] = [
    ["routes.yaml", routes],
    ...EDITOR_SCHEMAS.map((name) => [name, packagedText(`schemas/${name}`)] as const),
    ...copies.map((name) => [name, packagedText(name)] as const),
    ...(hasGitignore ? [] : [[".gitignore", IGNORED] as const]),
  ];
  const files = await Promise.all(
    texts.map(async ([name, text]) => fileBelow({ path: folder, shown }, name, await text)),
  );
  await createFiles(files);
  for (const file of files) io.stdout(`wrote ${file.shown}\n`);
  if (hasGitignore)
    io.stdout("add .signalbox/ to .gitignore: it has the store and compiled policies\n");
  const [at, config] = shown === "." ? ["", ""] : [` ${shown}`, ` --config ${shown}/routes.yaml`];
  io.stdout(`
Next:
  signalbox check${at}
  signalbox serve --demo${config}
serve --demo prints a key and a first request. The simulated provider answers until the secrets of routes.yaml are set.
`);
}

const TRAINING = `
Until rows of routes.yaml have \`trains_on_data: false\`, as your contracts allow, only requests with
"provider": {"data_collection": "allow"} are served.
`;

const IGNORED =
  "# The store and compiled policies.\n.signalbox/\n# Never put secrets into routes.yaml. Keep files with secrets out of git.\n.env\n";

/** @throws {UsageError} that names the nearest one. */
export function readPreset(flag: string, name: string): Preset {
  const preset = presetOf(name);
  if (preset !== undefined) return preset;
  throw new UsageError(
    `${flag}: there is no such preset; ${suggest(name, PRESET_NAMES)}; docs/presets.md lists all`,
  );
}

/** The chosen regions of a preset; the widest where none was chosen. @throws {UsageError} */
function regionsFor(
  name: string,
  { regions, address = "", region: fixed = "global" }: Preset,
  wantedRegions: readonly string[],
): readonly string[] {
  const fits = (region: string) =>
    wantedRegions.includes(region) || wantedRegions.includes(groupOf(region));
  if (regions === undefined) {
    // The host has its region in its name, or has no region.
    if (wantedRegions.length === 0 || fits(fixed)) return [fixed];
    if (!address.includes(fixed)) return wantedRegions.slice(0, 1);
    throw new UsageError(
      `--regions: the address of ${name} is in ${fixed}; add it, or write the row by hand`,
    );
  }
  const all = Object.keys(regions);
  if (wantedRegions.length === 0) return ["global" in regions ? "global" : (all[0] ?? "global")];
  const found = all.filter(fits);
  if (found.length === 0) {
    if (all.every((region) => region === "on-premises")) return all;
    throw new UsageError(
      `--regions: ${name} has no address there, but in ${all.join(", ")}; add one of them, or leave the provider out`,
    );
  }
  // One region of an area is enough at first.
  const byArea = new Map(found.toReversed().map((region) => [groupOf(region), region]));
  return found.filter(
    (region) => byArea.get(groupOf(region)) === region || wantedRegions.includes(region),
  );
}

/** The rows of one provider. Adds the sample model of its preset to `models`. */
function providerRows(
  name: string,
  preset: Preset,
  region: string,
  models: Map<string, JsonObject>,
) {
  const id = region === "global" || region === "on-premises" ? name : `${name}-${region}`;
  const { sample, provider, title, regions, address = "" } = preset;
  const earlier = models.get(sample.model) ?? sample.row;
  const isSameModel = JSON.stringify(earlier) === JSON.stringify(sample.row);
  const model = isSameModel ? sample.model : `${sample.model}-${name}`;
  models.set(model, sample.row);
  const area = groupOf(region);
  const profile = sample.profiles?.[area];
  const upstream = profile ?? sample.upstream_model ?? "";
  const price = listedPrice(PRICE_LIST, name, regions?.[region] ?? address, upstream)?.price;
  const row = {
    id: endpointId(sample.model, id),
    model,
    provider: id,
    ...(profile !== undefined && { region: area }),
    upstream_model: upstream,
    ...(price !== undefined && { price: { ...price } }),
    ...(sample.batch !== undefined && { batch: sample.batch }),
  };
  const { auth } = provider;
  return {
    id,
    row,
    isGenerating: listOf(sample.row.operations).includes("generate"),
    /** Of the provider, and of the endpoint. */
    regions: [region, profile === undefined ? region : area],
    /** The row of the provider. @param trainsOnData by contract. */
    text: (trainsOnData: boolean) =>
      [
        `  # ${title}`,
        `  ${flow(id)}:`,
        `    preset: ${name}`,
        `    region: ${region}`,
        ...(regions === undefined
          ? [
              "    # Replace the parts in capitals by the names of your account.",
              `    base_url: ${address}`,
            ]
          : []),
        `    trains_on_data: ${trainsOnData}`,
        ...(isJsonObject(auth)
          ? [`    auth: ${flow({ ...auth, on_missing_secret: "simulate" })}`]
          : []),
      ].join("\n"),
  };
}

/**
 * Model and provider in one name, without the provider's first parts that the model's name has:
 * `mistral-medium` at `mistral-eu` is `mistral-medium-eu`.
 */
function endpointId(model: string, provider: string): string {
  const parts = provider.split("-");
  const first = parts.findIndex((part) => !model.split("-").includes(part));
  return [model, ...(first === -1 ? [] : parts.slice(first))].join("-");
}

/**
 * A commented routes.yaml.
 *
 * @throws {UsageError} for a preset that does not exist, and for a region where a provider has no
 * address; with those that exist.
 */
function routesText(answers: ReturnType<typeof readAnswers>): string {
  const models = new Map<string, JsonObject>();
  const rows = answers.providers.flatMap((name) => {
    const preset = readPreset("--providers", name);
    return regionsFor(name, preset, answers.regions).map((region) =>
      providerRows(name, preset, region, models),
    );
  });
  const regions = new Set([0, 1].flatMap((index) => rows.map((one) => one.regions[index] ?? "")));
  // A route whose endpoints have prices in part is reported by `check` (PRICE_GAP).
  const hasUnpriced = rows.some(({ isGenerating, row }) => isGenerating && row.price === undefined);
  const endpoints = rows.map(({ row, isGenerating }) =>
    Object.fromEntries(
      Object.entries(row).filter(([key]) => key !== "price" || !hasUnpriced || !isGenerating),
    ),
  );
  // One route for all models that generate; one for each other model, since only models of its kind
  // can replace it.
  const routes = Map.groupBy(rows, ({ isGenerating, row }) => (isGenerating ? "chat" : row.model));
  const memberValues = (member: string): readonly JsonValue[] => [
    ...new Set([...models.values()].flatMap((model) => listOf(model[member]))),
  ];
  const dimensions = memberValues("dimensions");
  const windows = [...models.values()].flatMap(({ context_window: window }) =>
    typeof window === "number" ? [window] : [],
  );
  const approve = {
    routes: [...routes.keys()],
    regions: [...regions],
    providers: rows.map(({ id }) => id),
    capabilities: memberValues("capabilities"),
    ...(dimensions.length > 0 && { dimensions }),
    ...(dimensions.length > 0 && windows.length > 0 && { context_window: Math.max(...windows) }),
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
${[...Map.groupBy(regions, groupOf)].map(([area, names]) => `  ${area}: ${flow(names)}`).join("\n")}

# A preset gives protocol, address and flags; \`signalbox check\` prints the resolved values. Keys written here replace its keys.
# \`trains_on_data\` is what you gave init: check your contracts. A provider that may train gets only requests with
# \`"provider": {"data_collection": "allow"}\`. Add \`retention\` too; left out, the longest is assumed.
# \`on_missing_secret: simulate\` lets the simulated provider answer until the secret is set. Remove it in production.
providers:
${rows.map(({ text }) => text(answers.trainsOnData)).join("\n\n")}

# What a model can do wherever it is served. A request that needs a capability not listed here is refused by name.
models:
${[...models].map(([id, row]) => `  ${flow(id)}: ${flow(row)}`).join("\n")}

# One model at one provider. Prices are US dollars per million tokens: list prices of ${PRICE_LIST.date}, which \`signalbox prices\` compares.
# An endpoint without \`price\` has the list price of its preset. Add \`price: { input: …, output: … }\` where the list has none and budgets need it.
endpoints:
${endpoints.map((row) => `  - ${flow(row)}`).join("\n")}

# The names that clients write as \`model\`. With \`on_gap: narrow\` a fallback that lacks something is left out for that request.
routes:
${[...routes].map(([name, group]) => `  ${flow(name)}: ${flow(routeRow(group.map(({ row }) => row.id)))}`).join("\n")}

# What each tenant may use. Whatever is not approved here is denied, before any policy is evaluated.
workspaces:
  ${flow(answers.workspace)}:
    tier: standard
    approve:
${Object.entries(approve)
  .map(([name, value]) => `      ${name}: ${flow(value)}`)
  .join("\n")}
    limits: { requests_per_minute: 600, concurrency: 50 }

# Rego policies in policies/, each with its tests. In shadow a policy is evaluated and recorded, and denies nothing; a promotion enforces it.
policies:
  initial_mode: { eu-residency: enforce, "*": shadow }
  managed_by: ${flow([answers.workspace])}

# Labels that keys and workspaces may have and policies can read: eu-residency reads \`eu\`, tool-approval the other two.
vocabulary:
  labels: [eu, tools, hosted-tools]
`;
}

function routeRow([primary = "", ...fallbacks]: readonly string[]): JsonObject {
  return { primary, ...(fallbacks.length > 0 && { fallbacks, on_gap: "narrow" }) };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value)
    ? value.flatMap((item: JsonValue | undefined) => (item === undefined ? [] : [item]))
    : [];
}

/** A value in YAML's flow style, on one line: `{ bearer: { env: NAME } }`. */
function flow(value: JsonValue) {
  return stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trimEnd();
}
