import { expect, test } from "vitest";
import { mock } from "../../src/cli/mock.ts";
import { HELLO, mockForTest } from "./start.ts";

function capture() {
  const stop = new AbortController();
  const seen = { stdout: "", stderr: "" };
  const io = {
    stdout: (text: string) => void (seen.stdout += text),
    stderr: (text: string) => void (seen.stderr += text),
    environment: {},
    cwd: ".",
    signal: stop.signal,
  };
  return { io, seen, stop };
}

test("the command serves until it is stopped, and prints each request", async () => {
  const { io, seen, stop } = capture();
  const ended = mock(["--port", "0"], io);
  await expect.poll(() => seen.stdout).toContain("listening on http://127.0.0.1:");
  const url = /http:\S+\/chat\/completions/.exec(seen.stdout)?.[0] ?? "";
  const body = JSON.stringify({ model: "m", messages: HELLO });
  const response = await fetch(url, { method: "POST", body });
  expect(response.status).toBe(200);
  await response.text();
  await expect.poll(() => seen.stdout).toContain("POST /chat/completions 200");
  stop.abort();
  expect([await ended, seen.stderr]).toEqual([0, ""]);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test.each([
  [["--port", "70000"], "--port: must be a whole number from 0 to 65535"],
  [["--port", "x"], "--port: must be a whole number"],
  [["--prot", "1"], "--prot: there is no such flag"],
  [["extra"], "takes no arguments, only flags"],
])("%j is a usage error", async (argv, text) => {
  const { io, seen } = capture();
  expect(await mock(argv, io)).toBe(2);
  expect(seen.stderr).toContain(text);
});

test("a port in use is an error that names --port", async () => {
  const server = await mockForTest();
  const { io, seen } = capture();
  expect(await mock(["--port", new URL(server.url).port], io)).toBe(1);
  expect(seen.stderr).toContain("--port");
});

test("help lists the settings", async () => {
  const { io, seen } = capture();
  expect(await mock(["--help"], io)).toBe(0);
  expect(seen.stdout).toContain("chunk-delay=Nms");
});
