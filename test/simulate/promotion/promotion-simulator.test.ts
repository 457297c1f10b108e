import { describe, expect, it } from "vitest";
import { promotionSimulator } from "../../../src/simulate/promotion-simulator.ts";
import type { PromotionInput } from "../../../src/simulate/simulate-promotion.ts";
import { table } from "../../support/table.ts";
import { policySource } from "../../policy/samples.ts";
import { compiledSources } from "../small-sides.ts";

const closed = policySource(
  "closed",
  { open: "{effect: gate, reasons: [CLOSED]}" },
  `pass.open if input.time.hour == "night"`,
);

async function input(): Promise<PromotionInput> {
  const { policies, modules } = await compiledSources([closed]);
  const candidate = policies[0] ?? null;
  return {
    table: table(),
    enforced: [],
    policy: "closed",
    candidate,
    modules,
    assertions: null,
    now: 0,
  };
}

/** An input that arrives when the test says so. */
function held() {
  const { promise, reject } = Promise.withResolvers<PromotionInput>();
  const stopped = new Error("stopped");
  return { input: () => promise, stop: () => reject(stopped), stopped };
}

describe("a simulator of promotions", () => {
  it("ends a simulation after its time limit, and accepts the next one", async () => {
    // A thread needs more than a millisecond to load its modules.
    const simulator = promotionSimulator({ time: 1 });
    expect(await simulator.simulate("a", input)).toBe("too_large");
    expect(await simulator.simulate("a", input)).toBe("too_large");
  });

  it("ends a simulation that needs more memory than its thread may have", async () => {
    const simulator = promotionSimulator({ memory: 4 });
    expect(await simulator.simulate("a", input)).toBe("too_large");
  });

  it("runs one simulation at a time, queues up to its maximum, and refuses more", async () => {
    const simulator = promotionSimulator({ waiting: 1 });
    const [first, second] = [held(), held()];
    let starts = 0;
    const running = simulator.simulate("a", first.input);
    const waiting = simulator.simulate("b", () => {
      starts += 1;
      return second.input();
    });
    expect(await simulator.simulate("c", input)).toBe("busy");
    expect(starts).toBe(0);
    first.stop();
    await expect(running).rejects.toBe(first.stopped);
    second.stop();
    await expect(waiting).rejects.toBe(second.stopped);
    expect(starts).toBe(1);
    expect(await simulator.simulate("c", input)).toMatchObject({ complete: true });
  });

  it("simulates equal inputs once, also with a full queue, and returns the same bytes again", async () => {
    const simulator = promotionSimulator({ waiting: 0 });
    let reads = 0;
    const read = () => {
      reads += 1;
      return input();
    };
    const [one, same] = await Promise.all([
      simulator.simulate("a", read),
      simulator.simulate("a", read),
    ]);
    expect(same).toBe(one);
    expect(await simulator.simulate("a", read)).toBe(one);
    expect(reads).toBe(1);
    expect(await promotionSimulator().simulate("a", input)).toEqual(one);
  });
});
