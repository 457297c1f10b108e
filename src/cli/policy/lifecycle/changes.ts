import type { JsonObject } from "../../../canon/json.ts";
import { formatRevision } from "../../../canon/policy.ts";
import { ROLLBACK_REASONS } from "../../../lifecycle/records.ts";
import { line, span, type Line } from "../../terminal/layout.ts";
import { readValue } from "../../terminal/arguments.ts";
import { UsageError } from "../../terminal/command-io.ts";
import { lifecycleCommand, printLines, type Flags, type Values } from "./command.ts";
import type { Change, PolicyServer } from "./client.ts";
import { requestedContent } from "./find-content.ts";
import { NotNowError } from "./refusal.ts";
import type { Content, PolicyView, SlotView } from "./view.ts";
import { actingText, commandText, contentText } from "./contents.ts";
import { missingTexts } from "./missing.ts";
import { jsonText } from "../../terminal/printing.ts";

/** What the slots must hold, so that nothing else is changed than what was looked at. */
const EXPECT_FLAGS = {
  "expect-candidate": {
    type: "string",
    value: "R",
    help: "Only if the candidate is this revision, such as r4; none: if there is no candidate.",
  },
  "expect-enforced": {
    type: "string",
    value: "R",
    help: "Only if this revision is enforced; none: if nothing is enforced yet.",
  },
} as const satisfies Flags;

/** A change of a policy whose state is read first, so that the change is of what was shown. */
interface ChangeRow<Given extends Flags> {
  readonly name: string;
  readonly summary: string;
  /** The endpoint below the policy. */
  readonly path: Change;
  readonly about: string;
  readonly flags: Given;
  /** Reads the flags before the server is called; the function that it gives makes the plan from the policy's state. */
  readonly plan: (values: Values<Given>) => (view: PolicyView, server: PolicyServer) => Promise<Plan> | Plan;
}

interface Plan {
  /** What will happen, printed before it does. */
  readonly doing: string;
  readonly body: JsonObject;
  /** Whether the change fails where another change of the policy was made since it was read. */
  readonly guarded: boolean;
  readonly done: string;
  /** A command line to paste that undoes the change; `null` where none does. */
  readonly undo: (after: PolicyView) => string | null;
}

function change<const Given extends Flags>({ path, flags, plan, ...row }: ChangeRow<Given>) {
  return lifecycleCommand({
    ...row,
    access: "changes",
    flags: { ...flags, ...EXPECT_FLAGS },
    work: async ({ id, values, json, server, io }) => {
      const expected = readExpected(values);
      const planned = plan(values);
      const { view } = await server.policy(id);
      refuseUnexpected(view, expected);
      const { doing, body, guarded, done, undo } = await planned(view, server);
      if (!json) printLines([line(0, span(`${id}: ${doing}`))], io);
      const changed = await server.change(id, path, body, guarded ? view.etag : null);
      if (json) io.stdout(jsonText(changed.json));
      else printLines(outcomeLines(done, changed.view, undo(changed.view)), io);
    },
  });
}

/** What acts after a change, what is watched, and how the change is undone. */
function outcomeLines(done: string, { enforced, candidate }: PolicyView, undo: string | null): readonly Line[] {
  const watched =
    candidate === null
      ? ""
      : `; ${contentText(candidate)} is in shadow${candidate.held ? " and held, so that it cannot be promoted" : ""}`;
  return [
    line(0, span(done, "green")),
    line(0, span(`now: ${actingText(enforced)}${watched}`)),
    ...(undo === null ? [] : [{ ...line(0, span("undo: "), span(undo, "cyan")), whole: true }]),
  ];
}

export const promotePolicy = change({
  name: "promote",
  summary: "Promotes the candidate: it is enforced from now on.",
  path: "promotions",
  about: `Enforces the candidate of a policy instead of the content that is enforced now, on all servers of the store at once. If the
policy's file is gone, the candidate is its removal. If the policy changed after it was read, nothing is done.`,
  flags: {},
  plan:
    () =>
    ({ id, candidate, enforced, missing }, server) => {
      if (candidate === null) {
        throw new NotNowError("there is no candidate; a server creates one when it reads changed files");
      }
      const from = enforced === null ? "nothing" : contentText(enforced);
      const to = candidate.content === "removal" ? `its removal, ${contentText(candidate)}` : contentText(candidate);
      const lacking = missing === null || missing.length === 0 ? "" : `; missing: ${missingTexts(missing)}`;
      return {
        doing: `promoting ${from} → ${to}${lacking}`,
        body: { expected: revisionsOf(candidate, enforced) },
        guarded: true,
        done: `promoted ${contentText(candidate)}`,
        undo: () => commandText(["policy", "rollback", id], server.flag),
      };
    },
});

function revisionsOf(candidate: SlotView | null, enforced: SlotView | null): JsonObject {
  return {
    candidate_revision: candidate?.revision ?? null,
    enforced_revision: enforced?.revision ?? null,
  };
}

export const rollBackPolicy = change({
  name: "rollback",
  summary: "Rolls back to the content that was enforced before.",
  path: "rollbacks",
  about: `Enforces earlier content again, on all servers of the store at once. Nothing is compiled and no approval is needed. The content
that is rolled back is held: it must be released before it can be promoted again.`,
  flags: {
    to: {
      type: "string",
      value: "R",
      help: `A revision that was enforced before, such as r3; none: nothing is enforced, as before the first
promotion of a policy that began in shadow. Default: the content that was enforced last.`,
    },
    reason: {
      type: "string",
      value: "R",
      help: `${ROLLBACK_REASONS.join(", ")}.
Default: other. The history records it.`,
    },
  },
  plan: (values) => {
    const to = readRevision("--to", values.to);
    const reason = values.reason === undefined ? null : readValue("--reason", values.reason, ROLLBACK_REASONS);
    return (view, server) => {
      const { id, enforced, candidate, rollback_to: rollbackTo } = view;
      if (enforced === null || (to === undefined && !view.can_roll_back)) {
        throw new NotNowError(`there is nothing to roll back to: ${whyNowhere(id, enforced)}`);
      }
      const last = rollbackTo === null ? "nothing" : contentText(rollbackTo);
      const target = to === undefined ? last : to === null ? "nothing" : `r${to}`;
      return {
        doing: `rolling back ${contentText(enforced)} → ${target}`,
        body: {
          expected: revisionsOf(candidate, enforced),
          ...(to === undefined ? {} : { to_revision: formatRevision(to ?? 0) }),
          ...(reason === null ? {} : { reason }),
        },
        guarded: true,
        done: `rolled back ${contentText(enforced)}`,
        undo: (after) => {
          // What was rolled back can be promoted again only while it is in the candidate's slot.
          if (after.candidate?.digest !== enforced.digest) return null;
          const release = commandText(["policy", "release", id, "--digest", shortDigest(enforced)], server.flag);
          return `${release} && ${commandText(["policy", "promote", id], server.flag)}`;
        },
      };
    };
  },
});

function whyNowhere(id: string, enforced: SlotView | null): string {
  if (enforced === null) return `nothing is enforced; for earlier content, see: signalbox policy history ${id}`;
  return `nothing was enforced before ${contentText(enforced)}; change or delete the policy's file, and promote the new candidate`;
}

export const withdrawPolicy = change({
  name: "withdraw",
  summary: "Withdraws an approval or, with --candidate, the candidate.",
  path: "withdrawals",
  about: `Withdraws the approval that the key in SIGNALBOX_KEY, or a key that it comes from, has given. With --candidate, removes the
candidate from its slot: it is no longer in shadow, and a restart with the same files does not bring it back.`,
  flags: {
    candidate: { type: "boolean", help: "The candidate instead of an approval." },
    digest: {
      type: "string",
      value: "D",
      help: "The approved content, by six or more digits of its digest. Default: the candidate.",
    },
  },
  plan: (values) => {
    const isCandidate = values.candidate === true;
    if (isCandidate && values.digest !== undefined) {
      throw new UsageError("--candidate, --digest: give one of them; the candidate is the content of the slot");
    }
    return async (view, server) => {
      if (isCandidate && view.candidate === null) throw new NotNowError("there is no candidate to withdraw");
      const content = await requestedContent(server, view, values.digest);
      const inverse = [isCandidate ? "release" : "approve", view.id, "--digest", shortDigest(content)];
      return {
        doing: `withdrawing ${isCandidate ? "the candidate" : "an approval of"} ${contentText(content)}`,
        body: isCandidate
          ? { what: "candidate", expected: { candidate_revision: content.revision } }
          : { what: "approval", digest: content.digest },
        guarded: isCandidate,
        done: `withdrew ${isCandidate ? "the candidate" : "the approval of"} ${contentText(content)}`,
        undo: () => commandText(["policy", ...inverse], server.flag),
      };
    };
  },
});

export const releasePolicy = change({
  name: "release",
  summary: "Releases content that was rolled back, so that it can be promoted again.",
  path: "releases",
  about: `Releases content that was rolled back or withdrawn, so that it can be promoted again. If there is no candidate, it becomes the
candidate. A release enforces nothing: the content still has to be promoted.`,
  flags: {
    digest: {
      type: "string",
      value: "D",
      help: "Six or more digits of its digest. Default: the only content that is held or, if none is, withdrawn.",
    },
  },
  plan: (values) => async (view, server) => {
    const content =
      values.digest === undefined ? onlyReleasable(view) : await requestedContent(server, view, values.digest);
    return {
      doing: `releasing ${contentText(content)}`,
      body: { digest: content.digest },
      guarded: true,
      done: `released ${contentText(content)}`,
      undo: (after) => {
        // A hold cannot be put back; a candidate that came with the release can be taken out.
        const isNew = after.candidate?.digest === content.digest && view.candidate?.digest !== content.digest;
        return isNew ? commandText(["policy", "withdraw", view.id, "--candidate"], server.flag) : null;
      },
    };
  },
});

function onlyReleasable({ held, withdrawn }: PolicyView): Content {
  const contents = held.length > 0 ? held : withdrawn;
  const [only, ...others] = contents;
  if (only === undefined)
    throw new NotNowError("nothing is held and nothing is withdrawn, so there is nothing to release");
  if (others.length > 0) {
    const names = contents.map(contentText).join(", ");
    throw new UsageError(`--digest: several contents can be released; give the digest of one of ${names}`);
  }
  return only;
}

function shortDigest({ digest }: Content): string {
  return digest.slice(0, 12);
}

/** `r4`, or `none` for an empty slot, as `null`; `undefined` where the flag is not given. @throws {UsageError} */
function readRevision(flag: string, text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === "none") return null;
  if (!/^r\d{1,9}$/.test(text)) throw new UsageError(`${flag}: must be a revision such as r4, or none`);
  return Number(text.slice(1));
}

/** What a slot must have held when a command was written down; `undefined`: whatever is there. */
interface Expected {
  readonly candidate: number | null | undefined;
  readonly enforced: number | null | undefined;
}

/** @throws {UsageError} */
function readExpected(values: Values<typeof EXPECT_FLAGS>): Expected {
  return {
    candidate: readRevision("--expect-candidate", values["expect-candidate"]),
    enforced: readRevision("--expect-enforced", values["expect-enforced"]),
  };
}

/**
 * Holds a policy against `--expect-candidate` and `--expect-enforced`: a pipeline that expects r4 must not promote r5.
 *
 * @throws {NotNowError}
 */
function refuseUnexpected(view: PolicyView, expected: Expected): void {
  for (const slot of ["candidate", "enforced"] as const) {
    const wanted = expected[slot];
    const present = view[slot]?.revision ?? "none";
    if (wanted !== undefined && (wanted === null ? "none" : `r${wanted}`) !== present) {
      throw new NotNowError(
        `--expect-${slot}: it is ${present} now; nothing was done; read it again: signalbox policy show ${view.id}`,
      );
    }
  }
}
