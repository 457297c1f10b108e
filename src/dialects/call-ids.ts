import type { Turn } from "../canon/generate/message.ts";

/** What no protocol's rules for ids of calls allow. */
const FOREIGN = /[^a-zA-Z0-9_-]/g;

/** Characters kept free for a number at the end of a made id, its underscore included; no request has ten million calls. */
const ROOM = 8;

/** Ids of tool calls on their way to a protocol that does not take every id. What is rewritten is so everywhere in the request. */
export class CallIds {
  /** Old id → the one that is sent. */
  readonly #sent = new Map<string, string>();

  /**
   * @param turns all turns in which the calls and their results stand.
   * @param plain matches the whole of an id that the protocol takes.
   * @param longest characters that an id may have.
   */
  constructor(turns: readonly Turn[], plain: RegExp, longest = Infinity) {
    const ids = new Set(turns.flatMap(idsOf));
    const used = new Set([...ids].filter((id) => plain.test(id)));
    // Numbers go on where the last one of the same beginning was found, or many ids alike would look at each other's again and again.
    const numbers = new Map<string, number>();
    for (const id of ids) {
      if (plain.test(id)) continue;
      let sent = `call_${id.replaceAll(FOREIGN, "_")}`.slice(0, longest);
      const beginning = sent.slice(0, longest - ROOM);
      for (let number = numbers.get(beginning) ?? 2; used.has(sent); number += 1) {
        sent = `${beginning}_${number}`;
        numbers.set(beginning, number + 1);
      }
      used.add(sent);
      this.#sent.set(id, sent);
    }
  }

  /** Whether any id had to change. */
  get rewritten(): boolean {
    return this.#sent.size > 0;
  }

  sent(id: string): string {
    return this.#sent.get(id) ?? id;
  }
}

function idsOf(turn: Turn): readonly string[] {
  if (turn.role === "tool") return turn.results.map(({ callId }) => callId);
  if (turn.role !== "assistant") return [];
  return turn.content.flatMap((part) => (part.kind === "tool_call" ? [part.id] : []));
}
