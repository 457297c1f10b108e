import { expect, test } from "vitest";
import type { CommandIo } from "../../src/cli/terminal/command-io.ts";
import { mock } from "../../src/cli/mock.ts";
import { HELLO, mockForTest } from "./start.ts";

function capture(signal?: AbortSignal): { io: CommandIo; out: () => string; err: () => string } {
  let out = "";
  let err = "";
  const io = {
    stdout: (text: string) => void (out += text),
    stderr: (text: string) => void (err += text),
    environment: {},
    cwd: ".",
  };
  return { io: signal === undefined ? io : { ...io, signal }, out: () => out, err: () => err };
}

test("the command serves until it is stopped, and prints each request", async () => {
  const stop = new AbortController();
  const { io, out, err } = capture(stop.signal);
  const ended = mock(["--port", "0"], io);
  await expect.poll(out).toContain("listening on http://127.0.0.1:");
  const url = /http:\S+\/chat\/completions/.exec(out())?.[0] ?? "";
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: HELLO }),
  });
  expect(response.status).toBe(200);
  await response.text();
  await expect.poll(out).toContain("POST /chat/completions 200");
  stop.abort();
  expect(await ended).toBe(0);
  expect(err()).toBe("");
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

test.each([
  [["--port", "70000"], "--port: must be a whole number from 0 to 65535"],
  [["--port", "x"], "--port: must be a whole number"],
  [["--prot", "1"], "--prot: there is no such flag"],
  [["extra"], "takes no arguments, only flags"],
])("%j is a usage error", async (argv, text) => {
  const { io, err } = capture();
  expect(await mock(argv, io)).toBe(2);
  expect(err()).toContain(text);
});

test("a port in use is an error that names --port", async () => {
  const server = await mockForTest();
  const { io, err } = capture();
  expect(await mock(["--port", new URL(server.url).port], io)).toBe(1);
  expect(err()).toContain("--port");
});

test("help lists the settings", async () => {
  const { io, out } = capture();
  expect(await mock(["--help"], io)).toBe(0);
  expect(out()).toContain("chunk-delay=Nms");
});
