import type * as records from "../../../src/lifecycle/records.ts";
import { promotionCause, type PromotionCause } from "./promotion-model.ts";

interface Content {
  readonly revision: number;
  readonly module: string | null;
}

type Cause =
  | "revision"
  | "removal"
  | "module"
  | "known_content"
  | "unknown_content"
  | "slot"
  | "no_change"
  | "not_approved"
  | "not_candidate"
  | "not_enforced"
  | "never_enforced"
  | "held"
  | "not_held"
  | PromotionCause
  | null;

/**
 * Model of one policy's slots, which judges whether each row is possible after those before it. It
 * shares no code with the fold that servers use, so that a fault in the fold does not confirm
 * itself.
 */
export class SlotModel {
  /** What stands for the end of the policy. */
  readonly #removal: string;
  /** Contents that this log has seen, by digest. */
  readonly #contents = new Map<string, Content>();
  /** Digests of an older version whose bytes were not kept, and the number each had last. */
  #newestRevision = 0;
  #enforced: string | null = null;
  #candidate: string | null = null;
  #candidateSince = 0;
  /**
   * Contents that promotions have replaced and no rollback has gone behind, oldest first; `null`:
   * nothing was enforced.
   */
  #former: readonly (string | null)[] = [];
  readonly #approvals = new Map<string, readonly records.Approval[]>();
  readonly #held = new Set<string>();
  readonly #withdrawn = new Set<string>();

  /** @param removal digest that stands for the end of the policy */
  constructor(removal: string) {
    this.#removal = removal;
  }

  get enforced(): string | null {
    return this.#enforced;
  }

  get candidate(): string | null {
    return this.#candidate;
  }

  /** Takes a record; gives what is impossible about it. After that it is of no more use. */
  add(record: records.PolicyRecord): Cause {
    switch (record.kind) {
      case "observed":
        return record.content === "removal"
          ? this.#observeRemoval(record)
          : this.#observeRules(record);
      case "returned":
        return this.#return(record);
      case "approved":
        return this.#approve(record);
      case "approval_withdrawn":
        return this.#withdrawApproval(record);
      case "candidate_withdrawn":
        return this.#withdrawCandidate(record);
      case "promoted":
        return this.#promote(record);
      case "rolled_back":
        return this.#rollBack(record);
      case "released":
        return this.#release(record);
    }
  }

  #observeRules({ revision, digest, module, slot, at }: records.ObservedRecord): Cause {
    if (digest === this.#removal) return "removal";
    if (module === null) return "module";
    if (this.#contents.has(digest)) return "known_content";
    if (revision !== this.#newestRevision + 1) return "revision";
    const isFirst = this.#contents.size === 0;
    if (slot === "enforced" && !isFirst) return "slot";
    this.#number(digest, { revision, module });
    if (slot === "enforced") this.#enforced = digest;
    else this.#watch(digest, at);
    return null;
  }

  /**
   * The files have the policy no longer: its end is the candidate, or, where nothing is enforced,
   * it is not watched any more.
   */
  #observeRemoval({ revision, digest, module, slot, at }: records.ObservedRecord): Cause {
    const isNothing = this.#enforced === null && this.#candidate === null;
    if (digest !== this.#removal || isNothing) return "removal";
    if (module !== null) return "module";
    const known = this.#contents.get(digest);
    if (known !== undefined && this.#enforced !== null) return "known_content";
    if (revision !== (known?.revision ?? this.#newestRevision + 1)) return "revision";
    if (slot !== "candidate") return "slot";
    this.#number(digest, { revision, module });
    if (this.#enforced === null) this.#candidate = null;
    else this.#watch(digest, at);
    return null;
  }

  #return({ revision, digest, at }: records.ReturnedRecord): Cause {
    const cause = this.#seenCause({ revision, digest });
    if (cause !== null) return cause;
    if (digest === this.#removal && this.#enforced === null) return "removal";
    const isEnforced = digest === this.#enforced;
    if (isEnforced ? this.#candidate === null : this.#candidate === digest) return "no_change";
    this.#withdrawn.delete(digest);
    if (isEnforced) this.#candidate = null;
    else this.#watch(digest, at);
    return null;
  }

  #approve({ revision, digest, by, at, report }: records.ApprovedRecord): Cause {
    const cause = this.#numberedCause({ revision, digest });
    if (cause !== null) return cause;
    this.#approvals.set(digest, [...this.#approvalsOfOthers(digest, by), { by, at, report }]);
    return null;
  }

  #withdrawApproval({ revision, digest, by }: records.ApprovalWithdrawnRecord): Cause {
    const cause = this.#numberedCause({ revision, digest });
    if (cause !== null) return cause;
    const others = this.#approvalsOfOthers(digest, by);
    if (others.length === this.#approvalsOf(digest).length) return "not_approved";
    this.#approvals.set(digest, others);
    return null;
  }

  #withdrawCandidate({ revision, digest }: records.CandidateWithdrawnRecord): Cause {
    const cause = this.#seenCause({ revision, digest });
    if (cause !== null) return cause;
    if (digest !== this.#candidate) return "not_candidate";
    this.#candidate = null;
    this.#withdrawn.add(digest);
    return null;
  }

  #promote(record: records.PromotedRecord): Cause {
    const { from, to } = record;
    const cause = this.#referenceCause(to) ?? (from === null ? null : this.#referenceCause(from));
    if (cause !== null) return cause;
    if ((from?.digest ?? null) !== this.#enforced) return "not_enforced";
    if (to.digest !== this.#candidate) return "not_candidate";
    if (this.#held.has(to.digest)) return "held";
    const isRemoval = to.digest === this.#removal;
    const approvals = this.#approvalsOf(to.digest);
    const missing = promotionCause(record, { isRemoval, approvals, since: this.#candidateSince });
    if (missing !== null) return missing;
    this.#former = [...this.#former, this.#enforced];
    this.#enforced = to.digest;
    this.#candidate = null;
    return null;
  }

  #rollBack({ from, to, at }: records.RolledBackRecord): Cause {
    const cause = this.#referenceCause(from) ?? (to === null ? null : this.#referenceCause(to));
    if (cause !== null) return cause;
    const target = to?.digest ?? null;
    if (from.digest !== this.#enforced) return "not_enforced";
    if (target === from.digest) return "no_change";
    const index = this.#former.lastIndexOf(target);
    if (index === -1) return "never_enforced";
    this.#former = this.#former.slice(0, index);
    this.#enforced = target;
    this.#held.add(from.digest);
    if (this.#candidate === null || this.#candidate === target) this.#watch(from.digest, at);
    return null;
  }

  #release({ revision, digest, at }: records.ReleasedRecord): Cause {
    const cause = this.#seenCause({ revision, digest });
    if (cause !== null) return cause;
    const isLifted = [this.#held.delete(digest), this.#withdrawn.delete(digest)].includes(true);
    const isFree = this.#candidate === null && this.#enforced !== digest;
    if (isFree) this.#watch(digest, at);
    return isLifted || isFree ? null : "not_held";
  }

  #watch(digest: string, at: number): void {
    this.#candidate = digest;
    this.#candidateSince = at;
  }

  #number(digest: string, content: Content): void {
    this.#contents.set(digest, content);
    this.#newestRevision = Math.max(this.#newestRevision, content.revision);
  }

  #approvalsOf(digest: string): readonly records.Approval[] {
    return this.#approvals.get(digest) ?? [];
  }

  #approvalsOfOthers(digest: string, { origin }: records.Actor): readonly records.Approval[] {
    return this.#approvalsOf(digest).filter(({ by }) => by.origin !== origin);
  }

  #numberedCause({
    revision,
    digest,
  }: Pick<records.ContentReference, "revision" | "digest">): Cause {
    const known = this.#contents.get(digest)?.revision;
    if (known === undefined) return "unknown_content";
    return known === revision ? null : "revision";
  }

  #seenCause(content: Pick<records.ContentReference, "revision" | "digest">): Cause {
    return this.#contents.has(content.digest) ? this.#numberedCause(content) : "unknown_content";
  }

  #referenceCause(reference: records.ContentReference): Cause {
    const isModule = this.#contents.get(reference.digest)?.module === reference.module;
    return this.#seenCause(reference) ?? (isModule ? null : "module");
  }
}
