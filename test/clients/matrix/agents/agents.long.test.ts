import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { programAtHand } from "../../../support/at-hand.ts";
import { STARTING } from "../../fixture.ts";
import {
  askPlainly,
  startMatrixFixture,
  type MatrixFixture,
  type WorkspaceName,
} from "../fixture.ts";
import { LAST_TEXT, PROOF, type Script } from "../scripted/provider.ts";
import { PROTOCOLS, type Protocol } from "../scripted/turns.ts";
import type { Agent } from "./agent.ts";
import { AGENTS } from "./agents.ts";
import { startCounter, type Counted } from "./counter.ts";
import { LONGEST_RUN, runAgent, type Run } from "./run-agent.ts";

/**
 * A folder of programs; those that it has not are looked for on the `PATH`. Nothing runs without
 * it: agents take minutes.
 */
const FOLDER = process.env.SIGNALBOX_AGENTS ?? null;

/**
 * A file to which each run is added as a line of JSON, for the tables of `docs/coding-agents.md`.
 */
const REPORT = process.env.SIGNALBOX_AGENTS_REPORT ?? null;

/** An agent that hangs is killed, and what it said is shown. */
const TIMEOUT = LONGEST_RUN + STARTING;

/** Route of the request that is under way while an agent meets a rate limit. */
const HELD = "held";

const PROMPT = "Write the word signalbox into the file proof.txt, and say when it is done.";

function programOf({ program }: Agent): string | null {
  if (FOLDER === null) return null;
  const path = join(FOLDER, program);
  return existsSync(path) ? path : programAtHand(program);
}

/** The end of a title: why the agent is not run. */
function reasonOf(agent: Agent): string {
  if (programOf(agent) !== null) return "";
  return FOLDER === null
    ? " (skipped: SIGNALBOX_AGENTS names no folder)"
    : ` (skipped: ${agent.program} is not there)`;
}

const AT_HAND = AGENTS.filter((agent) => programOf(agent) !== null);

interface Lab {
  readonly fixture: MatrixFixture;
  readonly url: string;
  readonly counted: Counted[];
}

const labs = new Map<Protocol, Lab>();

beforeAll(async () => {
  if (AT_HAND.length === 0) return;
  const routes = [
    HELD,
    ...new Set(
      AGENTS.flatMap(({ model, translated }) => [
        model,
        ...(translated === undefined ? [] : [translated]),
      ]),
    ),
  ];
  for (const over of PROTOCOLS) {
    const fixture = await startMatrixFixture(over, routes);
    labs.set(over, { fixture, ...(await startCounter(fixture.url)) });
  }
}, 3 * STARTING);

interface Seen extends Run {
  readonly statuses: readonly (number | null)[];
}

interface Trial {
  readonly agent: Agent;
  readonly name: string;
  readonly over?: Protocol;
  readonly workspace?: WorkspaceName;
  readonly script?: Script;
}

async function run({
  agent,
  name,
  over = agent.surface,
  workspace = "everything",
  script = "plain",
}: Trial): Promise<Seen> {
  const lab = labs.get(over);
  const program = programOf(agent);
  if (lab === undefined || program === null) throw new Error("nothing to run");
  const { fixture, url, counted } = lab;
  const model = over === agent.surface ? agent.model : (agent.translated ?? agent.model);
  const key = await fixture.key(workspace);
  counted.length = 0;
  const count = (isCounted: (status: number) => boolean): number =>
    counted.filter(({ status }) => status !== null && isCounted(status)).length;
  fixture.provider.play(model, script, {
    isOver: () => count((status) => status >= 500) >= 3,
    toolless: agent.toolless === true,
  });
  // The key may have one request under way: another one has its slot until the agent has been
  // refused.
  let isOver = false;
  fixture.provider.play(HELD, "held", {
    isOver: () => isOver || count((status) => status === 429) > 0,
  });
  const held = workspace === "single" ? askPlainly(fixture.url, key, HELD) : null;
  if (held !== null) while ((await askPlainly(fixture.url, key, model)) !== 429);
  const ran = await runAgent(agent, program, PROMPT, { url, key, model });
  isOver = true;
  await held;
  // Agents list models and send telemetry too.
  const statuses = counted
    .filter(({ method, path }) => method === "POST" && !path.includes("count_tokens"))
    .map(({ status }) => status);
  if (REPORT !== null)
    appendFileSync(
      REPORT,
      `${JSON.stringify({ agent: agent.name, name, over, ...ran, counted })}\n`,
    );
  return { ...ran, statuses };
}

for (const agent of AGENTS) {
  const { refused, survivesCut, silentCut, survivesOverflow } = agent.expected;
  describe.skipIf(programOf(agent) === null)(
    `${agent.name}${reasonOf(agent)}`,
    { timeout: TIMEOUT },
    () => {
      it.each(PROTOCOLS)(
        "runs a command, writes a file and reports it, over an endpoint of %s",
        async (over) => {
          const { exit, proof, seen } = await run({ agent, name: "plain", over });
          expect({ exit, proof }, seen).toEqual({ exit: 0, proof: PROOF.text });
          expect(seen).toContain(LAST_TEXT);
        },
      );

      it.each<[string, WorkspaceName, RegExp]>([
        ["a policy's denial", "regulated", /Denied by policy\s+data-retention@r1/],
        [
          "a spent budget",
          "spent",
          /(?:budget_exhausted|exceeds_remaining_budget)[\s\S]*It renews at/,
        ],
      ])("shows %s, and ends", async (name, workspace, sentence) => {
        const { exit, proof, seen, statuses } = await run({ agent, name, workspace });
        expect(exit, seen).not.toBeNull();
        expect(proof).toBeNull();
        expect(seen).toMatch(sentence);
        expect(statuses.length).toBeLessThanOrEqual(refused);
      });

      it("waits for the end of a rate limit, and continues", async () => {
        const { exit, proof, seen, statuses } = await run({
          agent,
          name: "a rate limit",
          workspace: "single",
        });
        expect({ exit, proof }, seen).toEqual({ exit: 0, proof: PROOF.text });
        expect(statuses).toContain(429);
      });

      it("survives three answers of a provider that is not available", async () => {
        const { exit, proof, seen, statuses } = await run({
          agent,
          name: "three 503s",
          script: "unavailable",
        });
        expect({ exit, proof }, seen).toEqual({ exit: 0, proof: PROOF.text });
        expect(statuses.slice(0, 4)).toEqual([503, 503, 503, 200]);
      });

      it("recovers from a stream that is cut once", async () => {
        const { exit, seen } = await run({ agent, name: "a stream cut once", script: "cut-once" });
        expect(exit, seen).not.toBeNull();
        if (survivesCut) expect(seen).toContain(LAST_TEXT);
        else if (silentCut !== true) expect(seen).toMatch(/the provider's answer ended/);
      });

      it("ends where every stream is cut", async () => {
        const { exit, seen } = await run({ agent, name: "every stream cut", script: "cut-always" });
        expect(exit, seen).not.toBeNull();
      });

      it("ends, or continues with a shorter history, where the conversation is too long", async () => {
        const { exit, seen } = await run({ agent, name: "a context overflow", script: "overflow" });
        expect(exit, seen).not.toBeNull();
        if (survivesOverflow) expect(seen).toContain(LAST_TEXT);
        else expect(seen).toMatch(/context (?:length|window)|prompt is too long|token limit/i);
      });
    },
  );
}
