import { formatRevision, type PolicyIdentity, type PolicySlot } from "../canon/policy.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { StoredPolicy, StoredSlot } from "./stored-policies.ts";

/** A policy in a summary. */
export interface AnswerPolicy {
  readonly id: Identifier;
  /** What the process that answers decides with. */
  readonly slots: readonly {
    readonly slot: PolicySlot;
    readonly revision: Identifier | null;
    readonly digest: Identifier;
  }[];
  /** Its slot in the store; `null` where the store has none. */
  readonly stored: { readonly enforced: AnswerSlot | null; readonly candidate: AnswerSlot | null } | null;
  /**
   * How the policies that the process runs differ from those in the store. `digest`: another content; `slot`: the same contents in other slots;
   * `not_loaded`, `not_stored`: only one of them has it. `null`: they agree, as they do within a second of a change.
   */
  readonly drift: "digest" | "slot" | "not_loaded" | "not_stored" | null;
}

export interface AnswerSlot {
  /** `r7`; `null` where no store has numbered the content. */
  readonly revision: Identifier | null;
  readonly digest: Identifier;
  readonly content: "rules" | "removal";
  /** RFC 3339: when it entered the slot; `null` where it was not recorded. */
  readonly since: Identifier | null;
}

/**
 * Policies that are enforced or in shadow, in the process or in the store, sorted by id.
 *
 * @param loaded `null` where no set of policies is loaded: then drift is unknown.
 */
export function policyStates(
  loaded: readonly PolicyIdentity[] | null,
  stored: readonly StoredPolicy[],
): readonly AnswerPolicy[] {
  const current = new Map(stored.filter((policy) => !hasEnded(policy)).map((policy) => [policy.id, policy]));
  const own = Map.groupBy(loaded ?? [], ({ id }) => id);
  return [...new Set([...own.keys(), ...current.keys()])].toSorted().map((id) => {
    const [slots, policy = null] = [own.get(id) ?? [], current.get(id)];
    return {
      id: asIdentifier(id),
      slots: slots.map(({ slot, revision, digest }) => ({
        slot,
        revision: shownRevision(revision),
        digest: asIdentifier(digest),
      })),
      stored:
        policy === null ? null : { enforced: answerSlot(policy.enforced), candidate: answerSlot(policy.candidate) },
      drift: loaded === null ? null : driftOf(slots, policy),
    };
  });
}

function hasEnded({ enforced, candidate }: StoredPolicy): boolean {
  return candidate === null && enforced?.content !== "rules";
}

function answerSlot(slot: StoredSlot | null): AnswerSlot | null {
  if (slot === null) return null;
  const { revision, digest, content, since } = slot;
  const entered = since === null ? null : asIdentifier(new Date(since).toISOString());
  return { revision: shownRevision(revision), digest: asIdentifier(digest), content, since: entered };
}

function shownRevision(revision: number): Identifier | null {
  const shown = formatRevision(revision);
  return shown === null ? null : asIdentifier(shown);
}

function driftOf(own: readonly PolicyIdentity[], policy: StoredPolicy | null): AnswerPolicy["drift"] {
  const said = (["enforced", "candidate"] as const).flatMap((slot) => {
    const content = policy?.[slot] ?? null;
    // There is nothing to load of a policy's end.
    return content?.content === "rules" ? [{ slot, digest: content.digest }] : [];
  });
  if (own.length === 0) return said.length === 0 ? null : "not_loaded";
  if (said.length === 0) return "not_stored";
  if (!isSame(own, said, ({ digest }) => digest)) return "digest";
  return isSame(own, said, ({ slot, digest }) => `${slot} ${digest}`) ? null : "slot";
}

type SlotStatus = Pick<PolicyIdentity, "slot" | "digest">;

function isSame(left: readonly SlotStatus[], right: readonly SlotStatus[], name: (one: SlotStatus) => string): boolean {
  const [own, others] = [left, right].map((list) => list.map(name).toSorted().join("\n"));
  return own === others;
}
