import { join } from "node:path";
import { expect, it } from "vitest";
import { runCommands } from "../../../src/cli/commands.ts";
import { runCommand } from "../../keys/command.ts";
import { TEST_HOME } from "../../support/cache.ts";
import { startTestServer } from "../../support/server.ts";

/** The whole server, whose policy `tool-approval` denies tools to a regulated workspace. */
const running = await startTestServer((routes) =>
  routes.replace(
    "initial_mode: {",
    "denial_link: https://wiki.example/{policy}?r={reason}#{constraint}\n  initial_mode: { tool-approval: enforce,",
  ),
);
const { server, folder } = running;
const inference = await running.key("acme-prod", ["inference"]);

const CONTACT = {
  id: "tool-approval",
  title: "Tools that providers run need a label, and all tools do outside of the standard tier",
  owners: ["group:platform-security"],
  link: "https://wiki.example/tool-approval?r=TOOLS_NOT_APPROVED#tools_labelled",
};
const schema = { type: "object", properties: {} };
const request = { model: "chat-small-eu", messages: [{ role: "user", content: "hello" }] };

async function denied(path: string, tool: object) {
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${inference}`, "content-type": "application/json" },
    body: JSON.stringify({ ...request, max_tokens: 100, tools: [tool] }),
  });
  const id = response.headers.get("x-request-id") ?? "";
  return { id, status: response.status, body: JSON.parse(await response.text()) };
}

it.each([
  [
    "OpenAI",
    "/v1/chat/completions",
    { type: "function", function: { name: "f", parameters: schema } },
    { error: { type: "policy_denied", code: "TOOLS_NOT_APPROVED", policy: CONTACT } },
  ],
  [
    "Anthropic",
    "/api/v1/messages",
    { name: "f", input_schema: schema },
    { error: { type: "permission_error", details: { policy: CONTACT } } },
  ],
])("an error of %s has title, owners and link of the policy", async (_, path, tool, expected) => {
  const { status, body } = await denied(path, tool);
  expect(status).toBe(403);
  expect(body).toMatchObject(expected);
});

it("why has the link of a denial, from the store and from the server", async () => {
  const { id } = await denied("/api/v1/messages", { name: "f", input_schema: schema });
  await server.store.evidence.flush();
  const reader = await running.key("acme-prod", ["governance:read", "route:simulate"]);
  for (const options of [[], ["--server", server.url]]) {
    const { code, stdout } = await runCommand(
      runCommands,
      ["why", id, "--format", "json", ...options],
      {
        cwd: folder,
        environment: {
          SIGNALBOX_KEY: reader,
          SIGNALBOX_DATABASE: join(folder, "signalbox.db"),
          XDG_CACHE_HOME: TEST_HOME,
        },
      },
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      explanation: { denial: { policy: CONTACT } },
    });
  }
});
