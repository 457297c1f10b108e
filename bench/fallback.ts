/**
 * How long it takes until another endpoint answers: after a refused connection, and after an error.
 * Medians over many requests of one process, beside a request that needs no fallback; a ratio, not
 * a limit.
 */
import { createServer, type Server } from "node:http";
import { startTestRoutes } from "./fallback-server.ts";

const REQUESTS = 200;

async function main(): Promise<void> {
  const working = await listening((_request, response) => response.end(ANSWER));
  const failing = await listening((_request, response) => {
    response.statusCode = 500;
    response.end("{}");
  });
  const router = await startTestRoutes({
    working: working.url,
    failing: failing.url,
    closed: "http://127.0.0.1:1",
  });
  const lines: string[] = [];
  // The first requests of a process are slower, whatever they meet.
  await median(router.url, router.key, "after-500");
  const base = await median(router.url, router.key, "plain");
  lines.push(row("no fallback", base, base));
  for (const [route, name] of [
    ["after-500", "after a 500"],
    ["after-refused", "after a refused connection"],
  ] as const) {
    lines.push(row(name, await median(router.url, router.key, route), base));
  }
  process.stdout.write(`| | median ms | × no fallback |\n|---|---:|---:|\n${lines.join("\n")}\n`);
  await router.close();
  for (const { server } of [working, failing]) server.close();
}

const ANSWER = JSON.stringify({
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

async function median(url: string, key: string, model: string): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
    });
    await response.text();
    if (response.status !== 200) throw new Error(`${model}: status ${response.status}`);
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((left, right) => left - right)[REQUESTS / 2] ?? 0;
}

function row(name: string, time: number, base: number): string {
  return `| ${name} | ${time.toFixed(2)} | ${(time / base).toFixed(2)} |`;
}

type Handler = Parameters<typeof createServer>[1];

async function listening(
  handler: NonNullable<Handler>,
): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    request.on("end", () => handler(request, response));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return { server, url: `http://127.0.0.1:${address.port}` };
}

await main();
