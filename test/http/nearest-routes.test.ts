import { expect, it } from "vitest";
import { startTestServer } from "../support/server.ts";

it("a 404 for a model names the nearest routes of the workspace, and no others", async () => {
  const test = await startTestServer();
  const { table } = test.server.built.snapshot.decider;
  const all = Object.keys(table.routes);
  const [workspace] = Object.values(table.workspaces).filter(
    ({ approve }) => approve.routes.length > 1 && approve.routes.length < all.length,
  );
  const approved = workspace?.approve.routes ?? [];
  const foreign = all.filter((id) => !approved.includes(id));
  const key = await test.key(workspace?.id ?? "", ["inference"]);
  const messageFor = async (model: string): Promise<string> => {
    const response = await fetch(`${test.server.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
    });
    expect(response.status).toBe(404);
    const { error }: { error: { message: string } } = JSON.parse(await response.text());
    return error.message;
  };
  const [route = ""] = approved;
  expect(await messageFor(`${route}x`)).toContain(`lists those that are, such as ${route}`);
  const message = await messageFor(foreign[0] ?? "");
  const named = /such as ([^.]*)\./.exec(message)?.[1]?.split(", ") ?? [];
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((id) => !approved.includes(id))).toEqual([]);
  // A client's own text is in no error.
  expect(await messageFor("my-secret-name")).not.toContain("secret");
});
