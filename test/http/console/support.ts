import type { RunningServer, ServeOptions } from "../../../src/server/running-server.ts";
import type { Scope } from "../../../src/canon/identity.ts";
import { startRunning, writeFixture, type Fixture } from "../../running/running-server.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at member by member
  readonly json: any;
}

/** One request as a browser sends it: with the cookies that it has been given. */
export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, { redirect: "manual", ...init });
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : null,
  };
}

/** The name and value of the cookie that an answer sets. */
export function cookieOf({ headers }: Pick<Answer, "headers">): string {
  return headers.getSetCookie()[0]?.split(";")[0] ?? "";
}

export const READING: readonly Scope[] = ["inference", "governance:read", "catalogue:read"];

/** Somebody who is signed in. */
export interface Browser {
  readonly answer: Answer;
  readonly cookie: string;
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
  readonly post: (
    path: string,
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
}

export function signInAt(
  origin: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return ask(`${origin}/console/session`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** A browser with the session that an answer has started. */
export function browserOf(origin: string, answer: Answer): Browser {
  const cookie = cookieOf(answer);
  return {
    answer,
    cookie,
    get: (path, headers = {}) => ask(`${origin}${path}`, { headers: { cookie, ...headers } }),
    post: (path, body = {}, headers = {}) =>
      ask(`${origin}${path}`, {
        method: "POST",
        headers: {
          cookie,
          "content-type": "application/json",
          "x-signalbox-csrf": String(answer.json?.csrf),
          ...headers,
        },
        body: JSON.stringify(body),
      }),
  };
}

export async function signIn(origin: string, key: string): Promise<Browser> {
  const answer = await signInAt(origin, { key });
  if (answer.status !== 200) throw new Error(`sign-in: ${answer.text}`);
  return browserOf(origin, answer);
}

export interface Served {
  readonly fixture: Fixture;
  readonly server: RunningServer;
  /** Where the console is. */
  readonly origin: string;
}

/** A server with the console on its admin listener, over SQLite. */
export async function startConsole(
  more: Partial<ServeOptions> = {},
  fixture?: Fixture,
): Promise<Served> {
  const own = fixture ?? writeFixture("http://127.0.0.1:9");
  const server = await startRunning(own, { console: "admin", ...more });
  return { fixture: own, server, origin: more.console === "public" ? server.url : server.adminUrl };
}
