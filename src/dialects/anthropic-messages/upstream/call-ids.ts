import type { Turn } from "../../../canon/generate/message.ts";

/** Ids of tool calls that the protocol takes. Others are rewritten, the same id always to the same one within a request. */
const PLAIN_ID = /^[a-zA-Z0-9_-]+$/;

/** Old id → the one that is sent. */
export class CallIds {
  readonly #sent = new Map<string, string>();
  /** Whether any id had to change. */
  readonly rewritten: boolean;

  constructor(turns: readonly Turn[]) {
    const ids = new Set(turns.flatMap(idsOf));
    const odd = [...ids].filter((id) => !PLAIN_ID.test(id));
    const used = new Set([...ids].filter((id) => PLAIN_ID.test(id)));
    for (const id of odd) {
      const sent = freeId(`call_${id.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`, used);
      used.add(sent);
      this.#sent.set(id, sent);
    }
    this.rewritten = odd.length > 0;
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
    const id = number === 1 ? wanted : `${wanted}_${number}`;
    if (!used.has(id)) return id;
  }
}
