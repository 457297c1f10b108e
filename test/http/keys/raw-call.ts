import { request, type IncomingHttpHeaders } from "node:http";
import type { RunningServer } from "../../../src/server/running-server.ts";

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/**
 * One request with exactly these headers: `fetch` of Node adds `Sec-Fetch-Mode: cors` to every one.
 */
export function rawCall(
  { url }: RunningServer,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = "",
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      response.setEncoding("utf8");
      let text = "";
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
