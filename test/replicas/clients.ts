import { setTimeout as delay } from "node:timers/promises";

/** One request as its client saw it. */
export interface Seen {
  /** 0 where the connection was lost before the answer began. */
  readonly status: number;
  readonly requestId: string | null;
  /** The body as far as it came. */
  readonly text: string;
  /** Whether the body came to its end. */
  readonly whole: boolean;
  /** Milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
}

export async function ask(url: string, key: string, body: object): Promise<Seen> {
  const from = Date.now();
  let status = 0;
  let requestId: string | null = null;
  let text = "";
  let whole = false;
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    ({ status } = response);
    requestId = response.headers.get("x-request-id");
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    whole = true;
  } catch (error) {
    // The replica is gone: before the answer or in the middle of it.
    if (!(error instanceof TypeError)) throw error;
  }
  return { status, requestId, text, whole, from, to: Date.now() };
}

export const chat = (route: string, stream = false): object => ({
  model: route,
  max_tokens: 20,
  stream,
  messages: [{ role: "user", content: "hello" }],
});

/** Clients that ask one request after the other until stopped. */
export class Clients {
  readonly seen: Seen[] = [];
  readonly #running: Promise<void>[] = [];
  #stopped = false;

  /** @param pause between two requests of one client, milliseconds */
  add(count: number, pause: number, request: () => Promise<Seen>): Seen[] {
    const own: Seen[] = [];
    const client = async (): Promise<void> => {
      while (!this.#stopped) {
        const seen = await request();
        own.push(seen);
        this.seen.push(seen);
        await delay(seen.status === 0 ? 50 : pause);
      }
    };
    for (let number = 0; number < count; number += 1) this.#running.push(client());
    return own;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }
}
