import { setTimeout as delay } from "node:timers/promises";

import { ANSWER, answerJson, delta, sse, startSse, startUpstream } from "../support/router.ts";
import { USAGE } from "./fixture.ts";

export const PIECES = Array.from({ length: 20 }, (_, index) => `piece${index} `);

export interface Provider {
  readonly url: string;
  /** How many requests it has answered to the end, by the name of the model requested. */
  readonly answered: ReadonlyMap<string, number>;
}

/** Answers at once, or streams twenty pieces in half a second. */
export async function startProvider(): Promise<Provider> {
  const answered = new Map<string, number>();
  const { url } = await startUpstream(async (response, { body }) => {
    const model = /upstream-\w+/.exec(body)?.[0] ?? "";
    if (body.includes('"stream":true')) {
      startSse(response);
      for (const piece of PIECES) {
        response.write(sse(delta(piece)));
        await delay(25);
      }
      response.end(
        `${sse(delta("", "stop"))}${sse({ ...delta(""), choices: [], usage: USAGE })}data: [DONE]\n\n`,
      );
    } else {
      await delay(10);
      answerJson(response, { ...ANSWER, usage: USAGE });
    }
    answered.set(model, (answered.get(model) ?? 0) + 1);
  });
  return { url, answered };
}
