import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { missingPrograms } from "../../support/at-hand.ts";
import { NO_POSTGRES, startTestServer, type TestServer } from "../../store/postgres/server.ts";
import {
  COMMAND_LANGUAGES,
  fencesOf,
  pages,
  locationOf,
  ROOT,
  type Fence,
  type Mark,
} from "./blocks.ts";
import { NOT_EXECUTED } from "./not-executed.ts";
import { QUOTED_DATABASE, runPage } from "./run-page.ts";
import { SETUPS } from "./setups.ts";
import { wrongIn } from "./unexecuted-block.ts";

const MISSING = missingPrograms("bash", "curl", "git");

/** What holds a block, other than this test. */
function markOf(page: string, fence: Fence): Mark | null {
  const { console: file, marks = {} } = SETUPS[page] ?? {};
  const first = fence.text.split("\n", 1)[0] ?? "";
  if (fence.mark !== null) return fence.mark;
  if (Object.hasOwn(marks, first)) return marks[first] ?? null;
  return file !== undefined && fence.language.startsWith("console")
    ? { kind: "executed by", file }
    : null;
}

const needsDatabase = ({ text }: Fence): boolean => text.search(QUOTED_DATABASE) !== -1;

const isOurs = (page: string, fence: Fence): boolean => {
  const kind = markOf(page, fence)?.kind;
  if (NO_POSTGRES !== null && needsDatabase(fence)) return false;
  return kind === undefined || kind === "ends with";
};

const blocks = pages().flatMap((page) =>
  fencesOf(page)
    .filter(({ language }) => COMMAND_LANGUAGES.includes(language))
    .map((fence) => ({ page, fence, mark: markOf(page, fence) })),
);

describe.skipIf(MISSING !== null)(
  `commands of the pages ${MISSING ?? ""}`,
  // Once more: on a machine that is busy enough a store gives up after its seconds, as it says.
  { timeout: 300_000, retry: 1 },
  () => {
    const run = [
      ...new Set(blocks.filter(({ page, fence }) => isOurs(page, fence)).map(({ page }) => page)),
    ];
    let postgres: TestServer | null = null;
    afterAll(() => postgres?.close());
    it.each(run)("%s: every command has the effect that the page shows", async (page) => {
      const ours = (fence: Fence): boolean => isOurs(page, fence);
      const fences = fencesOf(page);
      let setup = SETUPS[page] ?? {};
      if (
        fences.some(
          (fence) =>
            COMMAND_LANGUAGES.includes(fence.language) && ours(fence) && needsDatabase(fence),
        )
      ) {
        postgres ??= await startTestServer();
        setup = { ...setup, database: await postgres.database() };
      }
      expect((await runPage(page, fences, setup, ours)).join("\n\n")).toBe("");
    });

    it.skipIf(NO_POSTGRES !== null)(
      `some commands need a PostgreSQL${NO_POSTGRES === null ? "" : `: skipped, ${NO_POSTGRES}`}`,
      () => {
        expect(blocks.some(({ fence }) => needsDatabase(fence))).toBe(true);
      },
    );
  },
);

describe("command blocks that are not run here", () => {
  it("are run by a test that names the page, or are on the list of test/docs/commands/not-executed.ts", () => {
    const wrong: string[] = [];
    for (const { page, fence, mark } of blocks) {
      if (mark?.kind !== "executed by") continue;
      const path = join(ROOT, mark.file);
      const named =
        existsSync(path) &&
        readFileSync(path, "utf8").includes(page === "README.md" ? "README" : page);
      if (!named) wrong.push(`${locationOf(page, fence)}\n  ${mark.file} does not name ${page}`);
    }
    expect(wrong).toEqual([]);
    const listed = blocks.flatMap(({ page, fence, mark }) =>
      mark?.kind === "not executed"
        ? [`${page}: ${fence.text.split("\n", 1)[0]}: ${mark.reason}`]
        : [],
    );
    expect(listed).toEqual(NOT_EXECUTED);
  });

  it.each(
    blocks
      .filter(({ mark }) => mark?.kind === "not executed")
      .map(({ page, fence }) => [locationOf(page, fence), fence] as const),
  )("%s names flags, scripts and files that exist", async (_place, fence) => {
    expect(await wrongIn(fence.text)).toEqual([]);
  });

  it("finds flags, scripts and files that do not exist", async () => {
    expect(
      await wrongIn(
        "npm run -s signalbox -- serve --drains 3\nnpm run benches\ncat deploy/absent.yaml\n",
      ),
    ).toEqual([
      "signalbox serve has no --drains",
      "package.json has no script benches",
      "there is no deploy/absent.yaml",
    ]);
    expect(
      await wrongIn("signalbox keys creates --owner a\nsignalbox policy promote x --reason y\n"),
    ).toHaveLength(2);
  });

  it("have a language: a block that begins with `$ ` is a console's", () => {
    const silent = pages().flatMap((page) =>
      fencesOf(page)
        .filter(({ language, text }) => !COMMAND_LANGUAGES.includes(language) && /^\$ /m.test(text))
        .map((fence) => locationOf(page, fence)),
    );
    expect(silent).toEqual([]);
  });
});

describe.skipIf(MISSING !== null)("the harness", () => {
  const wrong = (text: string) => runPage("a page", fencesOf("a page", text), {}, () => true);

  it("runs blocks in order in one shell, with the files that the page writes", async () => {
    const page =
      "```sh\nTEXT=one\n```\n```yaml a/file.yaml\nkey: 1\n```\n```yaml >> a/file.yaml\nother: 2\n```\n" +
      "<!-- ends with: 3 -->\n```sh\n(exit 3)\n```\n" +
      "```console\n$ echo $TEXT && \\\n    cat a/file.yaml\none\n…\nother: …\n$ echo 2026-11-22T10:00:00Z\n2026-01-01T00:00Z\n```\n";
    expect(await wrong(page)).toEqual([]);
  });

  it("reports a failing command, another output, another code and a missing key", async () => {
    expect(await wrong("```sh\ntrue\nfalse\ntrue\n```\n")).toEqual([
      expect.stringContaining("a page:1: true\nended with 1"),
    ]);
    expect(await wrong("```sh\nfalse | cat\n```\n")).toHaveLength(1);
    expect(await wrong("```console\n$ echo one\ntwo\n$ echo one\none\n```\n")).toEqual([
      "a page:1: echo one\nprinted:\none\n",
    ]);
    expect(await wrong("```console\n$ (exit 3)\n```\n")).toEqual([
      expect.stringContaining("ended with 3, not 0"),
    ]);
    expect(await wrong("```sh\nexport A_KEY=…\n```\n")).toEqual([expect.stringContaining("A_KEY")]);
  });
});
