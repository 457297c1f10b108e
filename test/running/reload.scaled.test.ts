import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { answerJson, ANSWER, delta, sse, startSse, startUpstream } from "../support/router.ts";
import { fewOrMany } from "../support/long.ts";
import { addKey, startRunning, writeFixture } from "./running-server.ts";

const CLIENTS = 2;
const RELOADS = fewOrMany(4, 10);

interface Answer {
  readonly table: string;
  /** What was requested of the provider, in every piece of the answer. */
  readonly models: ReadonlySet<string>;
  readonly whole: boolean;
}

it(
  "answers under load and many reloads are whole, each made by one table",
  { timeout: 120_000 },
  async () => {
    // Says in every piece which model was requested, so that the answer shows by which table it was
    // made.
    const upstream = await startUpstream(async (response, { body }) => {
      const { model, stream } = JSON.parse(body) as { model: string; stream?: boolean };
      if (stream !== true) {
        await delay(5);
        return answerJson(response, {
          ...ANSWER,
          choices: [
            { index: 0, message: { role: "assistant", content: model }, finish_reason: "stop" },
          ],
        });
      }
      startSse(response);
      for (let piece = 0; piece < 8; piece += 1) {
        response.write(sse(delta(`${model} `)));
        await delay(8);
      }
      response.end(`${sse(delta("", "stop"))}data: [DONE]\n\n`);
    });
    const texts = ["first", "second"].map((name) => (value: object): object => ({
      ...value,
      endpoints: [{ id: "large", model: "m", provider: "p", upstream_model: name }],
      routes: { large: { primary: "large" } },
      workspaces: { large: (value as { workspaces: Record<string, object> }).workspaces.large },
    }));
    const [first = (value) => value, second = (value) => value] = texts;
    const fixture = writeFixture(upstream.url, first);
    const other = writeFixture(upstream.url, second);
    const files = [readFileSync(fixture.config, "utf8"), readFileSync(other.config, "utf8")];
    const server = await startRunning(fixture);
    const { text: apiKey } = await addKey(server.store);
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey, maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "hello" }];
    const answers: Answer[] = [];
    const stop = new AbortController();
    const tableOf = (response: Response): string => response.headers.get("x-signalbox-table") ?? "";
    const unary = async (): Promise<void> => {
      const { data, response } = await client.chat.completions
        .create({ model: "large", messages })
        .withResponse();
      const content = data.choices[0]?.message.content ?? "";
      answers.push({ table: tableOf(response), models: new Set([content]), whole: true });
    };
    const streamed = async (): Promise<void> => {
      const { data, response } = await client.chat.completions
        .create({ model: "large", messages, stream: true })
        .withResponse();
      let text = "";
      let finish: string | null = null;
      for await (const { choices } of data) {
        text += choices[0]?.delta.content ?? "";
        finish = choices[0]?.finish_reason ?? finish;
      }
      const models = text.trim().split(" ");
      answers.push({
        table: tableOf(response),
        models: new Set(models),
        whole: finish === "stop" && models.length === 8,
      });
    };
    const clients = [unary, streamed].flatMap((ask) =>
      Array.from({ length: CLIENTS }, async () => {
        while (!stop.signal.aborted) await ask();
      }),
    );
    const revisions = new Map<string, string>([
      [server.built.snapshot.decider.table.revision.slice(0, 12), "first"],
    ]);
    for (let round = 1; round <= RELOADS; round += 1) {
      writeFileSync(fixture.config, files[round % 2] ?? "");
      const reloading = server.reload();
      // A reload that is under way is no trouble.
      expect(await (await fetch(`${server.url}/status`)).json()).toMatchObject({ degraded: [] });
      const built = await reloading;
      if (!built.ok) throw new Error("a reload failed");
      revisions.set(
        built.snapshot.decider.table.revision.slice(0, 12),
        round % 2 === 0 ? "first" : "second",
      );
      await delay(60);
    }
    stop.abort();
    await Promise.all(clients);
    expect(revisions.size).toBe(2);
    expect(answers.length).toBeGreaterThan(RELOADS);
    for (const { table, models, whole } of answers) {
      expect([whole, [...models]]).toEqual([true, [revisions.get(table)]]);
    }
    expect(new Set(answers.map(({ table }) => table)).size).toBe(2);
  },
);
