import { beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.ts";

let test: TestServer;
let key: string;

beforeAll(async () => {
  test = await startTestServer();
  key = await test.key("demo", ["inference"]);
}, 60_000);

/** A request to the shipped route over responses, which has neither stop sequences nor a seed. */
function send(more: object): Promise<Response> {
  return fetch(`${test.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "gpt-5",
      messages: [{ role: "user", content: "hello there" }],
      ...more,
    }),
  });
}

interface Completion {
  readonly choices: readonly {
    readonly message?: { readonly content: string };
    readonly delta?: { readonly content?: string };
    readonly finish_reason: string | null;
  }[];
}

async function completion(more: object): Promise<Completion> {
  return JSON.parse(await (await send(more)).text());
}

describe("a stop sequence on a route of a protocol without them", () => {
  it("ends the answer before it, whole and streamed, on record", async () => {
    const full = (await completion({})).choices[0]?.message?.content ?? "";
    // From the middle of the text, across a space.
    const stop = full.slice(8, 14);
    const expected = full.slice(0, full.indexOf(stop));
    expect((await completion({ stop })).choices[0]).toMatchObject({
      message: { content: expected },
      finish_reason: "stop",
    });
    const response = await send({ stop: [stop], stream: true });
    expect(response.headers.get("x-signalbox-edits")).toContain("stops_by_router");
    const text = await response.text();
    const chunks = text.split("\n\n").filter((event) => event.startsWith("data: {"));
    const said = chunks.flatMap(
      (event): Completion["choices"] => JSON.parse(event.slice("data: ".length)).choices,
    );
    expect(said.map(({ delta }) => delta?.content ?? "").join("")).toBe(expected);
    expect(said.at(-1)?.finish_reason).toBe("stop");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("is served together with a seed, which is left out on record", async () => {
    const response = await send({ seed: 1234 });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-signalbox-edits")).toContain("seed_dropped");
  });
});
