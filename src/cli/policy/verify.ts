import { formatRevision } from "../../canon/policy.ts";
import type { NamedContent } from "../../lifecycle/fold.ts";
import type { PolicyLogStore } from "../../lifecycle/records.ts";
import {
  KeptContentError,
  readStoredContent,
  recompileContent,
} from "../../policy/kept-content.ts";
import { createToolchain, type Toolchain } from "../../policy/toolchain/toolchain.ts";
import { verifiedContents } from "../evidence/verify.ts";
import { EXIT } from "../terminal/command-io.ts";
import { withStore } from "../terminal/open-store.ts";
import {
  DATABASE_HELP,
  TABLE_FORMAT_HELP,
  defaultFlags,
  flagCommand,
  textFlags,
  wantsJson,
} from "../terminal/command-line.ts";
import { formatTable, jsonText, amountText } from "../terminal/printing.ts";
import { usingToolchain } from "./policy-folder.ts";

const HELP = `Usage: signalbox policy verify [options]

Compiles every policy content of a store from its sources, without any cache, and compares the result with the module
that the store keeps. Servers run what they compile from the sources themselves; a module that differs was changed or
forged.

${DATABASE_HELP}
  --strict          Fails for contents of another compiler, too.
  --format FORMAT   ${TABLE_FORMAT_HELP}
  -h, --help        This text.

Results: matches; other compiler (another version of Signalbox compiled it, so the bytes cannot be compared); differs;
damaged (missing, unreadable, or not what the policy log names).
Exit codes: 0 no content differs or is damaged; 1 some content does (or is of another compiler,
with --strict), or the log does not verify; 2 usage.
`;

const FLAGS = { ...textFlags("database", "format"), ...defaultFlags({ strict: false }) };

const RESULTS = ["matches", "other_compiler", "differs", "damaged"] as const;

/** Result for one content; `reason` is set for `damaged`, and holds nothing of the policy. */
interface Verified {
  readonly content: NamedContent;
  readonly result: (typeof RESULTS)[number];
  readonly reason: string | null;
}

export const verifyPolicies = flagCommand(
  { name: "policy verify", help: HELP, flags: FLAGS, flagsOnly: "name the store with --database" },
  async (values, io) => {
    const json = wantsJson(values.format);
    const verified = await withStore(values.database, io, "read", ({ policyLog }) =>
      verifyAll(policyLog),
    );
    io.stdout(json ? formatJson(verified) : formatVerified(verified));
    const passing = ["matches", ...(values.strict ? [] : ["other_compiler"])];
    return verified.every(({ result }) => passing.includes(result)) ? EXIT.ok : EXIT.failed;
  },
);

/** @throws {CommandError} where the log does not verify, or the toolchain cannot run. */
async function verifyAll(log: PolicyLogStore) {
  const toolchain = createToolchain({ cache: null });
  const verified: Verified[] = [];
  for (const content of await verifiedContents(log)) {
    verified.push(await usingToolchain(() => verifyOne(content, log, toolchain)));
  }
  return verified;
}

async function verifyOne(
  content: NamedContent,
  log: PolicyLogStore,
  toolchain: Toolchain,
): Promise<Verified> {
  try {
    const stored = await log.content(content.digest);
    if (stored === null || stored.policy !== content.policy) {
      throw new KeptContentError("nothing is stored under its digest");
    }
    const { agreement } = await recompileContent(
      readStoredContent(stored, content.module),
      toolchain,
    );
    return { content, result: agreement === "same" ? "matches" : agreement, reason: null };
  } catch (error) {
    if (!(error instanceof KeptContentError)) throw error;
    return { content, result: "damaged", reason: error.message };
  }
}

function formatVerified(verified: readonly Verified[]): string {
  if (verified.length === 0) return "No policies are stored.\n";
  const rows = verified.map(({ content, result, reason }) => [
    content.policy,
    formatRevision(content.revision) ?? "-",
    content.digest.slice(0, 12),
    `${result.replace("_", " ")}${reason === null ? "" : `: ${reason}`}`,
  ]);
  const counts = RESULTS.flatMap((result) => {
    const count = verified.filter((one) => one.result === result).length;
    return count === 0 ? [] : [`${count} ${result.replace("_", " ")}`];
  });
  const table = formatTable([["POLICY", "REVISION", "DIGEST", "RESULT"], ...rows]);
  return `${table}\n${amountText(verified.length, "content")}: ${counts.join(", ")}\n`;
}

/** Version 1 of this form: members are only ever added. */
function formatJson(verified: readonly Verified[]): string {
  const contents = verified.map(({ content, result, reason }) => {
    const { policy, revision, digest, module } = content;
    return {
      policy,
      revision: formatRevision(revision),
      digest,
      module_sha256: module,
      result,
      reason,
    };
  });
  return jsonText({ version: 1, contents });
}
