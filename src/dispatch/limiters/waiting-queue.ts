/** A member's slot in its line. */
export interface Node<Member> {
  readonly member: Member;
  before: Node<Member> | null;
  after: Node<Member> | null;
}

/**
 * First come, first out, and anybody may go at any time: each in constant time. A `Set` does the same, but looks for its first member from the
 * start of its memory, past all that were taken from there: a line of a hundred thousand then empties ten times as slowly.
 */
export class WaitingQueue<Member> {
  #first: Node<Member> | null = null;
  #last: Node<Member> | null = null;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get first(): Member | undefined {
    return this.#first?.member;
  }

  join(member: Member): Node<Member> {
    const node: Node<Member> = { member, before: this.#last, after: null };
    if (this.#last === null) this.#first = node;
    else this.#last.after = node;
    this.#last = node;
    this.#length += 1;
    return node;
  }

  /** Takes a member out; once for each. */
  remove({ before, after }: Node<Member>): void {
    if (before === null) this.#first = after;
    else before.after = after;
    if (after === null) this.#last = before;
    else after.before = before;
    this.#length -= 1;
  }
}
