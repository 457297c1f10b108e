import type { Turn } from "../../../canon/generate/message.ts";

/** Ids of tool calls that the protocol takes. */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const MAXIMUM_LENGTH = 64;

/** Old id → the one that is sent: its own where the protocol takes it, else a made one, the same one wherever the call is named. */
export class CallIds {
  readonly #sent = new Map<string, string>();
  /** Whether any id had to change. */
  readonly rewritten: boolean;

  constructor(turns: readonly Turn[]) {
    const ids = new Set(turns.flatMap(idsOf));
    const used = new Set([...ids].filter((id) => PLAIN_ID.test(id)));
    this.rewritten = used.size < ids.size;
    for (const id of ids) {
      if (PLAIN_ID.test(id)) continue;
      const made = freeId(`call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`, used);
      used.add(made);
      this.#sent.set(id, made);
    }
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

function freeId(wanted: string, used: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const ending = number === 1 ? "" : `_${number}`;
    const id = wanted.slice(0, MAXIMUM_LENGTH - ending.length) + ending;
    if (!used.has(id)) return id;
  }
}
