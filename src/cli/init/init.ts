import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { PRESET_NAMES } from "../../compile/presets.ts";
import { createFiles, fileBelow, type FileToWrite } from "../policy/write-file.ts";
import { listItems, readWorkspaceName } from "../terminal/arguments.ts";
import { asTyped, shownPath } from "../terminal/as-typed.ts";
import { CommandError, EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { packagedText } from "../terminal/package.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { type InitAnswers, planInit } from "./plan.ts";
import { INIT_POLICIES, routesText } from "./routes-text.ts";

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
  providers: { type: "string" },
  workspace: { type: "string" },
  regions: { type: "string" },
  "no-training": { type: "boolean", default: false },
  yes: { type: "boolean", default: false },
} as const;

/** Puts one question on the terminal; gives the line. */
export type Ask = (question: string) => Promise<string>;

/**
 * `signalbox init`; gives the exit code. @param ask how questions are put on a terminal
 * (`io.terminal`).
 */
export function init(
  argv: readonly string[],
  io: CommandIo,
  ask: Ask = askOnTerminal,
): Promise<number> {
  return runFlagCommand(
    { name: "init", help: INIT_HELP, flags: FLAGS },
    argv,
    io,
    async ({ values, positionals }) => {
      const [directory = ".", ...others] = positionals;
      if (others.length > 0)
        throw new UsageError(`DIRECTORY: give one folder at most${asTyped(positionals)}`);
      const isInteractive = io.terminal === true && !values.yes;
      const answer = async (given: string | undefined, question: string): Promise<string> =>
        given ?? (isInteractive ? (await ask(question)).trim() : "");
      const known = `Providers, separated by commas (${PRESET_NAMES.join(", ")}): `;
      const plan = planInit(
        readAnswers({
          providers: await answer(values.providers, known),
          workspace: await answer(values.workspace, `Workspace (${DEFAULT_WORKSPACE}): `),
          regions: await answer(values.regions, "Regions wanted, such as eu (anywhere): "),
          noTraining: await answer(
            values["no-training"] ? "yes" : undefined,
            "Do your contracts exclude that they train on requests? yes or no (no): ",
          ),
        }),
      );
      const folder = resolve(io.cwd, directory);
      await write(folder, shownPath(io.cwd, folder), routesText(plan), io);
      if (plan.trainsOnData) io.stdout(TRAINING);
      return EXIT.ok;
    },
  );
}

async function askOnTerminal(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } catch {
    // Ctrl-C and the end of the input come as errors.
    throw new CommandError("nothing was written: the questions were not answered");
  } finally {
    lines.close();
  }
}

type Given = Readonly<Record<"providers" | "workspace" | "regions" | "noTraining", string>>;

function readAnswers(given: Given): InitAnswers {
  const providers = [...new Set(listItems(given.providers))];
  if (providers.length === 0)
    throw new UsageError("--providers: is missing; give it, such as --providers openai,anthropic");
  const workspace = readWorkspaceName(given.workspace === "" ? DEFAULT_WORKSPACE : given.workspace);
  const regions = listItems(given.regions);
  if (!regions.every((region) => /^[a-z0-9][a-z0-9_-]{0,62}$/.test(region))) {
    throw new UsageError("--regions: must be regions or areas, separated by commas, such as eu,us");
  }
  const noTraining = given.noTraining.toLowerCase();
  if (!["", "no", "n", "yes", "y"].includes(noTraining))
    throw new UsageError("--no-training: answer yes or no");
  return { providers, workspace, regions, trainsOnData: !noTraining.startsWith("y") };
}

/**
 * Schemas for editors (docs/editor.md). Outside of `policies`, where `opa` would take them for
 * data.
 */
const EDITOR_SCHEMAS = ["routes", "routes-part", "routes-overlay", "assertions", "input"].map(
  (name) => `${name}.schema.json`,
);

async function write(folder: string, shown: string, routes: string, io: CommandIo): Promise<void> {
  const copies = [
    ".regal/config.yaml",
    "policies/lib/workspace.rego",
    ...INIT_POLICIES.flatMap((id) => [`policies/${id}.rego`, `policies/${id}_test.rego`]),
  ];
  const fileAt = (name: string, text: string): FileToWrite =>
    fileBelow({ path: folder, shown }, name, text);
  const hasIgnore = existsSync(join(folder, ".gitignore"));
  const files = [
    fileAt("routes.yaml", routes),
    ...(await Promise.all(
      EDITOR_SCHEMAS.map(async (name) => fileAt(name, await packagedText(`schemas/${name}`))),
    )),
    ...(await Promise.all(copies.map(async (name) => fileAt(name, await packagedText(name))))),
    ...(hasIgnore ? [] : [fileAt(".gitignore", IGNORED)]),
  ];
  await createFiles(files);
  for (const file of files) io.stdout(`wrote ${file.shown}\n`);
  if (hasIgnore)
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
