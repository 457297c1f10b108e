import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, it } from "vitest";
import { explainRequest } from "../../../src/cli/explain/explain.ts";
import { POLICY_SHADOW } from "../../../src/http/contract/policy-answers.ts";
import type { ShadowAnswer } from "../../../src/http/control/policy-shadow.ts";
import { runCommand } from "../../keys/command.ts";
import { startTestServer } from "../../support/server.ts";

const isAnswer = new Ajv2020({ strict: false, formats: { "date-time": true } }).compile(
  POLICY_SHADOW,
);

it(
  "a request that a policy in shadow would deny is an example, and its command shows the effect of promotion",
  { timeout: 120_000 },
  async () => {
    const test = await startTestServer();
    const { server, folder } = test;
    const infer = await test.key("demo", ["inference"]);
    const send = async (body: object): Promise<number> => {
      const response = await fetch(`${server.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${infer}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-5", input: "zebra-crossing-secret", ...body }),
      });
      await response.text();
      return response.status;
    };
    expect(await send({ tools: [{ type: "web_search" }] })).toBe(200);
    expect(await send({ tools: [{ type: "web_search" }] })).toBe(200);
    expect(await send({})).toBe(200);
    await server.store.evidence.flush();

    const read = await test.key("demo", ["governance:read"]);
    const response = await fetch(`${server.url}/v1/policies/tool-approval/shadow?examples=5`, {
      headers: { authorization: `Bearer ${read}` },
    });
    expect(response.status).toBe(200);
    const text = await response.text();
    const report: ShadowAnswer = JSON.parse(text);
    expect(isAnswer(report), JSON.stringify(isAnswer.errors)).toBe(true);
    expect(text).not.toMatch(/zebra|sbx_/);
    expect(report).toMatchObject({
      policy: "tool-approval",
      revision: "r1",
      judged: 3,
      would_deny: 2,
      newly_denied: 2,
      by_constraint: [
        { constraint: "hosted_tools_labelled", reason: "HOSTED_TOOLS_NOT_APPROVED", would_deny: 2 },
      ],
      by_route: [{ route: "gpt-5", judged: 3 }],
      by_workspace: [{ workspace: "demo", judged: 3 }],
      looked_at: { complete: true },
    });
    expect(report.examples).toHaveLength(1);
    const [example] = report.examples;
    expect(example).toMatchObject({
      requests: 2,
      newly_denied: 2,
      class: { route: "gpt-5", operation: "responses" },
    });

    const [, point = ""] =
      /^explain --point '([^']*)' --promoted$/.exec(example?.explain ?? "") ?? [];
    const explained = await runCommand(
      explainRequest,
      ["--point", point, "--promoted", "--format", "json", "--config", join(folder, "routes.yaml")],
      { cwd: folder },
    );
    expect(explained.stderr).toBe("");
    const explanation: unknown = JSON.parse(explained.stdout);
    expect(explanation).toMatchObject({
      outcome: "deny",
      promoted: true,
      denial: {
        policy: { id: "tool-approval" },
        failed_constraint: example?.constraint,
        reason_code: example?.reason,
      },
    });
  },
);
