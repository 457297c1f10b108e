import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { endpoint } from "../support/table.ts";
import {
  ANSWER,
  answerJson,
  delta,
  sse,
  startRouter,
  startSse,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { newRequestId } from "../../src/http/heads.ts";

/** Members of a response that providers omit, so that the router prints the resource. */
const SPARSE = {
  id: "resp_1",
  object: "response",
  status: "completed",
  output: [],
  usage: null,
} as const;

function chatStream(response: ServerResponse, ...last: readonly string[]): void {
  startSse(response);
  response.end([sse(delta("hi")), ...last].join(""));
}

const CASES: readonly (readonly [
  string,
  string,
  boolean,
  (response: ServerResponse) => void,
  string,
])[] = [
  [
    "translated, whole",
    "openai-chat",
    false,
    (response) => answerJson(response, ANSWER),
    "completed",
  ],
  [
    "translated, as a stream",
    "openai-chat",
    true,
    (response) => chatStream(response, sse(delta("", "stop")), sse("[DONE]")),
    "completed",
  ],
  ["translated, cut off", "openai-chat", true, (response) => chatStream(response), "failed"],
  [
    "relayed with members omitted",
    "openai-responses",
    false,
    (response) => answerJson(response, SPARSE),
    "completed",
  ],
  [
    "relayed as a stream with members omitted",
    "openai-responses",
    true,
    (response) => {
      startSse(response);
      const created = {
        type: "response.created",
        sequence_number: 0,
        response: { ...SPARSE, status: "in_progress" },
      };
      response.end(
        `${sse(created)}${sse({ type: "response.completed", sequence_number: 1, response: SPARSE })}`,
      );
    },
    "completed",
  ],
  [
    "relayed and cut off",
    "openai-responses",
    true,
    (response) => {
      startSse(response);
      const created = {
        type: "response.created",
        sequence_number: 0,
        response: { ...SPARSE, status: "in_progress" },
      };
      const said = {
        type: "response.output_text.delta",
        sequence_number: 1,
        output_index: 0,
        delta: "hi",
      };
      response.end(`${sse(created)}${sse(said)}`);
    },
    "failed",
  ],
];

/** Every resource of an answer, the one of the terminal event last. */
function resourcesIn(text: string, streamed: boolean): readonly JsonObject[] {
  const values: readonly JsonValue[] = streamed
    ? text
        .split("\n")
        .filter((line) => line.startsWith("data: {"))
        .map((line): JsonValue => JSON.parse(line.slice("data: ".length)))
    : [JSON.parse(text)];
  return values.flatMap((value) => {
    const resource = streamed && isJsonObject(value) ? value.response : value;
    return isJsonObject(resource) ? [resource] : [];
  });
}

describe("a Response that the router prints has the request id:", () => {
  it.each(CASES)("%s", async (_, dialect, stream, answer, status) => {
    const upstream = await startUpstream(answer);
    const base = tableOver([upstream]);
    const router = await startRouter({
      table: { ...base, endpoints: { a: endpoint("a", { dialect, provider: "p-a" }) } },
    });
    const response = await fetch(`${router.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: "Bearer good", "content-type": "application/json" },
      body: JSON.stringify({ model: "r", input: "hello", stream }),
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    const resources = resourcesIn(text, stream);
    expect(resources.at(-1)?.status).toBe(status);
    for (const resource of resources)
      expect(resource.request_id).toBe(response.headers.get("x-request-id"));
  });
});

it("each request gets a unique id, which sorts by time", () => {
  const ids = Array.from({ length: 2_000 }, newRequestId);
  expect(new Set(ids).size).toBe(2_000);
  const times = ids.map((id) => /^req_([0-9a-f]{12})[0-9a-f]{20}$/.exec(id)?.[1] ?? "");
  expect(times).toEqual(times.toSorted());
  expect(Number.parseInt(times[0] ?? "", 16)).toBeGreaterThan(Date.now() - 60_000);
});
