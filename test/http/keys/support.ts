import type { RunningServer } from "../../../src/server/running-server.ts";

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at member by member
  readonly json: any;
}

/** One request with a key as bearer; JSON where there is a body. */
export async function call(
  server: RunningServer,
  key: string,
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  body?: unknown,
): Promise<Answered> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) };
}

/** The newest decisions, newest last. */
export async function decisions(server: RunningServer, count: number) {
  await server.store.evidence.flush();
  return (await server.store.evidence.read({ after: 0, limit: count })).map(
    ({ decision, outcome }) => ({
      ...decision,
      ended: outcome?.terminal,
    }),
  );
}
