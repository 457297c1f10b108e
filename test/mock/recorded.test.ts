import { describe, expect, test } from "vitest";
import { readRecordings } from "../support/recordings.ts";
import { mockForTest, postTo } from "./start.ts";

/**
 * Recordings omitted the headers that say which betas were on; all that the recorded clients used
 * are.
 */
const HEADERS = {
  "anthropic-version": "2023-06-01",
  "anthropic-beta":
    "context-management-2025-06-27,mcp-client-2025-11-20,task-budgets-2026-03-13,structured-outputs-2025-11-13",
};

/** What a provider with keys of its own has to refuse. */
const KNOWN = /Invalid `(signature|data)` in|encrypted content for the item/;

const protocols: [string, string, string][] = [
  ["anthropic-messages", "api.anthropic.com", "/v1/messages"],
  ["anthropic-count-tokens", "api.anthropic.com", "/v1/messages/count_tokens"],
  ["openai-responses", "api.openai.com", "/v1/responses"],
  ["openai-responses-input-tokens", "api.openai.com", "/v1/responses/input_tokens"],
  ["openai-completions", "api.openai.com", "/v1/completions"],
  ["openai-chat", "api.openai.com", "/v1/chat/completions"],
];

describe.each(protocols)("%s", (name, host, path) => {
  const recordings = readRecordings(name);

  test.skipIf(recordings === null)(
    "takes what the provider took (needs ../shared/recordings)",
    async () => {
      const server = await mockForTest();
      const answers = new Map<number, number>();
      const strange: string[] = [];
      for (const { id, request, response, host: recordedHost } of recordings ?? []) {
        if (recordedHost !== host || request === null || response.status !== 200) continue;
        const answer = await postTo(server, path, request.body, HEADERS);
        answers.set(answer.status, (answers.get(answer.status) ?? 0) + 1);
        const text = await answer.text();
        if (answer.status !== 200 && !KNOWN.test(text)) strange.push(`${id}: ${text}`);
      }
      expect(strange).toEqual([]);
      expect(answers.get(200)).toBeGreaterThan(0);
    },
    60_000,
  );
});
