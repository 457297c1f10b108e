import { readGrouping } from "../governance/increments.ts";
import type {
  Actor,
  ContentReference,
  PolicyLogStore,
  PolicyRecord,
} from "../lifecycle/records.ts";
import { summarise } from "../governance/summarise.ts";
import { readPolicyRecord } from "../lifecycle/fold.ts";
import { KeptContentError, readStoredContent } from "../policy/kept-content.ts";
import type { ChainLink } from "../evidence/chain.ts";
import type { Store } from "../store/port.ts";
import {
  name,
  quoted,
  type Block,
  type Item,
  type Section,
  type Text,
} from "./document/document.ts";
import { html, rawElement, sectionMarkup } from "./document/html.ts";
import { Comment, writeSections } from "./document/markdown.ts";
import { formatLink, walkPolicyLog } from "./evidence/verify.ts";
import { PAGE_STYLE } from "./simulate/formats/html/style.ts";
import {
  DATABASE_HELP,
  flagCommand,
  readValue,
  required,
  textFlags,
} from "./terminal/command-line.ts";
import { CommandError, UsageError } from "./terminal/command-io.ts";
import { withStore } from "./terminal/open-store.ts";

const HELP = `Usage: signalbox report --period MONTH [flags]

Prints what was enforced in a month, since when and by whom; what was denied, and why; exceptions; and how to verify it. For a
compliance officer: it reads the store alone, and holds no text of requests or answers.

Flags
  --period MONTH    Such as 2026-11, in UTC. Required.
  --format FORMAT   markdown, html (default: markdown)
${DATABASE_HELP}

Exit codes: 0 done, 1 not done, 2 the command line cannot be used.
`;

const HOUR = 3_600_000;

/** `signalbox report`: the policies of a month and their denials, from the store. */
export const report = flagCommand(
  { name: "report", help: HELP, flags: textFlags("period", "format", "database"), flagsOnly: "" },
  async (values, io) => {
    const period = readMonth(required(values.period, "--period", "2026-11"));
    const format = readValue("--format", values.format ?? "markdown", ["markdown", "html"]);
    return await withStore(values.database, io, false, async (store) => {
      const title = `Signalbox: what was enforced in ${period.name}`;
      const sections = await sectionsOf(store, period);
      io.stdout(format === "html" ? pageOf(title, sections) : markdownOf(title, sections));
    });
  },
);

interface Period {
  readonly name: string;
  /** Milliseconds since the epoch: the first one of the month, and of the next month. */
  readonly from: number;
  readonly until: number;
}

function readMonth(text: string): Period {
  const from = /^\d{4}-\d{2}$/.test(text) ? Date.parse(`${text}-01T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(from)) throw new UsageError("--period: give a month, such as 2026-11");
  const next = new Date(from);
  return { name: text, from, until: next.setUTCMonth(next.getUTCMonth() + 1) };
}

async function sectionsOf(store: Store, period: Period) {
  const records: PolicyRecord[] = [];
  for await (const row of walkPolicyLog(store.policyLog)) {
    const record = readPolicyRecord(row.record);
    // Skipping the record would make the report wrong.
    if (record === null)
      throw new CommandError(
        `position ${row.position} of the policy log cannot be read; run "signalbox evidence verify"`,
      );
    if (record.at < period.until) records.push(record);
  }
  const enforced = enforcements(records).filter(
    ({ until }) => until === null || until >= period.from,
  );
  const acts = records.filter(({ at }) => at >= period.from);
  const [evidence, policies] = [await store.evidence.head(), await store.policyLog.head()];
  return [
    section(
      "enforced",
      "Enforced policies",
      table(
        [
          "policy",
          "title",
          "owners",
          "revision",
          "digest",
          "since",
          "until",
          "promoted by",
          "approved by",
        ],
        await Promise.all(enforced.map((one) => enforcementCells(store.policyLog, one))),
      ),
    ),
    section(
      "changes",
      "Approvals, promotions and rollbacks",
      table(["time", "policy", "revision", "act", "by"], acts.flatMap(actCells)),
    ),
    section(
      "denials",
      "Denials and refusals, by reason",
      table(
        ["workspace", "policy", "constraint", "reason", "denied#", "refused#"],
        await denialCells(store, period),
      ),
    ),
    section(
      "exceptions",
      "Exceptions",
      table(["time", "policy", "exception", "by"], acts.flatMap(exceptionCells)),
    ),
    section(
      "verify",
      "How to verify this",
      headSentence("Policy log", policies),
      headSentence("Evidence", evidence),
      {
        command: `signalbox evidence verify --policy-head ${formatLink(policies)} --expect-head ${formatLink(evidence)}`,
      },
    ),
  ];
}

const headSentence = (log: string, { position, hash }: ChainLink): Block => ({
  text: [`${log}: position ${position}, `, name(hash), "."],
});

type Enforcement = ReturnType<typeof enforcements>[number];

/** Contents while they were enforced, oldest first. `until` is `null`: still enforced. */
function enforcements(records: readonly PolicyRecord[]) {
  const changes = records.flatMap((record) => {
    const { policy, at: since } = record;
    const isEnforcedStart = record.kind === "observed" && record.slot === "enforced";
    if (!isEnforcedStart && !("to" in record)) return [];
    const content: ContentReference | null = "to" in record ? record.to : record;
    const approvals = record.kind === "promoted" ? record.approvals : [];
    return [{ policy, since, content, by: "by" in record ? record.by : null, approvals }];
  });
  return changes.flatMap((change, index) => {
    const { content, policy } = change;
    const next = changes.slice(index + 1).find((one) => one.policy === policy);
    // After the promotion of a removal nothing is enforced.
    const isRemoval = content === null || content.module === null;
    return isRemoval ? [] : [{ ...change, content, until: next?.since ?? null }];
  });
}

async function enforcementCells(log: PolicyLogStore, one: Enforcement) {
  const { policy, content, since, until, by, approvals } = one;
  const { title, owners } = await describe(log, content);
  return [
    name(policy),
    quoted(title),
    owners.join(", "),
    `r${content.revision}`,
    name(content.digest),
    timeText(since),
    until === null ? "in force" : timeText(until),
    by === null ? "first start (initial_mode)" : actorText(by),
    approvals.flatMap((approval, index) => [index === 0 ? "" : ", ", actorText(approval.by)]),
  ];
}

/** Title and owners of a stored content. */
async function describe(log: PolicyLogStore, { digest, module }: ContentReference) {
  const stored = await log.content(digest);
  try {
    if (stored !== null) return readStoredContent(stored, module).policy.contract;
  } catch (error) {
    if (!(error instanceof KeptContentError)) throw error;
  }
  return { title: "content missing or changed: run signalbox evidence verify", owners: [] };
}

function actCells(record: PolicyRecord) {
  if (!("by" in record)) return [];
  const { kind, at, policy, by } = record;
  const { revision } =
    kind === "promoted" ? record.to : kind === "rolled_back" ? record.from : record;
  return [[timeText(at), name(policy), `r${revision}`, kind.replaceAll("_", " "), actorText(by)]];
}

/** Rows of exceptions: rollbacks, and promotions without approvals of other people. */
function exceptionCells(record: PolicyRecord) {
  if (!("by" in record)) return [];
  const { at, policy, by } = record;
  return exceptionsOf(record).flatMap((exception) =>
    exception === "" ? [] : [[timeText(at), name(policy), exception, actorText(by)]],
  );
}

/** Sentences; empty without an exception. */
function exceptionsOf(record: PolicyRecord): readonly string[] {
  if (record.kind === "rolled_back") return [`rolled back: ${record.reason}`];
  if (record.kind === "approved") {
    const { report: simulation } = record;
    if (simulation === null) return ["approved without a simulation's report"];
    const { assertions, complete, verification } = simulation;
    return [
      assertions.waived > 0 ? "approved with waived assertions" : "",
      assertions.failed > 0 ? "approved with failed assertions" : "",
      complete ? "" : "approved with an incomplete simulation",
      verification.result === "verified"
        ? ""
        : "approved with a report that the server did not confirm",
    ];
  }
  if (record.kind !== "promoted") return [];
  const isSelfApproved = record.approvals.every(({ by }) => by.origin === record.by.origin);
  return isSelfApproved ? ["promoted without an approval by somebody else"] : [];
}

async function denialCells(store: Store, { from, until }: Period) {
  const grouping = readGrouping([], "summary");
  if ("problem" in grouping) throw new Error(grouping.problem);
  const window = { from: Math.floor(from / HOUR), until: Math.floor(until / HOUR) };
  const rows: (readonly Text[])[] = [];
  for (const workspace of await store.summary.workspaces()) {
    const { verdicts } = await summarise(
      (facet) => store.summary.read({ workspace, facet, ...window }),
      grouping,
    );
    for (const { policy, constraint, reason_code: reason, denied, refused } of verdicts)
      rows.push([
        workspace === null ? "(no accepted key)" : name(workspace),
        policy ?? "(router)",
        constraint ?? "",
        reason ?? "",
        String(denied),
        String(refused),
      ]);
  }
  return rows;
}

/** A person by name where the identity provider gave one, else the key. */
function actorText({ person, keyId, workspace }: Actor) {
  if (person === undefined) return `key ${keyId} (${workspace})`;
  return quoted(person.name ?? person.subject);
}

const timeText = (at: number) => `${new Date(at).toISOString().slice(0, 16)}Z`;

function table(headings: readonly string[], rows: readonly (readonly Text[])[]): Block {
  if (rows.length === 0) return { text: "None." };
  return {
    noun: "row",
    headings,
    items: rows.map((cells): Item => ({ cells, alwaysShown: true })),
  };
}

const section = (id: string, title: string, ...blocks: Section["blocks"]): Section => ({
  id,
  title,
  blocks,
});

function markdownOf(title: string, sections: readonly Section[]): string {
  const page = new Comment(Number.POSITIVE_INFINITY);
  page.write(`## ${title}`);
  writeSections(page, sections);
  return page.toString();
}

function pageOf(title: string, sections: readonly Section[]) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        ${rawElement("style", PAGE_STYLE)}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${sections.map((one) => sectionMarkup(one, 2))}
        </main>
      </body>
    </html> `.toString();
}
