import { CONSTRAINT_EFFECTS, type ConstraintEffect } from "../../canon/policy.ts";
import { CONTRACT_SCHEMA } from "../../policy/contract/contract-schema.ts";
import { classifySources } from "../../policy/contract/sources.ts";
import { shellArgument } from "../../simulate/explain/explain-arguments.ts";
import { listItems, onlyArgument, readValue } from "../terminal/arguments.ts";
import { EXIT, UsageError, type CommandIo } from "../terminal/command-io.ts";
import { runFlagCommand } from "../terminal/run.ts";
import { DEFAULT_DIRECTORY, directoryOf } from "./policy-folder.ts";
import { exampleTitle, policyTexts } from "./template.ts";
import { createFiles, fileBelow } from "./write-file.ts";

const DEFAULT_OWNER = "group:platform";

const HELP = `Usage: signalbox policy new ID [options]

Writes ID.rego and ID_test.rego: an example of the effect that compiles and passes its tests, to be changed.
The id is kebab-case, such as eu-residency. It cannot be changed later.

  --effect EFFECT     gate: pass or deny the request (default)
                      require_all: one candidate that does not pass denies the request
                      filter: candidates that do not pass are left out
  --owner A,B         its owners, such as group:privacy (default: ${DEFAULT_OWNER})
  --title TEXT        one line with what it requires (default: that of the example)
  --dir DIRECTORY     folder of the policies (default: ${DEFAULT_DIRECTORY}); created if it is missing
  --help              this text

Exit codes: 0 written, 1 not written, 2 usage.
`;

const FLAGS = {
  dir: { type: "string", default: DEFAULT_DIRECTORY },
  owner: { type: "string", default: DEFAULT_OWNER },
  title: { type: "string" },
  effect: { type: "string", default: "gate" },
} as const;

export function newPolicy(argv: readonly string[], io: CommandIo): Promise<number> {
  return runFlagCommand({ name: "policy new", help: HELP, flags: FLAGS }, argv, io, async ({ values, positionals }) => {
    const id = readId(positionals);
    const effect = readEffect(values.effect);
    const owners = readOwners(values.owner);
    const { policy, test } = policyTexts({ id, effect, owners, title: readTitle(values.title, effect) });
    const folder = directoryOf(io, values.dir);
    const { shown } = folder;
    const files = [fileBelow(folder, `${id}.rego`, policy), fileBelow(folder, `${id}_test.rego`, test)];
    await createFiles(files);
    const elsewhere = shown === DEFAULT_DIRECTORY ? "" : ` --dir ${shellArgument(shown)}`;
    io.stdout(files.map((written) => `${written.shown}\n`).join(""));
    io.stdout(`\nThe owner is ${owners.join(", ")}. Change the rule and its tests, then run:\n`);
    io.stdout(`  signalbox policy test --coverage${elsewhere}\n`);
    return EXIT.ok;
  });
}

/** The rule for file names is the rule for ids. */
function readId(positionals: readonly string[]): string {
  const id = onlyArgument(positionals, "ID");
  const [file] = classifySources([{ path: `${id}.rego`, text: "" }]).files;
  if (file?.kind !== "policy" || file.name !== id) {
    throw new UsageError(
      "ID: must be kebab-case: words of a-z and 0-9 that begin with a letter, joined by -, at most 64 characters, not ending in -test; such as eu-residency",
    );
  }
  return id;
}

function readEffect(value: string): ConstraintEffect {
  return readValue("--effect", value, CONSTRAINT_EFFECTS);
}

function readOwners(value: string): readonly string[] {
  const owners = listItems(value);
  const { pattern, description } = CONTRACT_SCHEMA.properties.owners.items;
  const owner = new RegExp(pattern, "u");
  if (owners.length === 0 || !owners.every((one) => owner.test(one))) {
    throw new UsageError(`--owner: must be ${description}`);
  }
  return [...new Set(owners)];
}

/** Characters; the contract's own limit. */
const LONGEST_TITLE = 200;

/** A title stands in a comment: a line feed in it would end the METADATA block. */
function readTitle(value: string | undefined, effect: ConstraintEffect): string {
  if (value === undefined) return exampleTitle(effect);
  const title = value.trim();
  if (title === "" || title.length > LONGEST_TITLE || /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(title)) {
    throw new UsageError(
      `--title: must be one line of 1 to ${LONGEST_TITLE} printable characters, such as "Requests stay in the European Union"`,
    );
  }
  return title;
}
