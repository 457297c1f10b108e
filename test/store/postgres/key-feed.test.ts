import { expect, it, onTestFinished } from "vitest";
import { keyFeed } from "../../../src/store/postgres/tables.ts";
import type { PostgresLink } from "../../../src/store/postgres/link.ts";
import type { Row } from "../../../src/store/rows.ts";
import { keyRecord } from "../records.ts";

/** A row of `keys`. */
function rowOf(version: number, status: "active" | "revoked", label: string): Row {
  const { exchange, limits, ...record } = keyRecord("a", { status, labels: [label] });
  const columns = Object.entries(record).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  const revokedAt = status === "revoked" ? 9 : null;
  return { ...Object.fromEntries(columns), exchange, limits, revoked_at: revokedAt, version };
}

it("an older state of a key never follows a newer one, for answers in any order", async () => {
  const stored: Row[] = [];
  const link = {
    available: true,
    query: (_: string, [after]: readonly [number]) =>
      Promise.resolve(stored.filter(({ version }) => Number(version) > after)),
    listen: () => Promise.reject(new Error("no notifications")),
  };
  const feed = keyFeed(link as unknown as PostgresLink);
  onTestFinished(() => feed.close());
  const seen: string[] = [];
  await feed.watch((records) => seen.push(...records.map(({ labels }) => labels.join())));
  // Statements on four connections: the answer of the first change arrives last.
  const [first, second, third] = [
    rowOf(1, "active", "x"),
    rowOf(2, "active", "y"),
    rowOf(3, "revoked", "y"),
  ];
  feed.publish([second]);
  feed.publish([third]);
  feed.publish([first]);
  stored.push(third);
  await expect.poll(() => seen).toEqual(["y", "y"]);
  // The poll reads the same row: it was shown.
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(seen).toEqual(["y", "y"]);
});
