import { CONSTRAINT_EFFECTS, type ConstraintEffect } from "../../canon/policy.ts";
import { CONTRACT_SCHEMA } from "../../policy/contract/contract.ts";
import { classifySources } from "../../policy/contract/sources.ts";
import { shellArgument } from "../../simulate/explain/explain-arguments.ts";
import { UsageError } from "../terminal/command-io.ts";
import {
  defaultFlags,
  flagCommand,
  listItems,
  onlyArgument,
  readValue,
  textFlags,
} from "../terminal/command-line.ts";
import { DEFAULT_DIRECTORY, directoryOf } from "./policy-folder.ts";
import { createFiles, fileBelow } from "../terminal/write-file.ts";
import { stringify } from "yaml";

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
  ...defaultFlags({ dir: DEFAULT_DIRECTORY, owner: DEFAULT_OWNER, effect: "gate" }),
  ...textFlags("title"),
};

export const newPolicy = flagCommand(
  { name: "policy new", help: HELP, flags: FLAGS },
  async (values, io, positionals) => {
    const id = readId(positionals);
    const effect = readValue("--effect", values.effect, CONSTRAINT_EFFECTS);
    const owners = readOwners(values.owner);
    const { policy, test } = policyTexts({
      id,
      effect,
      owners,
      title: readTitle(values.title, effect),
    });
    const folder = directoryOf(io, values.dir);
    const { shown } = folder;
    const files = [
      fileBelow(folder, `${id}.rego`, policy),
      fileBelow(folder, `${id}_test.rego`, test),
    ];
    await createFiles(files);
    const elsewhere = shown === DEFAULT_DIRECTORY ? "" : ` --dir ${shellArgument(shown)}`;
    io.stdout(files.map((file) => `${file.shown}\n`).join(""));
    io.stdout(`\nThe owner is ${owners.join(", ")}. Change the rule and its tests, then run:\n`);
    io.stdout(`  signalbox policy test --coverage${elsewhere}\n`);
  },
);

/** Ids follow the rule for file names. */
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

/** A line feed in the title would end the METADATA comment. */
function readTitle(value: string | undefined, effect: ConstraintEffect): string {
  if (value === undefined) return TEMPLATES[effect].title;
  const title = value.trim();
  if (
    title === "" ||
    title.length > LONGEST_TITLE ||
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(title)
  ) {
    throw new UsageError(
      `--title: must be one line of 1 to ${LONGEST_TITLE} printable characters, such as "Requests stay in the European Union"`,
    );
  }
  return title;
}

/** Parts of a new policy. */
interface NewPolicy {
  /** Kebab-case. */
  readonly id: string;
  /** One line. */
  readonly title: string;
  readonly owners: readonly string[];
  readonly effect: ConstraintEffect;
}

interface Template {
  /** Requirement of the rule below; default of the title. */
  readonly title: string;
  readonly constraint: string;
  readonly reasons: readonly string[];
  readonly rules: string;
  /**
   * The policy is imported as `policy`: under its own name it could hide a rule of the test or a
   * built-in.
   */
  readonly tests: string;
}

const RETENTION: Omit<Template, "title"> = {
  constraint: "retention_approved",
  reasons: ["RETENTION_NOT_APPROVED", "RETENTION_UNLIMITED"],
  rules: `# What passes. A candidate that is not in this set does not pass.
pass.retention_approved contains candidate.id if {
	some candidate in input.candidates
	candidate.retention == "none"
}

# A more precise reason than the first of the list, for one candidate that does not pass.
reason.retention_approved[candidate.id] := "RETENTION_UNLIMITED" if {
	some candidate in input.candidates
	candidate.retention == "unlimited"
}
`,
  tests: `candidates := [
	{"id": "keeps-nothing", "retention": "none"},
	{"id": "keeps-a-month", "retention": "days_30"},
	{"id": "keeps-for-ever", "retention": "unlimited"},
]

choosing(ids) := {"candidates": [candidate | some candidate in candidates; candidate.id in ids]}

test_what_keeps_nothing_passes if {
	policy.pass.retention_approved == {"keeps-nothing"} with input as choosing({"keeps-nothing"})
}

test_what_keeps_something_does_not_pass if {
	policy.pass.retention_approved == {"keeps-nothing"} with input as choosing({"keeps-nothing", "keeps-a-month"})
}

test_unlimited_retention_has_a_reason_of_its_own if {
	policy.reason.retention_approved == {"keeps-for-ever": "RETENTION_UNLIMITED"} with input as choosing({"keeps-for-ever"})
}
`,
};

/**
 * One example for each effect. All are formatted, pass their tests, and leave no gap in their
 * coverage.
 */
const TEMPLATES: Readonly<Record<ConstraintEffect, Template>> = {
  gate: {
    title: "Keys of production and staging only",
    constraint: "environment_approved",
    reasons: ["ENVIRONMENT_NOT_APPROVED", "ENVIRONMENT_UNKNOWN"],
    rules: `# What passes. Anything else does not, so an environment that is added later is closed.
pass["environment_approved"] if input.key.environment in {"production", "staging"}

# A reason that is more exact than the first of the list.
reason["environment_approved"] := "ENVIRONMENT_UNKNOWN" if input.key.environment == "other"
`,
    tests: `calling_from(environment) := {"key": {"environment": environment}}

test_approved_environments_pass[environment] if {
	some environment in ["production", "staging"]
	policy.pass.environment_approved with input as calling_from(environment)
}

test_other_environments_do_not_pass if {
	not policy.pass.environment_approved with input as calling_from("development")
}

test_unknown_environment_has_a_reason_of_its_own if {
	policy.reason.environment_approved == "ENVIRONMENT_UNKNOWN" with input as calling_from("other")
}
`,
  },
  require_all: { ...RETENTION, title: "The primary and all fallbacks keep no requests" },
  filter: { ...RETENTION, title: "Endpoints that keep what they are sent are left out" },
};

/**
 * Both texts of a new policy. Only the title may hold any character of one line; the rest must be
 * valid in a contract.
 */
export function policyTexts({ id, title, owners, effect }: NewPolicy): {
  readonly policy: string;
  readonly test: string;
} {
  const { constraint, reasons, rules, tests } = TEMPLATES[effect];
  const name = id.replaceAll("-", "_");
  const policy = `# METADATA
# scope: package
# title: ${yamlScalar(title)}
# custom:
#   signalbox:
#     contract: 1
#     id: ${yamlScalar(id)}
#     owners: [${owners.join(", ")}]
#     constraints:
#       ${constraint}: {effect: ${effect}, reasons: [${reasons.join(", ")}]}
package signalbox.policy.${name}

${rules}`;
  const test = `package signalbox.policy.${name}_test

import data.signalbox.policy.${name} as policy

${tests}`;
  return { policy, test };
}

/** On one line, quoted only if necessary. */
function yamlScalar(text: string) {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}
